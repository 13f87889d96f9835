"""The files of platform/ fit the kernels, the cards and each other.

What a port carries follows from hls/: at full speed a kernel takes 16 pixels a clock and with them 128 bytes of its
table through four ports, and 16 bytes of a compressed frame, or 16 pixels of two bytes. The host has to write the
frames before, which loads their memory once more; and it cannot write more than PCIe carries. Everything else is once
a frame, or only for invalid pixels, and not counted.
"""

import collections
import json
import pathlib
import re

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
CARDS = sorted(path.parent for path in PROJECT.glob("platform/u*/card.json"))
KERNELS = ["reduce_bslz4", "reduce_byte_offset", "reduce_raw"]

BYTES_A_CLOCK = {
    "reduce_bslz4": {"frames": 16, "table0": 32, "table1": 32, "table2": 32, "table3": 32},
    "reduce_byte_offset": {"frames": 16, "table0": 32, "table1": 32, "table2": 32, "table3": 32},
    "reduce_raw": {"frames": 32, "table0": 32, "table1": 32, "table2": 32, "table3": 32},
}
# Assumed, not measured: what a memory delivers of its peak to long bursts, and how full an SLR's UltraRAM may be.
SHARE_OF_PEAK = 0.85
SHARE_OF_URAM = 0.85

# UltraRAM blocks of a compute unit: a block holds 4096 sums. 16 lanes of 4 banks, two sets in turn, signal and
# variance; and for missing pixels 4 banks of count, normalisation and dark.
BLOCK_ROWS = 4096


def uram_blocks(bins, variance):
    deep = -(-(bins // 4) // BLOCK_ROWS)
    return deep * (16 * 4 * 2 * (2 if variance else 1) + 4 * 3)


Connectivity = collections.namedtuple("Connectivity", "units slr banks clock kernel")


def read_connectivity(path):
    """Parses a file for v++ --link; knows exactly the lines that are used here."""
    slr, banks, units, clock, kernel, section = {}, {}, 0, None, None, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        if line.startswith("["):
            section = line
        elif section == "" and (found := re.fullmatch(r"kernel_frequency=(\d+)", line)):
            clock = int(found[1])
        elif section == "[connectivity]" and (found := re.fullmatch(r"nk=(\w+):(\d+)", line)):
            kernel, units = found[1], int(found[2])
        elif section == "[connectivity]" and (found := re.fullmatch(r"slr=(\w+):SLR(\d)", line)):
            assert found[1] not in slr, f"{path}:{number}: {found[1]} has an SLR already"
            slr[found[1]] = int(found[2])
        elif section == "[connectivity]" and (
                found := re.fullmatch(r"sp=(\w+)\.(\w+):(HBM|DDR)\[(\d+)(?::(\d+))?\]", line)):
            port = (found[1], found[2])
            assert port not in banks, f"{path}:{number}: {port} has memory already"
            banks[port] = (found[3], range(int(found[4]), int(found[5] or found[4]) + 1))
        else:
            pytest.fail(f"{path}:{number}: not understood: {line}")
    return Connectivity(units, slr, banks, clock, kernel)


def memory_arguments(kernel):
    """The pointers among a kernel's arguments, from its declaration."""
    text = (PROJECT / "hls" / "kernels.hpp").read_text()
    declaration = re.search(rf"void {kernel}\((.*?)\);", text, re.S)[1]
    return re.findall(r"\*\s*(\w+)", declaration)


@pytest.fixture(params=[(card, kernel) for card in CARDS for kernel in KERNELS],
                ids=lambda case: f"{case[0].name}-{case[1]}")
def case(request):
    folder, kernel = request.param
    return json.loads((folder / "card.json").read_text()), read_connectivity(folder / f"{kernel}.cfg"), kernel


def test_the_cards_are_those_of_the_documentation():
    assert [card.name for card in CARDS] == ["u200", "u250", "u280", "u50", "u55c"]
    page = (PROJECT / "docs" / "vendor_flow.md").read_text()
    for card in CARDS:
        facts = json.loads((card / "card.json").read_text())
        assert facts["platform"] in page
        assert card.name in facts["platform"].split("_"), "the platform is of this card"
        assert facts["part"].startswith(f"xc{card.name}-"), "the part is of this card"


def test_compute_units_and_clock_are_those_of_the_card(case):
    card, connectivity, kernel = case
    assert connectivity.kernel == kernel
    assert connectivity.units == card["compute_units"][kernel] >= 1
    assert connectivity.clock == card["clock_mhz"]
    assert set(connectivity.slr) == {f"{kernel}_{n + 1}" for n in range(connectivity.units)}


def test_every_port_of_every_compute_unit_has_memory_that_the_card_has(case):
    card, connectivity, kernel = case
    arguments = memory_arguments(kernel)
    assert len(arguments) == 9
    assert set(connectivity.banks) == {(unit, name) for unit in connectivity.slr for name in arguments}
    for (unit, name), (kind, banks) in connectivity.banks.items():
        assert kind == card["memory"]["kind"]
        assert len(banks) >= 1 and max(banks) < card["memory"]["banks"], f"{unit}.{name}"


def test_compute_units_do_not_share_memory(case):
    _, connectivity, _ = case
    users = collections.defaultdict(set)
    for (unit, _), (_, banks) in connectivity.banks.items():
        for bank in banks:
            users[bank].add(unit)
    assert all(len(units) == 1 for units in users.values())


def test_no_bank_has_to_carry_more_than_it_can(case):
    card, connectivity, kernel = case
    clock_ghz = card["clock_mhz"] / 1000
    load = collections.Counter()
    for (_, name), (_, banks) in connectivity.banks.items():
        rate = BYTES_A_CLOCK[kernel].get(name, 0) * clock_ghz
        if name == "frames":
            rate = 2 * min(rate, card["pcie"]["gb_per_second"] / connectivity.units)
        for bank in banks:
            load[bank] += rate / len(banks)
    peak = card["memory"]["gb_per_second_per_bank"]
    assert max(load.values()) > 0.3 * peak, "the ports that matter were counted"
    for bank, rate in load.items():
        assert rate <= SHARE_OF_PEAK * peak, f"bank {bank}: {rate:.1f} of {peak} GB/s"


def test_a_launch_of_large_frames_fits(case):
    card, connectivity, kernel = case
    pixels = 4150 * 4371  # of an Eiger 16M
    size = card["memory"]["bytes_per_bank"]
    for (unit, name), (_, banks) in connectivity.banks.items():
        if name.startswith("table"):
            assert 2 * 2 * pixels <= size, f"{unit}.{name}: two entries a pixel, over four ports"
        if name == "frames":
            assert 8 * 4 * pixels <= size * len(banks), f"{unit}.{name}: eight frames of four bytes a pixel"


def test_ultraram_fits_into_every_slr(case):
    card, connectivity, _ = case
    defaults = dict(re.findall(r"#define (ANNULUS_KERNEL_\w+) (\d+)", (PROJECT / "hls" / "config.hpp").read_text()))
    blocks = uram_blocks(int(defaults["ANNULUS_KERNEL_BINS"]), defaults["ANNULUS_KERNEL_VARIANCE"] != "0")
    used = collections.Counter(connectivity.slr.values())
    for slr, units in used.items():
        assert slr < len(card["uram_per_slr"])
        assert units * blocks <= SHARE_OF_URAM * card["uram_per_slr"][slr], f"SLR{slr}"


def test_the_estimate_of_ultraram():
    assert uram_blocks(4096, variance=True) == 268
    assert uram_blocks(16384, variance=True) == 268
    assert uram_blocks(32768, variance=True) == 536
    assert uram_blocks(4096, variance=False) == 140


def test_every_card_says_what_is_uncertain():
    for card in CARDS:
        notes = json.loads((card / "card.json").read_text())["uncertain"]
        assert notes and all(note.split(":")[0] in ("memory", "pcie", "uram_per_slr") for note in notes)


@pytest.mark.parametrize("kernel", KERNELS)
def test_cosimulation_copies_all_of_the_testbench(kernel):
    depth = re.search(r"kDepth = (\d+)", (PROJECT / "tests/csim/testbench.hpp").read_text())[1]
    pragmas = re.findall(r"m_axi .*", (PROJECT / "hls" / f"{kernel}.cpp").read_text())
    assert len(pragmas) == 9 and all(re.search(rf"\bdepth *= *{depth}\b", pragma) for pragma in pragmas)
