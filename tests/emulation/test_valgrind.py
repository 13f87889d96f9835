"""The host program on the emulated card under valgrind, also when the card is lost. xrt.supp lists what XRT itself does."""

import pathlib

import pytest

from emulation import emulate

SUPPRESSIONS = pathlib.Path(__file__).with_name("xrt.supp")


@pytest.fixture(scope="module")
def scan(annulus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan") / "scan"
    done = annulus("simulate", "-o", folder, "--detector", "Pilatus100k", "-n", 12, "-q")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("faults", [{}, {"die_in_run": 5}, {"hang_in_run": 5}], ids=["good", "dies", "hangs"])
def test_the_host_touches_no_wrong_memory_and_loses_none(scan, tmp_path, faults):
    timeout = ["--device-timeout", 20] if "hang_in_run" in faults else []
    done = emulate("valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite",
                   f"--suppressions={SUPPRESSIONS}", "annulus", "integrate", "--backend", "xrt", "-p", scan / "scan.poni",
                   "-n", 50, "--retry-device", *timeout, "-q", "-o", tmp_path / "out.nxs", scan,
                   settings={"faults": faults})
    assert done.returncode == 0, done.stderr
