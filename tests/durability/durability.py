"""What is on a disk after a program was killed or the power failed.

The recorder (record_writes.cpp) is loaded into the program that writes. It kills it before a call of a given number, or
records every call that changes a file. From a record, states of the disk can be made: between two calls of fsync a page
of 4 KiB may be on the disk as it was at any moment, whatever other pages are.
"""

import os
import pathlib
import random
import shutil
import struct
import subprocess

import h5py
import numpy

PAGE = 4096
NOT_STORED = 255

WRITER = os.environ.get("DURABILITY_WRITER", "")
RECORDER = os.environ.get("DURABILITY_RECORDER", "")


def in_memory(tmp_path_factory):
    """A folder where nobody waits for a disk, if there is one: what is tested is which calls are made."""
    shm = pathlib.Path("/dev/shm")
    return shm if os.access(shm, os.W_OK) else tmp_path_factory.getbasetemp()


def watched(command, folder, log=None, kill_at=None):
    """Runs a command with the recorder. Returns its code, below 0 if it was killed, and what it printed."""
    environment = dict(os.environ, LD_PRELOAD=RECORDER, DURABILITY_FOLDER=str(folder))
    if log is not None:
        environment["DURABILITY_LOG"] = str(log)
    if kill_at is not None:
        environment["DURABILITY_KILL_AT"] = str(kill_at)
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def writer(path, mode, kind, first, count):
    return [WRITER, path, mode, kind, first, count]


# ---- what a file holds ----------------------------------------------------------------------------------------------

def row_datasets(file):
    """Every dataset with one row per frame, by name."""
    found = {}

    def visit(name, thing):
        if isinstance(thing, h5py.Dataset) and thing.maxshape and thing.maxshape[0] is None:
            found[name] = thing
    file.visititems(visit)
    return found


def marked_rows(path):
    """Of every dataset the rows that are marked as stored. Raises OSError or KeyError if that cannot be read."""
    with h5py.File(path, "r") as file:
        status = file["entry/frames/status"]
        marks = status[:]
        stored = numpy.flatnonzero(marks == NOT_STORED)
        frames = int(stored[0]) if len(stored) else len(marks)
        rows = {}
        for name, dataset in row_datasets(file).items():
            if len(dataset) < frames:
                raise KeyError(f"{name} has {len(dataset)} rows for {frames} frames")
            rows[name] = dataset[:frames]
        return frames, rows


def first_difference(rows, frames, expected):
    """The name of a dataset that differs in the first rows, or None."""
    if set(rows) != set(expected):
        return f"datasets {set(rows) ^ set(expected)}"
    for name, values in rows.items():
        # As bytes: NaN is the same as NaN, and 0 is not -0.
        if values.tobytes() != expected[name][:frames].tobytes():
            return name
    return None


def rotate(value, count):
    return ((value << count) | (value >> (32 - count))) & 0xFFFFFFFF


def lookup3(data):
    """The checksum of HDF5's metadata (Bob Jenkins, lookup3, hashlittle)."""
    mask = 0xFFFFFFFF
    a = b = c = (0xDEADBEEF + len(data)) & mask
    position = 0
    while len(data) - position > 12:
        x, y, z = struct.unpack_from("<III", data, position)
        a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
        a = ((a - c) & mask) ^ rotate(c, 4); c = (c + b) & mask
        b = ((b - a) & mask) ^ rotate(a, 6); a = (a + c) & mask
        c = ((c - b) & mask) ^ rotate(b, 8); b = (b + a) & mask
        a = ((a - c) & mask) ^ rotate(c, 16); c = (c + b) & mask
        b = ((b - a) & mask) ^ rotate(a, 19); a = (a + c) & mask
        c = ((c - b) & mask) ^ rotate(b, 4); b = (b + a) & mask
        position += 12
    x, y, z = struct.unpack("<III", data[position:].ljust(12, b"\0"))
    a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
    c = ((c ^ b) - rotate(b, 14)) & mask
    a = ((a ^ c) - rotate(c, 11)) & mask
    b = ((b ^ a) - rotate(a, 25)) & mask
    c = ((c ^ b) - rotate(b, 16)) & mask
    a = ((a ^ c) - rotate(c, 4)) & mask
    b = ((b ^ a) - rotate(a, 14)) & mask
    return ((c ^ b) - rotate(b, 24)) & mask


SUPERBLOCK = 44  # bytes of version 3 before its checksum
MARK_OF_WRITER = 11
END = slice(28, 36)


def clear_mark_of_writer(content):
    """What h5clear -s --increment=0 does: the file opens as one that was closed, with all of its bytes, as those do who
    read it in SWMR mode. Without the mark HDF5 also does not retry for minutes what has a wrong checksum."""
    head = bytearray(content[:SUPERBLOCK])
    if content[SUPERBLOCK:SUPERBLOCK + 4] == struct.pack("<I", lookup3(bytes(head))):
        head[MARK_OF_WRITER] = 0
        head[END] = struct.pack("<Q", max(len(content), struct.unpack("<Q", head[END])[0]))
        content[:SUPERBLOCK + 4] = head + struct.pack("<I", lookup3(bytes(head)))


# ---- a record, and the disks that may follow from it ----------------------------------------------------------------

def read_log(path):
    """The calls: (kind, path, other path, offset, bytes)."""
    data = pathlib.Path(path).read_bytes()
    position = 0

    def text():
        nonlocal position
        size, = struct.unpack_from("<I", data, position)
        position += 4 + size
        return data[position - size:position]

    calls = []
    while position < len(data):
        kind = chr(data[position])
        position += 1
        name, other = text().decode(), text().decode()
        offset, = struct.unpack_from("<Q", data, position)
        position += 8
        calls.append((kind, name, other, offset, text()))
    return calls


class File:
    """One file of the model: what is on the disk for sure, and what each page has been since."""

    def __init__(self, content=b""):
        self.content = bytearray(content)   # as programs see it
        self.safe = bytes(content)
        self.versions = {}                  # of pages that were written since the last fsync, as they became
        self.sizes = []                     # of the file since then

    def write(self, offset, data):
        if len(self.content) < offset + len(data):
            self.content.extend(bytes(offset + len(data) - len(self.content)))
            self.sizes.append(len(self.content))
        self.content[offset:offset + len(data)] = data
        for page in range(offset // PAGE, (offset + len(data) - 1) // PAGE + 1 if data else 0):
            self.versions.setdefault(page, []).append(bytes(self.content[page * PAGE:(page + 1) * PAGE]))

    def truncate(self, size):
        if size < len(self.content):
            del self.content[size:]
        else:
            self.content.extend(bytes(size - len(self.content)))
        self.sizes.append(size)

    def sync(self):
        self.safe = bytes(self.content)
        self.versions = {}
        self.sizes = []

    def on_disk(self, choose):
        """choose(page, number of versions) -> which is on the disk; 0 is the one of the last fsync."""
        sizes = [len(self.safe)] + self.sizes
        size = sizes[choose(-1, len(sizes))]
        content = bytearray(self.safe.ljust(size, b"\0"))
        for page, versions in self.versions.items():
            version = choose(page, len(versions) + 1)
            if version > 0:
                data = versions[version - 1]
                if len(content) < page * PAGE + len(data):
                    content.extend(bytes(page * PAGE + len(data) - len(content)))
                content[page * PAGE:page * PAGE + len(data)] = data
        return content[:size]


class Disk:
    """A folder on a disk. Names reach it with the fsync of the folder, or before, in their order."""

    def __init__(self, folder, files):
        self.folder = str(folder)
        self.names = {name: File(content) for name, content in files.items()}
        self.safe_names = [dict(self.names)]   # the last one that is on the disk for sure, and what came after

    def call(self, kind, name, other, offset, data):
        if kind == "c":
            if name not in self.names:
                self.names[name] = File()
            else:
                self.names[name].truncate(0)
        elif kind == "w":
            self.names[name].write(offset, data)
        elif kind == "t":
            self.names[name].truncate(offset)
        elif kind == "r":
            self.names[other] = self.names.pop(name)
        elif kind == "u":
            self.names.pop(name, None)
        elif kind == "s" and name == self.folder:
            self.safe_names = [dict(self.names)]
        elif kind == "s":
            self.names[name].sync()
        if kind in "cru":
            self.safe_names.append(dict(self.names))


def chooser(seed):
    """One way in which pages are lost: nearly all, nearly none, each by chance, or all but those of one region."""
    generator = random.Random(seed)
    way = generator.randrange(4)
    odds = generator.random()
    region = generator.randrange(1 << 20)

    def choose(page, count):
        if way == 0:
            return count - 1 if generator.random() < 0.1 else 0
        if way == 1:
            return 0 if generator.random() < 0.1 else count - 1
        if way == 2:
            return generator.randrange(count) if generator.random() < odds else count - 1
        return 0 if (page * 2654435761 + region) % 7 < 3 else count - 1
    return choose


def states(folder, before, calls, count, seed):
    """`count` disks after a power failure: (number of calls made, names and contents)."""
    generator = random.Random(seed)
    moments = sorted(generator.randrange(1, len(calls) + 1) for _ in range(count))
    disk = Disk(folder, before)
    done = 0
    for number, moment in enumerate(moments):
        while done < moment:
            disk.call(*calls[done])
            done += 1
        choose = chooser(seed * 1_000_003 + number)
        names = disk.safe_names[choose(-2, len(disk.safe_names))]
        yield done, {name: file.on_disk(choose) for name, file in names.items()}


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
