"""The emulated card does what a card does, fails as its settings ask, and leaves nothing behind.

ANNULUS_BUILD names the build; emulation_smoke and emulation_reduce of it are the host programs.
"""

import os
import pathlib
import signal
import subprocess
import time
import uuid

import pytest

from emulation import BUILD, PATIENCE, command, eventually

TEST_XCLBIN = BUILD / "emulation" / "emulation_test.xclbin"
LOST = "emulated card: lost; its registers and memory read as all ones"


@pytest.fixture
def emulate(tmp_path):
    """Runs a program on the emulated card in an empty folder, which must be empty again afterwards."""
    here = tmp_path / "here"
    here.mkdir()

    def run(*program, xclbin=TEST_XCLBIN, **kwargs):
        return subprocess.run(command(*program, **kwargs), cwd=here, env={**os.environ, "ANNULUS_XCLBIN": str(xclbin)},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)

    yield run
    assert not list(here.iterdir())


@pytest.fixture
def smoke(emulate):
    """Plays one scenario of smoke.cpp; gives its lines, and all that came on standard error."""
    def play(scenario, **kwargs):
        done = emulate("emulation_smoke", scenario, **kwargs)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr

    return play


def measured(lines):
    return {name: float(value) for name, value in (line.split() for line in lines) if name.endswith("_ms")}


def test_runs_a_kernel_on_buffers_of_any_size(smoke):
    assert smoke("add") == (["wrong 0"] * 3, "")


def test_passes_every_type_of_argument_and_each_unit_has_its_own_memory(smoke):
    values = "-5 250 -30000 60000 -2000000000 4000000000 -9000000000000000000 1311768467463790320 2"
    assert smoke("echo")[0] == [f"first_echo 1 {values}", f"second_echo 1 {values}", f"first_echo 2 {values}"]


def test_the_projects_kernels_reduce_a_frame_on_every_unit(emulate):
    done = emulate("emulation_reduce", xclbin=BUILD / "emulation" / "annulus.xclbin")
    assert done.returncode == 0, done.stderr
    signal_of_bins = [0] * 6
    for pixel in range(40):
        signal_of_bins[pixel % 5] += 2**20 * (pixel * 7 % 50)
    expected = " ".join(map(str, [0, *signal_of_bins]))
    kernels = ("reduce_bslz4", "reduce_byte_offset", "reduce_raw")
    assert done.stdout.splitlines() == [f"{kernel}_{number} {expected}" for kernel in kernels for number in (1, 2)]


def test_units_run_at_the_same_time_and_runs_of_one_unit_queue(smoke, tmp_path):
    """By the order of events; a run takes so long that starting another beside it fits in on a busy machine, too."""
    log = tmp_path / "card.log"
    lines, _ = smoke("overlap", settings='{"times": {"launch_ms": 1000}}', log=log)
    assert "busy true" in lines and "wrong 0" in lines
    times = measured(lines)
    assert times["two_units_ms"] >= 1000 and times["one_unit_ms"] >= 2000
    events = [line.split(" ", 1)[1] for line in log.read_text().splitlines()]
    runs = [event for event in events if event.startswith("add_vectors_")]
    assert runs[:2] == ["add_vectors_1: run 1", "add_vectors_2: run 2"]
    assert sorted(runs[2:4]) == ["add_vectors_1: done", "add_vectors_2: done"]
    assert runs[4:] == ["add_vectors_1: run 3", "add_vectors_1: done", "add_vectors_1: run 4", "add_vectors_1: done"]


def test_transfers_and_frames_take_the_time_they_are_given(smoke, tmp_path):
    settings = tmp_path / "settings.json"
    settings.write_text('{"times": {"upload_ms": 100, "upload_ms_per_mib": 25, "download_ms": 50,'
                        ' "download_ms_per_mib": 10, "launch_ms": 100, "frame_ms": 4}}')
    least = {"upload_ms": 200, "download_ms": 90, "frames_ms": 300}
    times = measured(smoke("times", settings=settings)[0])
    assert all(times[name] >= least[name] for name in least), times
    # Without settings, less: at least once, as a busy machine may be in the way of any of them.
    without = [measured(smoke("times")[0]) for _ in range(3)]
    assert all(min(times[name] for times in without) < least[name] for name in least), without


@pytest.mark.parametrize("scenario", ["outside", "far_outside"])
def test_an_access_outside_a_buffer_names_kernel_argument_and_address_and_loses_the_card(smoke, scenario):
    lines, errors = smoke(scenario)
    assert lines == ["lost", "wrong 0"]  # and a reload brings it back
    assert "emulated card, add_vectors_1: the kernel add_vectors accessed address 0x" in errors
    assert ("0x20001000 through its argument 'left': outside its buffer 0x20000000 to 0x20001000" in errors
            or "0x40001000 through its argument 'right': outside its buffer 0x40000000 to 0x40001000" in errors)
    assert LOST in errors


@pytest.mark.parametrize("scenario, address", [("foreign_bank", "0x20000000"), ("unset_argument", "0x0")])
def test_a_unit_reaches_only_buffers_in_the_bank_it_is_wired_to(smoke, scenario, address):
    lines, errors = smoke(scenario)
    assert lines == ["lost true"]
    assert f"address {address} through its argument 'sums': no buffer in its bank HBM[3]" in errors


def test_a_kernel_that_breaks_the_stand_ins_rules_says_so(smoke):
    lines, errors = smoke("protocol")
    assert lines == ["lost true"]
    assert "break_protocol failed: the stream 'words' is read when it is empty" in errors


def test_a_bank_has_its_size(smoke):
    assert smoke("full_bank")[0][-1] == "full"


@pytest.mark.parametrize("faults, lines", [
    ('"die_in_run": 1', ["lost", "wrong 0"]),
    ('"die_in_run": 2', ["wrong 0", "lost", "wrong 0"]),
    ('"die_in_run": 1, "every_time": true', ["lost", "lost", "lost"]),
    ('"hang_in_run": 1', ["hung", "wrong 0"]),
    ('"hang_in_run": 2, "every_time": true', ["wrong 0", "hung", "wrong 0"]),
])
def test_faults_come_when_they_are_asked_for_and_a_load_ends_them(smoke, faults, lines):
    seen, errors = smoke("fault", settings='{"faults": {%s}}' % faults)
    assert seen == lines
    assert (LOST in errors) == ("lost" in lines)


@pytest.mark.parametrize("faults, lines", [
    ('"die_on_load": 1', ["refused", "loaded"]),
    ('"die_on_load": 2', ["loaded", "refused"]),
    ('"die_on_load": 1, "every_time": true', ["refused", "refused"]),
])
def test_a_load_can_fail(smoke, faults, lines):
    assert smoke("load", settings='{"faults": {%s}}' % faults)[0] == lines


def test_the_log_tells_what_happened(smoke, tmp_path):
    log = tmp_path / "card.log"
    smoke("add", log=log)
    lines = [line.split(" ", 1) for line in log.read_text().splitlines()]
    times = [float(time) for time, _ in lines]
    assert times == sorted(times)
    events = [event for _, event in lines]
    assert events[0] == "card: opened" and events[-1] == "card: closed"
    assert [event for event in events if event.startswith("add_vectors_1")] == [
        f"add_vectors_1: {what}" for number in (1, 2, 3) for what in (f"run {number}", "done")]
    assert "card: upload to 0x20000000, 4 bytes" in events


@pytest.mark.parametrize("settings, message", [
    ('{"times": {"upload": 1}}', "times has no 'upload'; there are download_ms"),
    ('{"faults": {"die_in_run": -1}}', "must be 0 (never) or the n-th run or load"),
    ('{"faults": ', "parse error"),
])
def test_wrong_settings_are_refused_before_the_command_runs(emulate, settings, message):
    done = emulate("echo", "it ran", settings=settings)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_log_that_cannot_be_written_is_refused_before_the_command_runs(emulate, tmp_path):
    done = emulate("echo", "it ran", log=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path}: cannot write the log: Is a directory" in done.stderr


def test_an_xclbin_for_other_memories_is_refused(emulate, tmp_path):
    """Without the card's emconfig.json, XRT would put every buffer into one bank of a card that it made up."""
    done = emulate("env", f"EMCONFIG_PATH={tmp_path}", "emulation_smoke", "load")
    assert done.stdout.splitlines()[-1] == "refused"
    assert "XRT knows 1 memory banks and the xclbin 32" in done.stderr


def test_the_commands_output_input_folder_and_exit_code_are_its_own(tmp_path):
    done = subprocess.run(command("sh", "-c", "read line; echo $line; pwd; exit 7"), cwd=tmp_path, input="from outside\n",
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, f"from outside\n{tmp_path}\n", "")


def test_several_at_once_do_not_meet(tmp_path):
    environment = {**os.environ, "ANNULUS_XCLBIN": str(TEST_XCLBIN)}
    runs = [subprocess.Popen(command("emulation_smoke", "echo"), cwd=tmp_path, env=environment,
                             stdout=subprocess.PIPE, text=True) for _ in range(6)]
    outputs = {run.communicate(timeout=PATIENCE)[0] for run in runs}
    assert len(outputs) == 1 and outputs.pop().startswith("first_echo 1 -5")
    assert [run.returncode for run in runs] == [0] * 6


def test_a_program_that_handles_a_signal_ends_as_it_likes(tmp_path):
    script = subprocess.Popen(command("sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done"),
                              cwd=tmp_path, stdout=subprocess.PIPE)
    script.stdout.readline()
    script.terminate()
    assert script.wait(timeout=PATIENCE) == 5


class Marked:
    """scripts/emulate with a host program that waits forever, and a mark by which its processes are found."""

    def __init__(self, folder):
        mark = f"EMULATION_TEST_MARK={uuid.uuid4()}"
        name, value = mark.split("=")
        self.mark = mark.encode()
        self.script = subprocess.Popen(command("emulation_smoke", "wait_forever"), cwd=folder, text=True,
                                       env={**os.environ, "ANNULUS_XCLBIN": str(TEST_XCLBIN), name: value},
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.host = int(self.script.stdout.readline().split()[1])
        variables = pathlib.Path(f"/proc/{self.host}/environ").read_bytes().decode().split("\0")
        self.folder = pathlib.Path("/tmp") / next(line[5:] for line in variables if line.startswith("USER="))

    def processes(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if self.mark in path.read_bytes().split(b"\0"):
                    found.append(path.parent.name)
            except OSError:
                pass  # ended meanwhile, or another user's
        return found

    def card(self):
        return next(int(process) for process in self.processes()
                    if f"PPid:\t{self.host}\n" in pathlib.Path(f"/proc/{process}/status").read_text())

    def await_end(self):
        assert eventually(lambda: not self.processes()), self.processes()


@pytest.fixture
def waiting(tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    marked = Marked(there)
    assert len(marked.processes()) >= 2 + 1 + 5  # script and host, the card, its compute units
    assert marked.folder.name.startswith("annulus-emulation-") and marked.folder.is_dir()
    yield marked
    assert not marked.folder.exists()
    assert not list(there.iterdir())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_script_reaches_the_program_and_nothing_is_left(waiting, number):
    waiting.script.send_signal(number)
    assert waiting.script.wait(timeout=PATIENCE) == 128 + number
    waiting.await_end()


def test_nothing_is_left_of_a_program_that_was_killed(waiting):
    os.kill(waiting.host, signal.SIGKILL)
    assert waiting.script.wait(timeout=PATIENCE) == 128 + signal.SIGKILL
    waiting.await_end()


def test_nothing_is_left_of_a_card_that_was_killed(waiting):
    os.kill(waiting.card(), signal.SIGKILL)
    assert waiting.script.wait(timeout=PATIENCE) != 0  # XRT ends the host program, by one of several signals
    waiting.await_end()


def test_what_a_killed_script_leaves_a_later_one_removes(waiting, emulate):
    waiting.script.kill()
    waiting.script.wait(timeout=PATIENCE)
    waiting.await_end()
    long_ago = time.time() - 120
    os.utime(waiting.folder, (long_ago, long_ago))
    assert emulate("true").returncode == 0


def test_a_folder_in_use_is_not_removed_however_old(waiting, emulate):
    long_ago = time.time() - 120
    os.utime(waiting.folder, (long_ago, long_ago))
    assert emulate("true").returncode == 0
    assert waiting.folder.is_dir()
    waiting.script.terminate()
    waiting.script.wait(timeout=PATIENCE)
