"""The xrt backend on the emulated card: the same integers as cpu and model, and every fault of a card named."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

import pytest

import accumulators
from emulation import (BUILD, PROJECT, abandoned_folders, assert_nothing_is_left, card_processes, command, emulate, eventually,
                       integrate, integrate_command, parent_of, xclbin_with, PATIENCE)
from float_frames import float_frames, write_poni, write_stack
from real_frames import REAL_CBF, integrate_arguments


@pytest.fixture(scope="module")
def scans(annulus, tmp_path_factory):
    """Makes a simulated scan once, with its result by the CPU backend beside it: scans(detector, frames)."""
    made = {}

    def make(detector, frames, npt=300):
        key = (detector, frames, npt)
        if key not in made:
            scan = tmp_path_factory.mktemp("scan") / "scan"
            done = annulus("simulate", "-o", scan, "--detector", detector, "-n", frames, "-q")
            assert done.returncode == 0, done.stderr
            done = annulus("integrate", "-p", scan / "scan.poni", "-n", npt, "--error-model", "poisson", "-q",
                           "-o", scan.parent / "cpu.nxs", scan)
            assert done.returncode == 0, done.stderr
            made[key] = scan
        return made[key]

    return make


# Launches of four frames, of which six are under way: enough for every buffer to be used three times.
FRAMES = 84
LATE = 20  # a run, of the 24 that such a scan takes


def assert_as_cpu(output, scan):
    accumulators.assert_same_accumulators(output, scan.parent / "cpu.nxs")


def assert_beginning_as_cpu(output, scan):
    """What there is of a scan that did not come to its end."""
    import h5py

    with h5py.File(output) as file, h5py.File(scan.parent / "cpu.nxs") as expected:
        for name in ("data/I", "data/I_errors", "reduction/accumulators/signal", "reduction/accumulators/variance"):
            rows = file["entry"][name][()]
            assert rows.tobytes() == expected["entry"][name][:len(rows)].tobytes(), name


def assert_named(done, *words, code=6):
    assert done.returncode == code, (done.returncode, done.stderr)
    for word in words:
        assert word in done.stderr, done.stderr
    assert "terminate called" not in done.stderr


@pytest.mark.parametrize("error_model", ["no", "poisson"])
def test_layers_of_floats(annulus, tmp_path, error_model):
    """More layers than a launch has frames."""
    stack = write_stack(tmp_path / "stack.npy", list(float_frames().values()), "float32")
    args = ["integrate", "-p", write_poni(tmp_path / "case.poni"), "-n", 30, "--error-model", error_model, "-q", stack]
    done = annulus(*args, "-o", tmp_path / "cpu.nxs")
    assert done.returncode == 0, done.stderr
    done = emulate("annulus", *args, "--backend", "xrt", "-o", tmp_path / "xrt.nxs")
    assert done.returncode == 0, done.stderr
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", tmp_path / "cpu.nxs")


# Of small frames so many that nothing is new to the card any more; of large ones enough for buffers to be used again.
@pytest.mark.parametrize("detector, frames", [("Pilatus100k", 200), ("Pilatus1M", 32)])
def test_frames_over_two_units_as_cpu_and_model(annulus, scans, tmp_path, detector, frames):
    scan = scans(detector, frames, 1000)
    log = tmp_path / "card.log"
    done = integrate(scan, tmp_path / "xrt.nxs", npt=1000, log=log)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["frames"] == frames
    assert_as_cpu(tmp_path / "xrt.nxs", scan)
    text = log.read_text()
    runs = [text.count(f"reduce_byte_offset_{unit}: run ") for unit in (1, 2)]
    assert sum(runs) >= frames / 4 and min(runs) >= 3 * frames / 40, runs
    done = annulus("integrate", "--backend", "model", "-p", scan / "scan.poni", "-n", 1000, "--error-model", "poisson", "-q",
                   "-o", tmp_path / "model.nxs", scan)
    assert done.returncode == 0, done.stderr
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", tmp_path / "model.nxs")


@pytest.mark.parametrize("name", REAL_CBF)
def test_real_files(annulus, shared_data, tmp_path, name):
    import fabio

    shape = fabio.open(str(shared_data / name)).data.shape
    args = integrate_arguments(shared_data / name, shape, tmp_path / "case.poni")
    for backend in ("cpu", "model"):
        done = annulus(*args, "--backend", backend, "-o", tmp_path / f"{backend}.nxs")
        assert done.returncode == 0, done.stderr
    done = emulate("annulus", *args, "--backend", "xrt", "-o", tmp_path / "xrt.nxs")
    assert done.returncode == 0, done.stderr
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", tmp_path / "cpu.nxs")
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", tmp_path / "model.nxs")


@pytest.mark.parametrize("split", ["no", "bbox", "full"])
def test_cakes_as_cpu_and_model(annulus, scans, tmp_path, split):
    scan = scans("Pilatus100k", FRAMES)
    frames = sorted(scan.glob("*.cbf"))[:12]
    args = ["integrate", "-p", scan / "scan.poni", "-n", 110, "--npt-azim", 36, "--split", split, "--error-model", "poisson",
            "-q", *frames]
    for backend in ("cpu", "model"):
        done = annulus(*args, "--backend", backend, "-o", tmp_path / f"{backend}.nxs")
        assert done.returncode == 0, done.stderr
    done = emulate("annulus", *args, "--backend", "xrt", "-o", tmp_path / "xrt.nxs")
    assert done.returncode == 0, done.stderr
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", tmp_path / "cpu.nxs")
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", tmp_path / "model.nxs")


def test_raw_frames_go_to_the_other_kernel(annulus, scans, tmp_path):
    import fabio
    import numpy

    scan = scans("Pilatus100k", FRAMES)
    for path in sorted(scan.glob("*.cbf"))[:6]:
        numpy.save(tmp_path / f"{path.stem}.npy", fabio.open(str(path)).data.astype(numpy.uint16))
    frames = sorted(tmp_path.glob("*.npy"))
    args = ["integrate", "-p", scan / "scan.poni", "-n", 300, "--error-model", "poisson", "-q", *frames]
    assert annulus(*args, "-o", tmp_path / "cpu.nxs").returncode == 0
    done = emulate("annulus", *args, "--backend", "xrt", "-o", tmp_path / "xrt.nxs", log=tmp_path / "card.log")
    assert done.returncode == 0, done.stderr
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", tmp_path / "cpu.nxs")
    text = (tmp_path / "card.log").read_text()
    runs = text.count("reduce_raw_1: run ") + text.count("reduce_raw_2: run ")
    assert runs >= 3, "one to ask for the build, two launches"


def test_two_emulations_at_once(scans, tmp_path):
    scan = scans("Pilatus100k", FRAMES)
    before = abandoned_folders()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(integrate, scan, tmp_path / f"{i}.nxs") for i in range(2)]
        for i, run in enumerate(runs):
            assert run.result().returncode == 0, run.result().stderr
            assert_as_cpu(tmp_path / f"{i}.nxs", scan)
    assert_nothing_is_left(before)


def timeout_for(fault):
    """Only a run that hangs is waited for in vain. All others must end within the time, however busy the machine is."""
    return ["--device-timeout", 8] if fault == "hang_in_run" else []


# One launch on each kernel at load tells which build it is: runs 1 and 2. Then the scan's.
# A hang takes as long as it is waited for, so there are fewer of those.
@pytest.mark.parametrize("fault, at", [*(("die_in_run", at) for at in (1, 2, 3, 9)), ("hang_in_run", 1), ("hang_in_run", 9)])
def test_a_lost_card_is_named(scans, tmp_path, fault, at):
    before = abandoned_folders()
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", *timeout_for(fault), settings={"faults": {fault: at}})
    assert_named(done, "card 0", "the card is lost", "--retry-device")
    assert_nothing_is_left(before)


@pytest.mark.parametrize("fault, at", [*(("die_in_run", at) for at in (1, 2, 3, 9, LATE)), ("hang_in_run", 2), ("hang_in_run", LATE)])
def test_a_lost_card_is_reopened_once_if_asked(scans, tmp_path, fault, at):
    scan = scans("Pilatus100k", FRAMES)
    done = integrate(scan, tmp_path / "out.nxs", *timeout_for(fault), "--retry-device", settings={"faults": {fault: at}})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["frames"] == FRAMES
    assert_as_cpu(tmp_path / "out.nxs", scan)


# Three launches of 3.6 s are under way on each unit, so the last of them ends 10.8 s after it was started.
def test_launches_that_wait_for_their_turn_are_not_lost(scans, tmp_path):
    scan = scans("Pilatus100k", 24)
    done = integrate(scan, tmp_path / "out.nxs", "--device-timeout", 9, settings={"times": {"frame_ms": 900}})
    assert done.returncode == 0, done.stderr
    assert_as_cpu(tmp_path / "out.nxs", scan)


# Slow downloads, so that the card is lost while the sums of a launch that went well are being fetched.
@pytest.mark.parametrize("at", [5, 6, 7, 8, 9])
def test_what_a_lost_card_sends_is_never_a_sum(scans, tmp_path, at):
    scan = scans("Pilatus100k", FRAMES)
    done = integrate(scan, tmp_path / "out.nxs", "--retry-device",
                     settings={"times": {"frame_ms": 10, "download_ms": 3}, "faults": {"die_in_run": at}})
    assert done.returncode == 0, done.stderr
    assert_as_cpu(tmp_path / "out.nxs", scan)


def test_a_card_that_is_lost_again_ends_the_scan(scans, tmp_path):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", "--retry-device",
                     settings={"faults": {"die_in_run": 9, "every_time": True}})
    assert_named(done, "the card is lost", "reopened once before")


# Each run ends well, and what it leaves in memory is not what it should be.
WRONG_NUMBERS = {"stale_in_run": "that of an earlier run or of another frame",
                 "zero_in_run": "the checksum of its result is wrong",
                 "garbage_in_run": "the checksum of its result is wrong",
                 "flip_in_run": "the checksum of its result is wrong",
                 "swap_in_run": "that of an earlier run or of another frame"}


@pytest.mark.parametrize("fault", WRONG_NUMBERS)
def test_wrong_numbers_are_named_and_never_written(annulus, scans, tmp_path, fault):
    scan = scans("Pilatus100k", FRAMES)
    done = integrate(scan, tmp_path / "out.nxs", settings={"faults": {fault: LATE}})
    assert_named(done, "card 0: the card is lost: reduce_byte_offset_", "returned wrong numbers: ", ".cbf", WRONG_NUMBERS[fault],
                 "--retry-device")
    verified = annulus("verify", tmp_path / "out.nxs")
    assert verified.returncode == 0, verified.stderr + verified.stdout
    assert 0 < frames_in(tmp_path / "out.nxs") < FRAMES
    assert_beginning_as_cpu(tmp_path / "out.nxs", scan)


@pytest.mark.parametrize("fault", WRONG_NUMBERS)
def test_after_wrong_numbers_the_card_is_reopened_and_the_frames_are_reduced_again(scans, tmp_path, fault):
    scan = scans("Pilatus100k", FRAMES)
    done = integrate(scan, tmp_path / "out.nxs", "--retry-device", settings={"faults": {fault: LATE}})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["frames"] == FRAMES
    assert_as_cpu(tmp_path / "out.nxs", scan)


@pytest.mark.parametrize("fault", WRONG_NUMBERS)
def test_wrong_numbers_again_and_again_end_the_scan(scans, tmp_path, fault):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", "--retry-device",
                     settings={"faults": {fault: 9, "every_time": True}})
    # In which way they are wrong depends on whether the ninth run is the first in its buffer.
    assert_named(done, "returned wrong numbers: ", "reopened once before")


# The first run of a session tells which build its kernel is.
@pytest.mark.parametrize("fault, words", [("stale_in_run", "ended and left no result"),
                                          ("garbage_in_run", "returned wrong numbers: a test frame: "),
                                          ("flip_in_run", "returned wrong numbers: a test frame: ")])
def test_wrong_numbers_of_the_first_run_are_named(scans, tmp_path, fault, words):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", settings={"faults": {fault: 1}})
    assert_named(done, "card 0: the card is lost: ", "reduce_byte_offset_1", words)
    assert not (tmp_path / "out.nxs").exists()


def frames_in(output):
    """Those that a reader can see, also while the file is being written."""
    import h5py

    try:
        with h5py.File(output, "r", libver="latest", swmr=True) as file:
            return len(file["/entry/frames/status"])
    except (OSError, KeyError):
        return 0


@contextlib.contextmanager
def started(*program, **kwargs):
    with subprocess.Popen(command(*program, **kwargs), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            yield run
        finally:
            run.terminate()


def kill_the_card(run):
    """As soon as it runs; then the host program's end. The script started the host program, and that the card."""
    def card():
        return next((process for process, host in card_processes().items() if parent_of(host) == run.pid), None)

    assert run.poll() is None, run.communicate()
    os.kill(eventually(card), signal.SIGKILL)
    stdout, stderr = run.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(run.args, run.returncode, stdout, stderr)


def preloaded(*names):
    """An environment in which libraries of the tests are part of the host program."""
    return os.environ | {"LD_PRELOAD": ":".join(str(BUILD / f"lib/libemulation_{name}.so") for name in names)}


# XRT ends the program when the card's process dies, so there is nobody left who could reopen it.
@pytest.mark.parametrize("options", [[], ["--retry-device"]], ids=["", "retry"])
def test_a_card_whose_process_dies_is_named_and_what_was_written_is_kept(annulus, scans, tmp_path, options):
    before = abandoned_folders()
    output = tmp_path / "out.nxs"
    with started(*integrate_command(scans("Pilatus100k", FRAMES), output, *options), settings={"times": {"frame_ms": 125}}) as run:
        assert eventually(lambda: frames_in(output) or run.poll() is not None)
        done = kill_the_card(run)
    assert_named(done, "card 0", "the card is lost", "--append")
    assert done.stdout == ""
    verified = annulus("verify", output)
    assert verified.returncode == 0, verified.stderr + verified.stdout
    assert 0 < frames_in(output) < FRAMES
    assert_nothing_is_left(before)


def test_a_card_whose_process_dies_while_it_is_loaded_is_named(scans, tmp_path):
    before = abandoned_folders()
    slow = {"times": {"upload_ms": 1000}}  # it is killed before the plan is there, however late that happens
    with started(*integrate_command(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs"), settings=slow) as run:
        done = kill_the_card(run)
    assert_named(done, "card 0", "the card is lost")
    assert not (tmp_path / "out.nxs").exists()
    assert_nothing_is_left(before)


@pytest.mark.parametrize("preload", [[], ["late_listener"]], ids=["soon", "before_xrt_waits"])
def test_a_card_whose_process_does_not_start_is_named(scans, tmp_path, preload):
    done = emulate("env", f"XILINX_VITIS={tmp_path}", *integrate_command(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs"),
                   timeout=PATIENCE, env=preloaded(*preload))
    assert_named(done, "card 0")
    assert done.stderr.count("annulus: error") == 1
    assert not (tmp_path / "out.nxs").exists()


def test_what_was_finished_before_the_card_was_lost_is_kept(annulus, scans, tmp_path):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", settings={"faults": {"die_in_run": LATE}})
    assert_named(done, "the card is lost")
    verified = annulus("verify", tmp_path / "out.nxs")
    assert verified.returncode == 0, verified.stderr + verified.stdout
    import h5py

    with h5py.File(tmp_path / "out.nxs") as file:
        assert 0 < len(file["/entry/data/I"]) < FRAMES


@pytest.mark.parametrize("fault", ["die_in_run", "hang_in_run"])
def test_a_card_that_cannot_be_reopened(scans, tmp_path, fault):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", "--retry-device", *timeout_for(fault),
                     settings={"faults": {fault: 9, "die_on_load": 2}})
    assert_named(done, "the card is lost", "cannot be reopened")


# The first load goes well, run 1 does not. The second load ends that run, and the third is that of --retry-device.
@pytest.mark.parametrize("fault", ["die_in_run", "hang_in_run"])
@pytest.mark.parametrize("load, options", [(2, []), (3, ["--retry-device"])], ids=["second", "third"])
def test_a_card_that_is_lost_at_once_and_cannot_be_reopened(scans, tmp_path, fault, load, options):
    before = abandoned_folders()
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", *options, *timeout_for(fault),
                     settings={"faults": {fault: 1, "die_on_load": load}})
    reason = "its memory reads as ones" if fault == "die_in_run" else "a run of reduce_byte_offset_1 did not end within 8 s"
    assert_named(done, f"card 0: the card is lost: {reason}; and it cannot be reopened: ", "cannot load it")
    assert "is it an xclbin for this card?" not in done.stderr
    assert not (tmp_path / "out.nxs").exists()
    assert_nothing_is_left(before)


@pytest.mark.parametrize("fault", ["die_in_run", "hang_in_run"])
def test_a_card_that_is_lost_at_once_and_loads_only_when_asked_again(scans, tmp_path, fault):
    scan = scans("Pilatus100k", 24)
    done = integrate(scan, tmp_path / "out.nxs", "--retry-device", *timeout_for(fault),
                     settings={"faults": {fault: 1, "die_on_load": 2}})
    assert done.returncode == 0, done.stderr
    assert_as_cpu(tmp_path / "out.nxs", scan)


# A load ends the run that hangs at once, but XRT sees that only when its thread gets to it, and until then it uses what
# belongs to the run. So a computer that is busy must change nothing. Run 1 is that of a session being opened: load 2 only
# ends it, and --retry-device is another. Run 5 is of the scan: load 2 ends it and load 3 starts afresh.
@pytest.mark.parametrize("at, bad_load", [(1, 0), (1, 2), (1, 3), (5, 0), (5, 3)])
def test_runs_whose_end_xrt_sees_late(scans, tmp_path, at, bad_load):
    scan = scans("Pilatus100k", 24)
    done = integrate(scan, tmp_path / "out.nxs", "--retry-device", *timeout_for("hang_in_run"), env=preloaded("slow_driver"),
                     settings={"faults": {"hang_in_run": at, "die_on_load": bad_load}})
    if bad_load == 0 or (at, bad_load) == (1, 2):
        assert done.returncode == 0, done.stderr
        assert_as_cpu(tmp_path / "out.nxs", scan)
    else:
        assert_named(done, " did not end within 8 s; and it cannot be reopened: ", "cannot load it")


# XRT would end it with the words for a card that was lost.
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE])
def test_a_crash_of_the_program_is_none_of_the_card(scans, tmp_path, number):
    output = tmp_path / "out.nxs"
    with started("prlimit", "--core=0", *integrate_command(scans("Pilatus100k", FRAMES), output),
                 settings={"times": {"frame_ms": 125}}) as run:
        assert eventually(lambda: frames_in(output) or run.poll() is not None)
        program = next(host for host in card_processes().values() if parent_of(host) == run.pid)
        os.kill(program, number)
        _, stderr = run.communicate(timeout=PATIENCE)
    assert run.returncode == 128 + number, stderr
    assert "the card is lost" not in stderr


def test_a_card_that_does_not_load(scans, tmp_path):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", settings={"faults": {"die_on_load": 1}})
    assert_named(done, "annulus.xclbin", "card 0 cannot load it")
    assert not (tmp_path / "out.nxs").exists()


def damage(path, code):
    """Puts other codes into the middle of a CBF file's payload; its size stays as it is."""
    content = path.read_bytes()
    start = content.index(b"\x0c\x1a\x04\xd5") + 2000
    path.write_bytes(content[:start] + code + content[start + len(code):])


def test_bad_frames_are_treated_as_on_the_cpu(annulus, scans, tmp_path):
    scan = tmp_path / "scan"
    shutil.copytree(scans("Pilatus100k", FRAMES), scan)
    frames = sorted(scan.glob("*.cbf"))
    for path in frames[30:]:
        path.unlink()
    damage(frames[3], b"\x80\x00\x80\x00\x00\x00\x80" + b"\x7f" * 8)  # a value beyond int32
    damage(frames[4], b"\x80" * 50)  # codes of other lengths: too few pixels
    damage(frames[17], b"\x80")
    args = ["-p", scan / "scan.poni", "-n", 300, "--error-model", "poisson", "--json", scan]
    by_cpu = lambda *words: annulus("integrate", *args, *words)
    by_card = lambda *words: emulate("annulus", "integrate", "--backend", "xrt", *args, *words)

    cpu = by_cpu("--keep-going", "-o", tmp_path / "cpu.nxs")
    card = by_card("--keep-going", "-o", tmp_path / "xrt.nxs")
    assert cpu.returncode == card.returncode == 7, card.stderr
    assert json.loads(cpu.stdout)["bad_frames"] == json.loads(card.stdout)["bad_frames"] == 3
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", tmp_path / "cpu.nxs")

    cpu, card = by_cpu("-o", tmp_path / "cpu_stops.nxs"), by_card("-o", tmp_path / "xrt_stops.nxs")
    assert cpu.returncode == card.returncode == 3
    assert cpu.stderr.splitlines()[-1] == card.stderr.splitlines()[-1]


def test_an_xclbin_of_another_build(scans, tmp_path):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", "--xclbin", BUILD / "emulation/other_build.xclbin")
    assert_named(done, "other_build.xclbin", "build 0x", "same build")
    assert not (tmp_path / "out.nxs").exists()


def changed_xclbin(path, old, new):
    """The emulated card's, with other bytes, as many as before, wherever the old ones stand."""
    content = (BUILD / "emulation/annulus.xclbin").read_bytes()
    assert old in content and len(old) == len(new)
    path.write_bytes(content.replace(old, new))
    return path


def test_compute_units_of_any_name_are_used(scans, tmp_path):
    xclbin = changed_xclbin(tmp_path / "named.xclbin", b"reduce_byte_offset_1", b"reduce_byte_offset_x")
    scan = scans("Pilatus100k", 200, 1000)
    done = integrate(scan, tmp_path / "out.nxs", "--xclbin", xclbin, npt=1000, log=tmp_path / "card.log")
    assert done.returncode == 0, done.stderr
    assert_as_cpu(tmp_path / "out.nxs", scan)
    text = (tmp_path / "card.log").read_text()
    assert min(text.count(f"reduce_byte_offset_{unit}: run ") for unit in "x2") >= 5, text


def test_a_compute_unit_that_cannot_be_opened_is_named(scans, tmp_path):
    xclbin = changed_xclbin(tmp_path / "odd.xclbin", b"reduce_raw:reduce_raw_1", b"reduce_raw:reduce_raw,1")
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", "--xclbin", xclbin)
    assert_named(done, "compute unit reduce_raw,1 cannot be opened: ")


def test_an_xclbin_with_other_kernels(scans, tmp_path):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", "--xclbin", BUILD / "emulation/emulation_test.xclbin")
    assert_named(done, "emulation_test.xclbin", "no kernel of this program")


def save_as(kind, scan, folder):
    import fabio
    import numpy

    frame = sorted(scan.glob("*.cbf"))[0]
    numpy.save(folder / "frame.npy", fabio.open(str(frame)).data.astype(kind))
    return folder / "frame.npy"


@pytest.mark.parametrize("kind", ["uint16", "uint32", "float32"])
def test_frames_that_no_kernel_of_the_xclbin_takes_are_refused_before_the_scan(scans, tmp_path, kind):
    scan = scans("Pilatus100k", FRAMES)
    done = emulate("annulus", "integrate", "--backend", "xrt", "--xclbin", xclbin_with("reduce_byte_offset", tmp_path), "-p",
                   scan / "scan.poni", "-n", 300, "-q", "-o", tmp_path / "out.nxs", save_as(kind, scan, tmp_path))
    assert_named(done, "reduce_byte_offset.xclbin: it has no kernel reduce_raw")
    assert not (tmp_path / "out.nxs").exists()


def test_one_kernel_is_enough_for_frames_that_it_takes(annulus, scans, tmp_path):
    scan = scans("Pilatus100k", 24)
    done = integrate(scan, tmp_path / "compressed.nxs", "--xclbin", xclbin_with("reduce_byte_offset", tmp_path))
    assert done.returncode == 0, done.stderr
    assert_as_cpu(tmp_path / "compressed.nxs", scan)
    args = ["integrate", "-p", scan / "scan.poni", "-n", 300, "-q", save_as("int32", scan, tmp_path)]
    assert annulus(*args, "-o", tmp_path / "cpu.nxs").returncode == 0
    done = emulate("annulus", *args, "--backend", "xrt", "--xclbin", xclbin_with("reduce_raw", tmp_path), "-o", tmp_path / "raw.nxs")
    assert done.returncode == 0, done.stderr
    accumulators.assert_same_accumulators(tmp_path / "raw.nxs", tmp_path / "cpu.nxs")


@pytest.mark.parametrize("damage", ["absent", "empty", "text", "zeros", "truncated", "longer", "folder"])
def test_an_xclbin_that_is_none(scans, tmp_path, damage):
    path = tmp_path / "strange.xclbin"
    good = (BUILD / "emulation/annulus.xclbin").read_bytes()
    content = {"empty": b"", "text": b"not an xclbin", "zeros": b"xclbin2\0" + bytes(600), "truncated": good[:len(good) // 2],
               "longer": good + b"more"}
    if damage == "folder":
        path.mkdir()
    elif damage != "absent":
        path.write_bytes(content[damage])
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", "--xclbin", path)
    assert_named(done, "strange.xclbin")


def test_no_xclbin_named(annulus, scans, tmp_path):
    scan = scans("Pilatus100k", FRAMES)
    environment = {name: value for name, value in os.environ.items() if name != "ANNULUS_XCLBIN"}
    done = annulus("integrate", "--backend", "xrt", "-p", scan / "scan.poni", scan, "-o", tmp_path / "out.nxs", env=environment)
    assert_named(done, "--xclbin", "ANNULUS_XCLBIN", code=2)


@pytest.mark.parametrize("device", ["1", "7", "0000:65:00.1", "nonsense"])
def test_a_card_that_is_not_there(scans, tmp_path, device):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", "--device", device)
    assert_named(done, f"card {device}", "annulus devices")


def test_no_card_at_all(annulus, scans, tmp_path):
    scan = scans("Pilatus100k", FRAMES)
    done = annulus("integrate", "--backend", "xrt", "--xclbin", BUILD / "emulation/annulus.xclbin", "-p", scan / "scan.poni",
                   "-o", tmp_path / "out.nxs", scan)
    assert_named(done, "card 0", "annulus devices")


def test_more_bins_than_the_kernels_hold(scans, tmp_path):
    done = integrate(scans("Pilatus100k", FRAMES), tmp_path / "out.nxs", npt=5000)
    assert_named(done, "5000 bins", "4096")


def test_a_bank_without_room(scans, tmp_path):
    done = integrate(scans("Pilatus1M", 1), tmp_path / "out.nxs", "--xclbin", BUILD / "emulation/small_banks.xclbin",
                     env={**os.environ, "EMCONFIG_PATH": str(BUILD / "emulation/small_banks")})
    assert_named(done, "reduce_byte_offset_1", "argument 'table0'", "MiB")
    assert not (tmp_path / "out.nxs").exists()


def test_options_of_a_card_are_refused_elsewhere(annulus, scans, tmp_path):
    scan = scans("Pilatus100k", FRAMES)
    done = annulus("integrate", "-p", scan / "scan.poni", "--retry-device", "-o", tmp_path / "out.nxs", scan)
    assert_named(done, "--backend xrt", code=2)


def test_devices_lists_the_emulated_card():
    done = emulate("annulus", "devices", "--json", timeout=PATIENCE)
    xrt = next(item for item in json.loads(done.stdout) if item["name"] == "xrt")
    assert xrt["available"] and xrt["detail"].startswith("0: annulus_emulation") and "nothing loaded" in xrt["detail"]


@pytest.mark.skipif(not (BUILD / "bin/emulation_devices").exists(), reason="not part of builds with sanitizers")
def test_devices_tells_what_is_loaded():
    done = emulate("emulation_devices")
    assert done.returncode == 0, done.stderr
    uuid, detail = done.stdout.splitlines()
    assert detail.startswith("0: annulus_emulation") and detail.endswith(f", loaded: xclbin {uuid}")


def test_devices_without_a_card(annulus):
    xrt = next(item for item in json.loads(annulus("devices", "--json", timeout=PATIENCE).stdout) if item["name"] == "xrt")
    assert not xrt["available"] and "none found" in xrt["detail"]


@pytest.mark.skipif(os.getuid() != 0, reason="the tests run as an ordinary user already")
def test_an_ordinary_user_can_run_it(scans):
    if not all(path.stat().st_mode & 0o001 for path in BUILD.resolve().parents):
        pytest.skip(f"{BUILD} lies in a folder that others may not enter")
    scan = scans("Pilatus100k", FRAMES)
    nobody = pwd.getpwnam("nobody")
    # Not in pytest's own folder: every pytest that starts closes that to others.
    with tempfile.TemporaryDirectory(prefix="annulus-test-", dir="/tmp") as home:
        home = pathlib.Path(home)
        shutil.copytree(scan, home / "scan")
        for path in [home, *home.rglob("*")]:
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        done = integrate(home / "scan", home / "xrt.nxs", user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], cwd=home)
        assert done.returncode == 0, done.stderr
        assert_as_cpu(home / "xrt.nxs", scan)
