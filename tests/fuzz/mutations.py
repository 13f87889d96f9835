"""Damage to files, from a random generator."""

NUMBERS = [b"-1", b"0", b"1e999", b"nan", b"65536", b"2147483648", b"4294967297", b"99999999999999999999"]
WORDS = [bytes(8), b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"\x00\x00\x00\x80" * 2, b"\x01" + bytes(7), b"\xff\xff\xff\x7f" + bytes(4)]


def flip_a_bit(data, at, _):
    data[at] ^= 1 << (at * 7 + len(data)) % 8


def set_a_byte(data, at, random):
    data[at] = random.choice([0, 0xFF, 0x7F, 0x80, random.randrange(256)])


def set_a_word(data, at, random):
    width = random.choice([2, 4, 8])
    data[at : at + width] = random.choice(WORDS)[:width]


def cut(data, at, random):
    del data[at if random.randrange(3) == 0 else max(len(data) - random.randrange(1, 17), 0) :]


def remove(data, at, random):
    del data[at : at + random.randrange(1, 9)]


def repeat(data, at, random):
    data[at:at] = data[at : at + random.randrange(1, 41)]


def move(data, at, random):
    """Bytes of one place to another."""
    length = random.choice([1, 4, 8, 64])
    start = random.randrange(len(data))
    data[at : at + length] = data[start : start + length]


def clear(data, at, random):
    length = random.choice([8, 64, 512])
    data[at : at + length] = bytes(len(data[at : at + length]))


def replace_a_number(data, at, random):
    while at < len(data) and not chr(data[at]).isdigit():
        at += 1
    end = at
    while end < len(data) and chr(data[end]).isdigit():
        end += 1
    data[at:end] = random.choice(NUMBERS) if end > at else b""


KINDS = [flip_a_bit, set_a_byte, set_a_word, cut, remove, repeat, move, clear, replace_a_number]


def mutate(data, random):
    """One to four changes, most of them where headers are."""
    data = bytearray(data)
    for _ in range(random.randrange(1, 5)):
        if not data:
            break
        reach = random.choice([len(data), min(len(data), 4096), min(len(data), 512)])
        random.choice(KINDS)(data, random.randrange(reach), random)
    return bytes(data)


def change_a_byte(data, random):
    """A single byte, anywhere, to another one: the least damage there is, and the hardest to notice."""
    data = bytearray(data)
    data[random.randrange(len(data))] ^= random.randrange(1, 256)
    return bytes(data)
