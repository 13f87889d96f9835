"""annulus_pack_xclbin describes what the header and the connectivity file say, and refuses what does not fit."""

import json
import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ["ANNULUS_BUILD"])
PROJECT = pathlib.Path(__file__).resolve().parents[2]
HERE = PROJECT / "tests" / "emulation"
LIBRARY = BUILD / "tests" / "emulation" / "xclbin_emulation_test_kernels.so"
HEADER = (HERE / "test_kernels.hpp").read_text()
CONNECTIVITY = (HERE / "connectivity.cfg").read_text()


@pytest.fixture
def pack(tmp_path):
    def run(header=HEADER, connectivity=CONNECTIVITY, library=LIBRARY, card="emulation"):
        (tmp_path / "kernels.hpp").write_text(header)
        (tmp_path / "connectivity.cfg").write_text(connectivity)
        output = tmp_path / "made.xclbin"
        done = subprocess.run([BUILD / "bin" / "annulus_pack_xclbin", "--header", tmp_path / "kernels.hpp", "--library",
                               library, "--card", PROJECT / "platform" / card / "card.json", "--connectivity",
                               tmp_path / "connectivity.cfg", "--output", output, "--emconfig", tmp_path / "emconfig.json"],
                              capture_output=True, text=True, check=False)
        return done, output.read_bytes() if output.exists() else b""

    return run


def test_the_same_input_gives_the_same_bytes(pack):
    assert pack()[1] == pack()[1] == (BUILD / "emulation" / "emulation_test.xclbin").read_bytes()


def test_arguments_have_the_registers_that_vitis_hls_would_give_them(pack):
    xml = pack()[1].decode("latin-1")
    kernel = re.search(r'<kernel name="echo_arguments".*?</kernel>', xml, re.DOTALL)[0]
    offsets = [(name, int(offset, 16)) for name, offset in re.findall(r'<arg name="(\w+)".*? offset="(\w+)"', kernel)]
    assert offsets == [("values", 0x10), ("a", 0x1C), ("b", 0x24), ("c", 0x2C), ("d", 0x34), ("e", 0x3C), ("f", 0x44),
                       ("g", 0x4C), ("h", 0x58), ("frame_count", 0x64)]


@pytest.mark.parametrize("path", sorted((PROJECT / "platform").glob("*/*.cfg")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_card_can_be_emulated(pack, path):
    done, written = pack(header=(PROJECT / "hls" / "kernels.hpp").read_text(), connectivity=path.read_text(),
                         library=BUILD / "sim" / "emulation" / "xclbin_annulus_kernels.so", card=path.parent.name)
    assert done.returncode == 0, done.stderr
    units = re.findall(r'<instance name="(\w+)"', written.decode("latin-1"))
    counts = json.loads((path.parent / "card.json").read_text())["compute_units"]
    kernels = counts if path.stem == "connectivity" else [path.stem]
    assert sorted(units) == sorted(f"{kernel}_{number + 1}" for kernel in kernels for number in range(counts[kernel]))


def test_of_a_range_of_banks_the_first_is_taken(pack):
    assert pack(connectivity=CONNECTIVITY.replace("HBM[31]", "HBM[20:23]"))[1] == pack(
        connectivity=CONNECTIVITY.replace("HBM[31]", "HBM[20]"))[1]


@pytest.mark.parametrize("old, new, message", [
    ("sp=first_echo.values:HBM[31]\n", "", "the argument 'values' of first_echo has no bank; add a line sp="),
    ("HBM[31]", "HBM[32]", "line 12: the card 'annulus_emulation' has no bank HBM[32]"),
    ("HBM[31]", "HBM31", "line 12: 'first_echo.values:HBM31' must be unit.argument:KIND[number]"),
    ("add_vectors_1.left", "add_vectors_1.count", "line 6: 'add_vectors_1' has no memory argument 'count'"),
    ("add_vectors_1.left", "add_vectors_3.left", "line 6: there is no compute unit 'add_vectors_3'"),
    ("nk=add_vectors:2", "nk=add_vector:2", "line 2: there is no kernel 'add_vector'"),
    ("nk=add_vectors:2", "nk=add_vectors", "line 2: 'add_vectors' must be kernel:count"),
    ("nk=add_vectors:2", "nk=add_vectors:2\nsc=a.b:c.d", "line 3: 'sc' is not emulated"),
])
def test_a_connectivity_that_does_not_fit_is_refused(pack, old, new, message):
    assert old in CONNECTIVITY
    done, written = pack(connectivity=CONNECTIVITY.replace(old, new))
    assert done.returncode == 1 and not written
    assert message in done.stderr


@pytest.mark.parametrize("old, new, message", [
    ("uint32_t count", "float count", "add_vectors: the argument 'count' is a float"),
    ("uint32_t count", "uint32_t", "add_vectors: cannot read the argument 'uint32_t'"),
    ("void break_protocol(uint32_t* unused);", "void break_protocol(uint32_t* unused);\nvoid absent(uint32_t* unused);",
     "has no kernel 'absent', which the header declares"),
    ('extern "C"', "namespace", 'no extern "C" { } with declarations'),
])
def test_a_header_that_does_not_fit_is_refused(pack, old, new, message):
    assert old in HEADER
    done, written = pack(header=HEADER.replace(old, new))
    assert done.returncode == 1 and not written
    assert message in done.stderr
