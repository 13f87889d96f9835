"""After a power failure no frame is marked as stored that is not, and what was flushed before the last flush is there.

DURABILITY_STATES is the number of states per case (tests/durability/campaign tries many more).
"""

import os
import struct

import pytest

import durability
from durability import fresh, marked_rows, watched, writer

STATES = int(os.environ.get("DURABILITY_STATES", 300))

# What there is before, and what is being done when the power fails. Frames of patterns: 5 per batch, 10 per flush.
CASES = {
    "pattern": ([], ("new", "pattern", 0, 120)),
    "cake": ([], ("new", "cake", 0, 12)),
    "append": ([("new", "pattern", 0, 57)], ("append", "pattern", 57, 63)),
    "overwrite": ([("new", "pattern", 30, 40)], ("overwrite", "pattern", 0, 60)),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = fresh(durability.in_memory(tmp_path_factory) / f"annulus-power-{os.getpid()}")
    yield folder
    fresh(folder).rmdir()


def run(command, folder, **how):
    code, text = watched(command, folder, **how)
    assert code == 0, text


@pytest.mark.parametrize("case", CASES)
def test_no_frame_is_marked_that_is_not_stored(annulus, place, report, case):
    before, step = CASES[case]
    folder = fresh(place / case)
    output = folder / "out.nxs"
    for earlier in before:
        run(writer(output, *earlier), folder)
    found = {str(path): path.read_bytes() for path in folder.iterdir()}
    old = marked_rows(output) if before else (0, {})
    log = place / f"{case}.log"
    run(writer(output, *step), folder, log=log)
    frames, expected = marked_rows(output)
    assert frames == (step[2] + step[3] if case != "overwrite" else step[3])
    calls = durability.read_log(log)

    flushes = []   # (number of the call, frames): flush() has returned
    for number, (kind, name, _, _, data) in enumerate(calls):
        if kind == "w" and name == str(folder / "flushed"):
            flushes.append((number, struct.unpack("<Q", data)[0]))

    wrong, unreadable, lost, refused, absent = [], [], [], [], 0
    state = place / f"{case}-state.nxs"
    for number, (done, names) in enumerate(durability.states(folder, found, calls, STATES, seed=7)):
        # The last but one that has returned: the marks of the last may be on their way.
        safe = [frames for call, frames in flushes if call < done][:-1]
        content = names.get(str(output))
        if content is None:
            absent += 1
            if safe or before:
                lost.append((done, "no file"))
            continue
        state.write_bytes(content)
        if number % 25 == 0:
            after = continue_output(annulus, state, step)
            if after:
                refused.append((done, after))
            state.write_bytes(content)
        durability.clear_mark_of_writer(content)
        state.write_bytes(content)
        try:
            stored, rows = marked_rows(state)
        except (OSError, KeyError, RuntimeError) as error:
            unreadable.append((done, str(error)))
            continue
        if case == "overwrite" and stored == old[0] and not durability.first_difference(rows, stored, old[1]):
            continue
        difference = durability.first_difference(rows, stored, expected)
        if difference:
            wrong.append((done, stored, difference))
        if stored < (safe[-1] if safe else old[0] if case == "append" else 0):
            lost.append((done, stored))
    report.append(f"{case}: {STATES} states after {len(calls)} calls: {len(wrong)} with a wrong frame, "
                  f"{len(unreadable)} unreadable, {len(lost)} without frames that were flushed, "
                  f"{len(refused)} that cannot be continued, {absent} before the file has its name")
    assert not wrong, wrong[:5]
    assert not unreadable, unreadable[:5]
    assert not lost, lost[:5]
    assert not refused, refused[:5]


def continue_output(annulus, path, step):
    """What is wrong with what the program makes of a state; None if nothing is."""
    info = annulus("info", path, timeout=60)
    if info.returncode != 0:
        return info.stderr
    verify = annulus("verify", path, timeout=60)
    if verify.returncode != 0:
        return verify.stdout + verify.stderr
    code, text = watched(writer(path, "append", step[1], 1000, 10), path.parent / "nothing")
    if code != 0:
        return text
    verify = annulus("verify", path, timeout=60)
    return verify.stdout + verify.stderr if verify.returncode != 0 else None
