"""A program that is killed leaves its output readable or absent, and never in the way of the next one.

It is killed before every DURABILITY_EVERY-th call that changes a file (tests/durability/campaign: before every one).
"""

import os
import shutil

import h5py
import pytest

import durability
from durability import fresh, marked_rows, watched, writer

EVERY = int(os.environ.get("DURABILITY_EVERY", 0))

# What there is before, what is being done when the kill comes, and every how many calls that is tried.
CASES = {
    "pattern": ([], ("new", "pattern", 0, 40), 17),
    "cake": ([], ("new", "cake", 0, 8), 23),
    "append": ([("new", "pattern", 0, 17)], ("append", "pattern", 17, 33), 7),
    "overwrite": ([("new", "pattern", 30, 20)], ("overwrite", "pattern", 0, 30), 29),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = fresh(durability.in_memory(tmp_path_factory) / f"annulus-kill-{os.getpid()}")
    yield folder
    fresh(folder).rmdir()


def readable_rows(path, scratch):
    """As h5py reads it when the mark of the writer is cleared."""
    content = bytearray(path.read_bytes())
    durability.clear_mark_of_writer(content)
    scratch.write_bytes(content)
    return marked_rows(scratch)


@pytest.mark.parametrize("case", CASES)
def test_the_output_is_readable_or_absent_and_never_blocked(annulus, place, report, case):
    before, step, every = CASES[case]
    begun = fresh(place / "begun")
    for earlier in before:
        code, text = watched(writer(begun / "out.nxs", *earlier), begun)
        assert code == 0, text
    old = marked_rows(begun / "out.nxs") if before else (0, {})

    whole = place / "whole"
    shutil.copytree(begun, whole, dirs_exist_ok=True)
    log = place / "log"
    code, text = watched(writer(whole / "out.nxs", *step), whole, log=log)
    assert code == 0, text
    frames, expected = marked_rows(whole / "out.nxs")
    calls = len(durability.read_log(log))
    shutil.rmtree(whole)

    tried = absent = 0
    for position in range(0, calls, EVERY or every):
        folder = fresh(place / "killed")
        shutil.copytree(begun, folder, dirs_exist_ok=True)
        output = folder / "out.nxs"
        code, text = watched(writer(output, *step), folder, kill_at=position)
        assert code < 0, f"call {position}: {text}"
        tried += 1
        stored = 0
        if not output.exists():
            assert not before, f"call {position}: the output is gone"
            absent += 1
        else:
            info = annulus("info", output, timeout=20)
            assert info.returncode == 0, f"call {position}: {info.stderr}"
            stored, rows = readable_rows(output, place / "read.nxs")
            is_old = case == "overwrite" and durability.first_difference(rows, stored, old[1]) is None and stored == old[0]
            assert is_old or durability.first_difference(rows, stored, expected) is None, f"call {position}"
            assert stored >= old[0] or case == "overwrite", f"call {position}"
        # What a killed program leaves is in nobody's way.
        copy = place / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        first = stored if case != "overwrite" else 0
        for path, mode, number in ((output, "append", frames - first), (copy / "out.nxs", "overwrite", frames)):
            if mode == "append" and case == "overwrite":
                continue
            start = first if mode == "append" else 0
            code, text = watched(writer(path, mode, step[1], start, number), place / "nothing")
            assert code == 0, f"call {position}, {mode}: {text}"
            all_frames, rows = marked_rows(path)
            assert all_frames == frames, f"call {position}, {mode}"
            assert durability.first_difference(rows, frames, expected) is None, f"call {position}, {mode}"
    report.append(f"{case}: killed before {tried} of {calls} calls: always readable or absent ({absent}), never blocked")


@pytest.mark.parametrize("how", ["--output", "--append", "--overwrite"])
def test_annulus_itself(annulus, place, report, how):
    scan = place / "scan"
    if not scan.exists():
        assert annulus("simulate", "-o", scan, "--detector", "Pilatus100k", "-n", 6, "-q").returncode == 0
    frames = sorted(scan.glob("*.cbf"))
    poni = scan / "scan.poni"

    def integrate(folder, *more):
        options = [] if "--output" in more else ["--output", folder / "out.nxs"]
        return [os.environ["ANNULUS"], "integrate", "-q", "-p", poni, "-n", 50, *options, *more]

    begun = fresh(place / "begun")
    if how != "--output":
        code, text = watched(integrate(begun, *frames[:2]), begun)
        assert code == 0, text
    last = ["--output", "out.nxs"] if how == "--output" else [how]

    def step(folder):
        words = [folder / word if word == "out.nxs" else word for word in last]
        return integrate(folder, *words, *frames[2:])

    whole = place / "whole"
    shutil.copytree(begun, whole, dirs_exist_ok=True)
    log = place / "log"
    code, text = watched(step(whole), whole, log=log)
    assert code == 0, text
    calls = len(durability.read_log(log))
    shutil.rmtree(whole)
    for position in range(0, calls, EVERY or 67):
        folder = fresh(place / "killed")
        shutil.copytree(begun, folder, dirs_exist_ok=True)
        code, text = watched(step(folder), folder, kill_at=position)
        assert code < 0, f"call {position}: {text}"
        output = folder / "out.nxs"
        if output.exists():
            for command in ("info", "verify"):
                done = annulus(command, output, timeout=20)
                assert done.returncode == 0, f"call {position}, {command}: {done.stdout}{done.stderr}"
        else:
            assert how == "--output", f"call {position}: the output is gone"
        for again in ("--append", "--overwrite"):
            code, text = watched(integrate(folder, again, *frames), place / "nothing")
            assert code == 0, f"call {position}, {again}: {text}"
            assert annulus("verify", output).returncode == 0, f"call {position}, {again}"
        with h5py.File(output) as file:
            assert len(file["entry/data/I"]) == len(frames)
    report.append(f"annulus integrate {how}: killed before every {EVERY or 67}th of {calls} calls")
