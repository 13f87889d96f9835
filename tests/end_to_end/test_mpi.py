"""Jobs of several ranks, as mpirun starts them: the same bytes as one process writes, whatever happens to the ranks."""

import bz2
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import h5py
import numpy
import pytest

USAGE, INPUT, PLAN, OUTPUT, BACKEND, SOME_BAD = 2, 3, 4, 5, 6, 7
PROGRAM = os.environ["ANNULUS"]
TOOL, MODULE = os.environ["ANNULUS_RANKS_TOOL"], os.environ["ANNULUS_MPI_MODULE"]
release_only = pytest.mark.release_only

if shutil.which("mpirun") is None:
    pytest.skip("there is no mpirun: install openmpi-bin", allow_module_level=True)

# Dates and their checksums, and the options by which the runs of these tests differ; and only masters name parts.
APART = {"/entry/start_time", "/entry/end_time", "/entry/reduction/date", "/entry/checksums/header",
         "/entry/checksums/closing", "/entry/process/date", "/entry/process/configuration", "/entry/process/options/append",
         "/entry/process/options/checkpoint", "/entry/process/options/output"} | {f"/entry/reduction/input/{name}" for name in (
             "append", "configuration", "keep_going", "output", "overwrite", "threads")}
OPTIONS = ["-n", 300, "--error-model", "poisson"]


# What fails in all ranks is said before any of them leaves: mpirun need not wait for those that it ends.
AT_ONCE = ["--mca", "odls_base_sigkill_timeout", "0"]


def job(ranks, *words, program=PROGRAM, starter=()):
    """More ranks than cores are allowed, and root may start them."""
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *starter, str(program),
            *map(str, words)]


def mpirun(ranks, *words, env=None, cwd=None, **kwargs):
    return subprocess.run(job(ranks, *words, **kwargs), capture_output=True, text=True, check=False, timeout=120, cwd=cwd,
                          env={**os.environ, **(env or {})})


def contents(path):
    found = {}

    def visit(name, item):
        name = "/" + name
        if isinstance(item, h5py.Dataset) and name not in APART and not name.startswith("/entry/parts/"):
            value = item[()]
            found[name] = (item.shape, str(item.dtype), value.tobytes() if hasattr(value, "tobytes") else value)
    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def assert_same(path, expected):
    got = contents(path)
    assert set(got) == set(expected)
    assert [name for name in expected if got[name] != expected[name]] == []


def rows(path):
    """Frames that are stored: the status of a frame is written last."""
    with h5py.File(path, "r", swmr=True) as file:
        return len(file["/entry/frames/status"])


def errors(text):
    return re.findall(r"^annulus: error: (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("ranks", [2, pytest.param(5, marks=release_only)])
def test_what_ranks_do_together_is_right(ranks):
    done = mpirun(ranks, MODULE, "check", program=TOOL)
    assert done.returncode == 0 and done.stdout == f"{ranks} ranks\n", done.stderr


@pytest.fixture(scope="module")
def inputs(scan, tmp_path_factory):
    """200 files of CBF and a stack of 50 more frames, some of them bad, and a motor."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "files").mkdir()
    for i in range(200):
        (folder / f"files/f_{i:03d}.cbf").symlink_to(scan.files[i % 24])
    for i in (3, 90, 199):
        (folder / f"files/f_{i:03d}.cbf").unlink()
        (folder / f"files/f_{i:03d}.cbf").write_bytes(b"no image")
    image = numpy.arange(195 * 487, dtype=numpy.int32).reshape(195, 487) % 91
    numpy.save(folder / "stack.npy", numpy.stack([image + i for i in range(50)]))
    positions = "".join(f"{i % 25},{i // 25},{i % 5}\n" for i in range(250))
    (folder / "motors.csv").write_text("x,y,z\n" + positions)
    table = folder / "motors.csv"
    columns = [word for name in "xyz" for word in ("--column", f"{name}={table}#{name}")]
    return ["-p", scan.poni, *OPTIONS, *columns, "--keep-going", "-q", folder / "files", folder / "stack.npy"]


@pytest.fixture(scope="module")
def alone(annulus, inputs, tmp_path_factory):
    path = tmp_path_factory.mktemp("alone") / "out.nxs"
    done = annulus("integrate", *inputs, "-o", path)
    assert done.returncode == SOME_BAD, done.stderr
    return path


@pytest.mark.parametrize("ranks", [1, 2, pytest.param(3, marks=release_only), 4, pytest.param(8, marks=release_only)])
def test_ranks_write_the_same_bytes(annulus, inputs, alone, tmp_path, ranks):
    done = mpirun(ranks, "integrate", *inputs, "-o", tmp_path / "out.nxs")
    assert done.returncode == SOME_BAD, done.stderr
    assert "3 of 250 frames are bad" in done.stderr
    assert_same(tmp_path / "out.nxs", contents(alone))
    parts = sorted(path.name for path in (tmp_path / "out.nxs.parts").glob("*"))
    assert parts == ([] if ranks == 1 else [f"part_{i:03d}.nxs" for i in range(ranks)])
    assert annulus("verify", tmp_path / "out.nxs").returncode == annulus("verify", alone).returncode


def test_maps_of_ranks_have_the_same_bytes(annulus, alone, tmp_path):
    arguments = ["map", alone, "--x", "x", "--y", "y", "--window", "a=5:10,4:4.5,11:12", "--values", "intensity,error,centre", "-q"]
    crowded = ["map", alone, "--x", "z", "--y", "y", "--window", "a=5:10", "-q"]
    for name, words in (("lone", arguments), ("crowded", crowded)):
        assert annulus(*words, "-o", tmp_path / f"{name}1.nxs").returncode == 0
        done = mpirun(3, *words, "-o", tmp_path / f"{name}3.nxs")
        assert done.returncode == 0, done.stderr
        one, three = contents(tmp_path / f"{name}1.nxs"), contents(tmp_path / f"{name}3.nxs")
        different = [key for key in one if one[key] != three[key]]
        assert set(one) == set(three) and all(key.endswith("date") for key in different), different


def test_a_bad_frame_ends_all_and_is_told_once(inputs, tmp_path):
    strict = [word for word in inputs if word != "--keep-going"]
    done = mpirun(3, "integrate", *strict, "-o", tmp_path / "out.nxs", starter=AT_ONCE)
    assert done.returncode == INPUT
    # The one that its rank came to first.
    assert len(errors(done.stderr)) == 1 and re.search(r"f_(003|090|199)\.cbf", errors(done.stderr)[0]), done.stderr


@pytest.mark.parametrize("words,code,message", [
    (["-o", "out.nxs", "nowhere.cbf"], INPUT, "nowhere.cbf"),
    (["-o", "out.xy", "--format", "xy", "SCAN"], USAGE, "--format"),
    (["-o", "out.nxs", "--follow", "SCAN"], USAGE, "--follow"),
    (["-o", "out.nxs", "--part", "1/2", "SCAN"], USAGE, "--part"),
    (["-o", "out.nxs", "--backend", "none", "SCAN"], BACKEND, "none")])
def test_what_all_would_say_is_said_once(scan, tmp_path, monkeypatch, words, code, message):
    monkeypatch.chdir(tmp_path)
    words = [scan.folder if word == "SCAN" else word for word in words]
    done = mpirun(2, "integrate", "-p", scan.poni, *OPTIONS, *words, starter=AT_ONCE)
    assert done.returncode == code, done.stderr
    assert len(errors(done.stderr)) == 1 and message in errors(done.stderr)[0], done.stderr
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_not_lost(scan, tmp_path):
    words = ["integrate", "-p", scan.poni, *OPTIONS, "-q", "-o", tmp_path / "out.nxs", scan.folder]
    assert mpirun(3, *words).returncode == 0
    first = contents(tmp_path / "out.nxs")
    done = mpirun(2, *words, starter=AT_ONCE)
    assert done.returncode == OUTPUT and "out.nxs: exists" in errors(done.stderr)[0]
    (tmp_path / "out.nxs").unlink()
    done = mpirun(2, *words, starter=AT_ONCE)
    assert done.returncode == OUTPUT and "out.nxs.parts: holds parts" in errors(done.stderr)[0]
    assert mpirun(2, *words, "--append").returncode == 0  # another number of ranks, and nothing to do but the master
    assert_same(tmp_path / "out.nxs", first)
    assert mpirun(2, *words, "--overwrite").returncode == 0
    assert_same(tmp_path / "out.nxs", first)
    assert len(list((tmp_path / "out.nxs.parts").glob("*"))) == 2


def test_other_commands_refuse_ranks(alone):
    done = mpirun(2, "info", alone, starter=AT_ONCE)
    assert done.returncode == USAGE and "info: does its work in one process, and 2 ranks were started" in done.stderr
    assert mpirun(2, "info", alone, env={"ANNULUS_MPI": "off"}).returncode == 0
    assert mpirun(1, "info", alone).returncode == 0


def test_a_program_without_the_module_does_not_start(scan, tmp_path):
    (tmp_path / "bin").mkdir()
    program = shutil.copy(PROGRAM, tmp_path / "bin/annulus")
    done = mpirun(2, "integrate", "-p", scan.poni, "-o", tmp_path / "out.nxs", scan.folder, program=program, starter=AT_ONCE)
    assert done.returncode == BACKEND and "started as 2 ranks (OMPI_COMM_WORLD_RANK), but this build speaks no MPI" in done.stderr
    assert not (tmp_path / "out.nxs").exists()


@release_only
def test_ranks_of_a_node_take_different_devices(annulus, scan, tmp_path):
    backends = json.loads(annulus("devices", "--json").stdout)
    if not next(backend["available"] for backend in backends if backend["name"] == "opencl"):
        pytest.skip("no OpenCL device")
    two = {"POCL_DEVICES": "pthread pthread", "POCL_MAX_PTHREAD_COUNT": "1"}
    words = ["integrate", "-p", scan.poni, "-n", 100, "-q", "--backend", "opencl", "-o", tmp_path / "out.nxs", scan.folder]
    done = mpirun(3, *words, env=two)
    assert done.returncode == 0, done.stderr
    devices = []
    for path in sorted((tmp_path / "out.nxs.parts").glob("*")):
        with h5py.File(path) as file:
            devices.append(file["/entry/reduction/input/device"][()])
    assert devices == [b"", b"1", b"0"]


@pytest.fixture(scope="module")
def polar(tmp_path_factory):
    """Polar images with masked values, some of them too bright to be counted, and others that leave 16 bits."""
    random = numpy.random.default_rng(7)
    images = random.poisson(30, (400, 20, 32)).astype(numpy.float32)
    images[::9, 4, 5] = numpy.nan
    images[::50] *= 40
    images[333, 2, 2] = 1e6
    path = tmp_path_factory.mktemp("polar") / "images.npy"
    numpy.save(path, images)
    return ["--polar", "--most-mean", 100, "--legendre", 4, "--flat-ewald", "-q", path]


@pytest.fixture(scope="module")
def correlated_alone(annulus, polar, tmp_path_factory):
    path = tmp_path_factory.mktemp("correlated") / "out.nxs"
    done = annulus("correlate", *polar, "-o", path)
    assert done.returncode == 0, done.stderr
    with h5py.File(path) as file:
        assert set(file["/entry/snapshots/status"][()]) == {0, 1}
    return contents(path)


@pytest.mark.parametrize("ranks", [1, 2, pytest.param(3, marks=release_only), 4, pytest.param(8, marks=release_only)])
def test_correlations_of_ranks_have_the_same_bytes(polar, correlated_alone, tmp_path, ranks):
    done = mpirun(ranks, "correlate", *polar, "-o", tmp_path / "out.nxs")
    assert done.returncode == 0, done.stderr
    assert_same(tmp_path / "out.nxs", correlated_alone)
    assert [path.name for path in tmp_path.iterdir()] == ["out.nxs"]  # the parts are gone


def test_correlations_go_on_with_parts_of_more_ranks(annulus, polar, correlated_alone, tmp_path):
    """What three ranks left, and an output, are all in what two make of it."""
    output = tmp_path / "out.nxs"
    scale = ["--scale", int.from_bytes(correlated_alone["/entry/process/scale"][2], "little", signed=True)]
    (tmp_path / "out.nxs.parts").mkdir()
    # Parts as a job that was killed leaves them: made of the same file, each of some of its images.
    for part, where in (("2/4", output), ("1/4", tmp_path / "out.nxs.parts/part_000.nxs"),
                        ("3/4", tmp_path / "out.nxs.parts/part_002.nxs")):
        done = annulus("correlate", *polar, *scale, "--part", part, "-o", where)
        assert done.returncode == 0, done.stderr
    done = mpirun(2, "correlate", *polar, "--append", "-o", output)
    assert done.returncode == 0, done.stderr
    assert_same(output, correlated_alone)
    assert not (tmp_path / "out.nxs.parts").exists()


def test_previews_are_not_for_ranks(polar, tmp_path):
    done = mpirun(2, "correlate", *polar, "--fast", "-o", tmp_path / "out.nxs", starter=AT_ONCE)
    assert done.returncode == USAGE and len(errors(done.stderr)) == 1 and "--fast" in errors(done.stderr)[0], done.stderr


@pytest.fixture
def two_nodes(tmp_path):
    """Options of mpirun for two machines: network namespaces with names of their own, that see each other by TCP only."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces can be made by root only")
    tag = f"an{os.getpid()}"
    nodes = [f"{tag}n{i}" for i in (1, 2)]
    made = ["ip", "link", "add", f"{tag}b", "type", "bridge"]
    if subprocess.run(made, capture_output=True, check=False).returncode != 0:
        pytest.skip("this system makes no network bridge")
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\nnode=$1; shift\nexec ip netns exec "$node" unshare --uts sh -c "hostname $node; $*"\n')
    agent.chmod(0o755)
    network = f"10.{os.getpid() % 200 + 20}.77"

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)
    try:
        ip("addr", "add", f"{network}.1/24", "dev", f"{tag}b")
        ip("link", "set", f"{tag}b", "up")
        for i, node in enumerate(nodes):
            ip("netns", "add", node)
            ip("link", "add", f"{tag}v{i}", "type", "veth", "peer", "name", "eth0", "netns", node)
            ip("link", "set", f"{tag}v{i}", "master", f"{tag}b", "up")
            ip("-n", node, "addr", "add", f"{network}.1{i}/24", "dev", "eth0")
            ip("-n", node, "link", "set", "eth0", "up")
            ip("-n", node, "link", "set", "lo", "up")
        yield ["--mca", "plm_rsh_agent", str(agent), "--mca", "oob_tcp_if_include", f"{network}.0/24", "--mca", "btl_tcp_if_include",
               f"{network}.0/24", "--mca", "btl", "tcp,self", "--host", ",".join(f"{node}:2" for node in nodes)]
    finally:
        for node in nodes:
            subprocess.run(["ip", "netns", "del", node], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", f"{tag}b"], capture_output=True, check=False)


def test_ranks_on_several_machines_write_the_same_bytes(inputs, alone, polar, correlated_alone, tmp_path, two_nodes):
    where = mpirun(4, program="hostname", starter=two_nodes).stdout.split()
    assert len(where) == 4 and len(set(where)) == 2, where
    done = mpirun(4, "integrate", *inputs, "-o", tmp_path / "out.nxs", starter=two_nodes)
    assert done.returncode == SOME_BAD, done.stderr
    assert_same(tmp_path / "out.nxs", contents(alone))
    done = mpirun(4, "correlate", *polar, "-o", tmp_path / "c2.nxs", starter=two_nodes)
    assert done.returncode == 0, done.stderr
    assert_same(tmp_path / "c2.nxs", correlated_alone)


# What happens to ranks while they work.

SLOW = 700  # frames: some seconds, of which the first rows are on the disk after half of one


@pytest.fixture(scope="module")
def slow_inputs(scan, tmp_path_factory):
    """Frames that take some milliseconds each."""
    folder = tmp_path_factory.mktemp("slow")
    packed = [bz2.compress(path.read_bytes()) for path in scan.files[:4]]
    for i in range(SLOW):
        (folder / f"f_{i:03d}.cbf.bz2").write_bytes(packed[i % 4])
    return ["-p", scan.poni, "-n", 300, "--readers", 1, "--threads", 1, "-q", folder]


@pytest.fixture(scope="module")
def slow_alone(annulus, slow_inputs, tmp_path_factory):
    path = tmp_path_factory.mktemp("slow_alone") / "out.nxs"
    assert annulus("integrate", *slow_inputs, "-o", path).returncode == 0
    return contents(path)


def process_of(rank, output):
    """The id of the process of this rank of the job that writes this output, and does not open files for another one."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if {b"integrate", b"correlate"} & set(words) and str(output).encode() in words and words[0] == PROGRAM.encode():
                if f"OMPI_COMM_WORLD_RANK={rank}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    return int(folder.name)
    return None


def start_and_wait_for_rows(words, output, rank, starter=(), ranks=2):
    """A job, when this rank has stored frames, or images; and its process."""
    running = subprocess.Popen(job(ranks, *words, starter=starter), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    part = pathlib.Path(f"{output}.parts/part_{rank:03d}.nxs")
    for _ in range(3000):
        with contextlib.suppress(OSError, KeyError):
            if part.exists() if words[0] == "correlate" else rows(part) > 0:
                break
        assert running.poll() is None, running.communicate()[1]
        time.sleep(0.01)
    process = process_of(rank, output)
    assert process, "the job was done too soon"
    return running, process


@pytest.mark.parametrize("rank", [1, pytest.param(0, marks=release_only)])
def test_a_killed_rank_ends_the_job_which_can_be_resumed(annulus, slow_inputs, slow_alone, tmp_path, rank):
    output = tmp_path / "out.nxs"
    words = ["integrate", *slow_inputs, "-o", output, "--append"]  # the same command from the beginning
    words.remove("-q")
    running, process = start_and_wait_for_rows(words, output, rank)
    os.kill(process, signal.SIGKILL)
    said = running.communicate(timeout=60)[1]
    assert running.returncode != 0
    assert f"process rank {rank}" in said, said  # mpirun's message
    if rank == 1:
        assert "rank 1 of 2 does not answer" in said and f"{output}.parts" in said, said
    left = [rows(path) for path in output.parent.glob("out.nxs.parts/part_*.nxs")]
    assert 0 < sum(left) < SLOW
    done = mpirun(2, *words)
    assert done.returncode == 0, done.stderr
    assert f"{sum(left)} frames were in the output already" in done.stdout, done.stdout
    assert_same(output, slow_alone)
    assert annulus("verify", output).returncode == 0


@pytest.mark.parametrize("to", ["mpirun", "rank"])
def test_a_job_that_is_told_to_end_writes_its_master(annulus, slow_inputs, slow_alone, tmp_path, to):
    output = tmp_path / "out.nxs"
    words = ["integrate", *slow_inputs, "-o", output]
    # mpirun takes this time before it tells ranks to end, and again before it kills them; one second may be too few on a
    # machine that does other things.
    running, process = start_and_wait_for_rows(words, output, 1, ["--mca", "odls_base_sigkill_timeout", "2"])
    os.kill(running.pid if to == "mpirun" else process, signal.SIGTERM)
    said = running.communicate(timeout=60)[1]
    assert running.returncode != 0
    assert to == "mpirun" or "interrupted" in said, said  # mpirun that ends passes nothing on
    assert 0 < rows(output) and (to == "mpirun" or rows(output) < SLOW)
    assert annulus("verify", output).returncode == 0
    assert mpirun(3, *words, "--append").returncode == 0
    assert_same(output, slow_alone)


@release_only
def test_a_slow_rank_gets_less_to_do(slow_inputs, slow_alone, tmp_path):
    """It runs a tenth of the time."""
    output = tmp_path / "out.nxs"
    running, process = start_and_wait_for_rows(["integrate", *slow_inputs, "-o", output], output, 1)
    while running.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGSTOP)
            time.sleep(0.045)
            os.kill(process, signal.SIGCONT)
        time.sleep(0.005)
    assert running.returncode == 0, running.communicate()[1]
    assert_same(output, slow_alone)
    assert rows(tmp_path / "out.nxs.parts/part_001.nxs") < SLOW / 3


@pytest.fixture(scope="module")
def slow_snapshots(slow_inputs):
    """The same to be correlated."""
    words = [word for word in slow_inputs if word not in ("-n", 300)]
    return ["correlate", "-n", 40, "--npt-azim", 32, "--legendre", 4, "--flat-ewald", "--scale", 0, *words]


@pytest.fixture(scope="module")
def slow_correlated_alone(annulus, slow_snapshots, tmp_path_factory):
    path = tmp_path_factory.mktemp("slow_correlated") / "out.nxs"
    assert annulus(*slow_snapshots, "-o", path).returncode == 0
    return contents(path)


@pytest.mark.parametrize("rank", [1, pytest.param(0, marks=release_only)])
def test_a_correlation_whose_rank_was_killed_can_be_resumed(scan, annulus, slow_snapshots, slow_correlated_alone, tmp_path, rank):
    """Also where it replaced another one: none of that one's images are in it."""
    output = tmp_path / "out.nxs"
    first = [*slow_snapshots[:-1], scan.folder] if rank == 1 else slow_snapshots
    assert annulus(*first, "-o", output).returncode == 0
    words = [*slow_snapshots, "-o", output, "--checkpoint", 0.1]
    running, process = start_and_wait_for_rows([*words, "--overwrite"], output, rank)
    os.kill(process, signal.SIGKILL)
    said = running.communicate(timeout=60)[1]
    assert running.returncode != 0 and f"process rank {rank}" in said, said
    assert list(tmp_path.glob("out.nxs.parts/part_*.nxs"))
    done = mpirun(2, *words, "--append")
    assert done.returncode == 0, done.stderr
    assert_same(output, slow_correlated_alone)
    assert not (tmp_path / "out.nxs.parts").exists() and annulus("verify", output).returncode == 0


@contextlib.contextmanager
def unchangeable(path):
    if shutil.which("chattr") is None or subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file can be made unchangeable here")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


def test_a_correlation_that_could_not_be_written_goes_on(scan, annulus, slow_snapshots, tmp_path):
    """What the output holds is in what the job kept, too."""
    one, two = tmp_path / "one.nxs", tmp_path / "two.nxs"
    first = [*slow_snapshots[:-1], scan.folder]
    for output in (one, two):
        assert annulus(*first, "-o", output).returncode == 0
    words = [*slow_snapshots, "--append", "--checkpoint", 0.1]
    assert annulus(*words, "-o", one).returncode == 0
    before = two.read_bytes()
    with unchangeable(two):
        done = mpirun(2, *words, "-o", two, starter=AT_ONCE)
        assert done.returncode == OUTPUT and "the correlation cannot be written: Operation not permitted" in errors(done.stderr)[0]
    assert not (tmp_path / "two.nxs.parts").exists()  # it was refused before the work
    running, _ = start_and_wait_for_rows([*words, "-o", two], two, 1)
    with unchangeable(two):
        said = running.communicate(timeout=100)[1]
    assert running.returncode != 0 and "the correlation cannot be written: Operation not permitted" in said, said
    assert two.read_bytes() == before
    assert [path.name for path in tmp_path.glob("two.nxs.parts/*")] == ["part_000.nxs"]
    done = mpirun(2, *words, "-o", two)
    assert done.returncode == 0, done.stderr
    found, expected = ({name: item for name, item in contents(path).items() if "/options/" not in name} for path in (two, one))
    assert [name for name in expected if found[name] != expected[name]] == []
    assert not (tmp_path / "two.nxs.parts").exists()


# What earlier runs left, and other programs do.


def test_a_first_rank_that_fails_at_once_holds_up_nobody(scan, tmp_path):
    words = ["integrate", "-p", scan.poni, *OPTIONS, "-q", "-o", tmp_path / "out.nxs"]
    assert mpirun(3, *words, *scan.files[:12]).returncode == 0
    with h5py.File(tmp_path / "out.nxs.parts/part_000.nxs"):  # a viewer, that keeps a writer out
        done = mpirun(3, *words, "--append", scan.folder, starter=AT_ONCE)
    assert done.returncode == OUTPUT and "part_000.nxs" in errors(done.stderr)[0], done.stderr
    assert mpirun(3, *words, "--append", scan.folder).returncode == 0


@release_only
def test_parts_of_ranks_that_are_gone_are_closed(annulus, slow_inputs, slow_alone, tmp_path):
    output = tmp_path / "out.nxs"
    words = ["integrate", *slow_inputs, "-o", output, "--append"]
    running, process = start_and_wait_for_rows(words, output, 2, ranks=3)
    os.kill(process, signal.SIGKILL)
    running.communicate(timeout=60)
    parts = sorted((tmp_path / "out.nxs.parts").glob("*"))
    done = annulus("merge", "--virtual", *parts, "-o", tmp_path / "killed.nxs")
    assert done.returncode == INPUT and "is not closed" in done.stderr, done.stderr
    assert mpirun(2, *words).returncode == 0
    assert_same(output, slow_alone)  # as h5py reads it


def only_in(rank, tmp_path, word):
    """A program whose rank `rank` is told NOWHERE where the others are told this word."""
    wrapper = tmp_path / f"only_in_{rank}"
    wrapper.write_text(f"""#!/bin/bash
words=()
for word; do
  [ "$OMPI_COMM_WORLD_RANK" = {rank} ] && [ "$word" = "{word}" ] && word=NOWHERE
  words+=("$word")
done
exec {PROGRAM} "${{words[@]}}"
""")
    wrapper.chmod(0o755)
    return wrapper


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("command", ["integrate", "correlate"])
def test_a_rank_that_cannot_begin_holds_up_nobody(scan, tmp_path, command, rank):
    """A node that does not see an input, or the PONI file, or has no such device."""
    words = [command, "-p", scan.poni, "-n", 50, "-q", "-o", tmp_path / "out.nxs", *scan.files[:10], "--backend", "cpu"]
    for missing, code in ((scan.files[3], INPUT), (scan.poni, PLAN), ("cpu", BACKEND)):
        done = mpirun(2, *words, program=only_in(rank, tmp_path, missing), starter=AT_ONCE)
        assert done.returncode == code and len(errors(done.stderr)) == 1 and "NOWHERE" in errors(done.stderr)[0], done.stderr
    assert not (tmp_path / "out.nxs").exists() and not (tmp_path / "out.nxs.parts").exists()


def test_ranks_that_see_other_files_are_refused(scan, tmp_path):
    wrapper = tmp_path / "wrapper"
    wrapper.write_text(f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" != 1 ] || set -- "$@" {scan.files[10]}\nexec {PROGRAM} "$@"\n')
    wrapper.chmod(0o755)
    words = ["integrate", "-p", scan.poni, *OPTIONS, "-q", "-o", tmp_path / "out.nxs", *scan.files[:10]]
    done = mpirun(2, *words, program=wrapper, starter=AT_ONCE)
    assert done.returncode == INPUT and "rank 1 of 2: sees other files than the first rank, which sees 10" in errors(done.stderr)[0]
    assert not (tmp_path / "out.nxs").exists()


def test_other_names_of_a_file_are_refused_at_once(scan, tmp_path):
    words = ["integrate", "-p", scan.poni, *OPTIONS, "-q", "-o", tmp_path / "out.nxs"]
    done = mpirun(2, *words, scan.folder, scan.folder / ".", starter=AT_ONCE)
    assert done.returncode == USAGE and "is named twice" in errors(done.stderr)[0], done.stderr
    assert not list(tmp_path.iterdir())


@release_only
def test_a_wrong_command_spoils_nothing(scan, tmp_path):
    """Files that came between others, and other options: the right command goes on as if they had never been given."""
    (tmp_path / "files").mkdir()
    names = [tmp_path / f"files/f_{i:03d}.cbf" for i in range(60)]
    for i, name in enumerate(names):
        name.symlink_to(scan.files[i % 24])
    words = ["integrate", "-p", scan.poni, "-q", "-o", tmp_path / "out.nxs"]
    assert mpirun(2, *words, "-n", 100, *names[::2]).returncode == 0
    first = contents(tmp_path / "out.nxs")
    done = mpirun(4, *words, "-n", 100, "--append", *names, starter=AT_ONCE)
    assert done.returncode == OUTPUT and "f_001.cbf: is frame 1 of the scan now, and another one was" in errors(done.stderr)[0]
    done = mpirun(2, *words, "-n", 100, "--append", *names[2::2], starter=AT_ONCE)
    assert done.returncode == OUTPUT and "f_002.cbf: was frame 1 of the scan when it was reduced, and is frame 0" in errors(done.stderr)[0]
    done = mpirun(4, *words, "-n", 101, "--append", *names[::2], starter=AT_ONCE)
    assert done.returncode == OUTPUT and "101" in errors(done.stderr)[0], done.stderr
    done = mpirun(2, *words, "-n", 100, "--append", *names[::2])
    assert done.returncode == 0, done.stderr
    assert_same(tmp_path / "out.nxs", first)


def test_longer_names_go_on(annulus, scan, tmp_path):
    """Texts of all parts have one length."""
    long = tmp_path / ("x" * 200)
    long.mkdir()
    names = [tmp_path / f"f_{i:02d}.cbf" for i in range(20)] + [long / f"g_{i:02d}.cbf" for i in range(20)]
    for i, name in enumerate(names):
        name.symlink_to(scan.files[i % 24])
    words = ["integrate", "-p", scan.poni, *OPTIONS, "-q", "-o", "out.nxs"]
    assert mpirun(2, *words, *(name.name for name in names[:20]), cwd=tmp_path).returncode == 0
    done = mpirun(3, *words, "--append", *(name.name for name in names[:20]), *names[20:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "out.nxs") == 40 and annulus("verify", tmp_path / "out.nxs").returncode == 0


def test_what_others_write_and_own_is_not_removed(scan, slow_inputs, tmp_path):
    output = tmp_path / "out.nxs"
    running, _ = start_and_wait_for_rows(["integrate", *slow_inputs, "-o", output], output, 1)
    words = ["integrate", "-p", scan.poni, *OPTIONS, "-q", "-o", output, "--overwrite", scan.folder]
    done = mpirun(2, *words, starter=AT_ONCE)
    assert done.returncode == OUTPUT and "another program is writing this file" in errors(done.stderr)[0], done.stderr
    assert running.wait(timeout=60) == 0 and rows(output) == SLOW
    thesis, foreign = (tmp_path / f"out.nxs.parts/{name}" for name in ("part_of_my_thesis.nxs", "part_007.nxs"))
    for path in (thesis, foreign):
        path.write_text("not ours")
    done = mpirun(2, *words, starter=AT_ONCE)
    assert done.returncode == OUTPUT and "part_007.nxs: is no output that annulus wrote" in errors(done.stderr)[0], done.stderr
    assert rows(output) == SLOW
    foreign.unlink()
    assert mpirun(2, *words).returncode == 0
    assert rows(output) == 24 and thesis.read_text() == "not ours"


@release_only
def test_a_job_that_was_killed_while_it_replaced_an_output_goes_on(scan, annulus, slow_inputs, slow_alone, tmp_path):
    output = tmp_path / "out.nxs"
    assert annulus("integrate", "-p", scan.poni, *OPTIONS, "-q", "-o", output, scan.folder).returncode == 0
    words = ["integrate", *slow_inputs, "-o", output]
    running, process = start_and_wait_for_rows([*words, "--overwrite"], output, 1)
    os.kill(process, signal.SIGKILL)
    running.communicate(timeout=60)
    done = mpirun(2, *words, "--append")
    assert done.returncode == 0, done.stderr
    assert_same(output, slow_alone)


def test_places_where_no_master_can_be_are_refused_at_once(scan, tmp_path):
    words = ["integrate", "-p", scan.poni, *OPTIONS, "-q", "--overwrite", scan.folder, "-o"]
    foreign = tmp_path / "foreign.nxs"
    foreign.write_text("not ours")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/out.nxs.parts").symlink_to(tmp_path / "elsewhere")
    for place, message in ((foreign, "is no output that annulus wrote"),
                           (tmp_path / "run/out.nxs", "does not lie below the folder of"),
                           (os.fsdecode(os.fsencode(tmp_path) + b"/a\xffb.nxs"), "is no name in UTF-8")):
        done = subprocess.run(job(2, *words, place, starter=AT_ONCE), capture_output=True, check=False, timeout=120)
        text = done.stderr.decode(errors="replace")
        assert done.returncode == OUTPUT and message in text, text
    assert foreign.read_text() == "not ours" and not list((tmp_path / "elsewhere").iterdir())
    assert not (tmp_path / "foreign.nxs.parts").exists()


def test_parts_lie_beside_the_real_output(scan, annulus, tmp_path):
    (tmp_path / "real").mkdir()
    words = ["integrate", "-p", scan.poni, *OPTIONS, "-q", scan.folder, "-o"]
    assert mpirun(2, *words, tmp_path / "real/out.nxs").returncode == 0
    first = contents(tmp_path / "real/out.nxs")
    (tmp_path / "link.nxs").symlink_to("real/out.nxs")
    assert mpirun(2, *words, tmp_path / "link.nxs", "--overwrite").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.nxs", "real"]
    assert_same(tmp_path / "real/out.nxs", first)
    assert annulus("verify", tmp_path / "link.nxs").returncode == 0


def test_correlations_go_on_with_the_scale_that_they_have(annulus, tmp_path):
    random = numpy.random.default_rng(3)
    numpy.save(tmp_path / "a.npy", random.normal(0, 1, (120, 4, 16)))
    numpy.save(tmp_path / "b.npy", random.normal(0, 2, (120, 4, 16)))
    for output in ("one.nxs", "two.nxs"):
        assert annulus("correlate", "--polar", "-q", tmp_path / "a.npy", "-o", tmp_path / output).returncode == 0
    words = ["correlate", "--polar", "-q", "--append", tmp_path / "b.npy", "-o"]
    assert annulus(*words, tmp_path / "one.nxs").returncode == 0
    # A killed program had begun to write a part.
    (tmp_path / "two.nxs.parts").mkdir()
    (tmp_path / "two.nxs.parts/part_000.nxs.4tz1.part").write_bytes(b"half")
    done = mpirun(2, *words, tmp_path / "two.nxs")
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "one.nxs") as one, h5py.File(tmp_path / "two.nxs") as two:
        assert one["/entry/process/scale"][()] == two["/entry/process/scale"][()]
        assert numpy.array_equal(one["/entry/correlation/signal"], two["/entry/correlation/signal"])
    assert not (tmp_path / "two.nxs.parts").exists()


def test_correlations_of_a_second_scan_follow_the_first(annulus, tmp_path):
    """Places of images are then no order for both."""
    random = numpy.random.default_rng(3)
    for name, number in (("a", 120), ("b", 300)):
        numpy.save(tmp_path / f"{name}.npy", random.normal(0, 1, (number, 4, 16)))
    words = ["correlate", "--polar", "-q", "--least-mean", -0.1, "--scale", 6]
    for output in ("one.nxs", "two.nxs"):
        assert annulus(*words, tmp_path / "b.npy", "-o", tmp_path / output).returncode == 0
    assert annulus(*words, "--append", tmp_path / "a.npy", "-o", tmp_path / "one.nxs").returncode == 0
    done = mpirun(3, *words, "--append", tmp_path / "a.npy", "-o", tmp_path / "two.nxs")
    assert done.returncode == 0, done.stderr
    found, expected = ({name: item for name, item in contents(tmp_path / output).items() if "/options/" not in name}
                       for output in ("two.nxs", "one.nxs"))
    assert set(found) == set(expected) and [name for name in expected if found[name] != expected[name]] == []


def test_correlations_name_sources_from_where_they_are(annulus, polar, tmp_path):
    """Ranks that go on in another folder, some with parts of the first one."""
    inside = tmp_path / "run/deeper"
    inside.mkdir(parents=True)
    shutil.copy(polar[-1], tmp_path / "run/images.npy")
    words = [*polar[:-1], "--scale", 2]
    (tmp_path / "run/c2.nxs.parts").mkdir()
    for number in (0, 2):
        done = annulus("correlate", *words, "images.npy", "--part", f"{number + 1}/4", "-o", f"c2.nxs.parts/part_{number:03d}.nxs",
                       cwd=tmp_path / "run")
        assert done.returncode == 0, done.stderr
    done = mpirun(2, "correlate", *words, "../images.npy", "--append", "-o", "../c2.nxs", cwd=inside)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "run/c2.nxs") as file:
        folder = pathlib.Path(file["/entry/process/working_directory"][()].decode())
        assert len(file["/entry/snapshots/status"]) == 400
        sources = [name.decode() for name in file["/entry/snapshots/sources"][()]]
        assert sources and all((folder / name).samefile(tmp_path / "run/images.npy") for name in sources), (folder, sources)


def test_correlations_remove_only_their_own_files(polar, tmp_path):
    folder = tmp_path / "out.nxs.parts"
    folder.mkdir()
    others = ["part_of_my_thesis.nxs", "part_000.nxs.bak", "part_1.nxs_notes.part", "notes.txt"]
    for name in (*others, "part_000.nxs.4tz1.part"):
        (folder / name).write_text("not ours")
    assert mpirun(2, "correlate", *polar, "-o", tmp_path / "out.nxs").returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(others)


def test_folders_that_are_not_there_are_not_made(scan, polar, tmp_path):
    for words in (["integrate", "-p", scan.poni, *OPTIONS, "-q", scan.folder], ["correlate", *polar]):
        for more in ([], ["--append"], ["--overwrite"]):
            done = mpirun(2, *words, *more, "-o", tmp_path / "nofolder/sub/x.nxs", starter=AT_ONCE)
            assert done.returncode == OUTPUT and "sub does not exist" in errors(done.stderr)[0], done.stderr
    assert not list(tmp_path.iterdir())


def test_correlations_that_cannot_be_added_up_keep_their_parts(annulus, tmp_path):
    images = numpy.random.default_rng(3).normal(0, 1, (120, 4, 16))
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["polar"] = images
    with h5py.File(tmp_path / "master.h5", "w") as file:
        file["polar"] = h5py.ExternalLink("data.h5", "/polar")
    words = ["correlate", "--polar", "-q", "--scale", 5, "-o", "c2.nxs"]
    done = mpirun(2, *words, "data.h5::/polar", "master.h5::/polar", cwd=tmp_path, starter=AT_ONCE)
    assert done.returncode == INPUT and "was correlated twice" in errors(done.stderr)[0], done.stderr
    assert len(list((tmp_path / "c2.nxs.parts").glob("part_*.nxs"))) == 2
    # What does not fit is refused before the work.
    done = mpirun(2, *words, "--keep-mean", "--append", "data.h5::/polar", cwd=tmp_path, starter=AT_ONCE)
    assert done.returncode == OUTPUT and "cannot be continued: --keep-mean" in errors(done.stderr)[0], done.stderr


def test_ranks_go_on_only_where_and_with_what_their_parts_were_made(scan, tmp_path):
    """Also those that have no part yet: they would make one that does not go with the others."""
    table = tmp_path / "m.csv"
    table.write_text("i0,i1\n" + "".join(f"{100 + i},{200 - i}\n" for i in range(24)))
    above, inside = tmp_path / "run", tmp_path / "run/frames"
    inside.mkdir(parents=True)
    for path in scan.files:
        (inside / path.name).symlink_to(path)
    columns = [word for name in ("i0", "i1") for word in ("--column", f"{name}={table}#{name}")]
    words = ["integrate", "-q", "-n", 100, "-p", scan.poni, *columns, "-o", above / "out.nxs", "--append", "--monitor"]
    assert mpirun(2, *words, "i0", "frames", cwd=above).returncode == 0
    before = {path.name: path.read_bytes() for path in above.rglob("*.nxs")}
    for folder, last, said in ((above, ["i1", "frames"], "their monitors: i0 and i1"), (inside, ["i0", "."], f"was made in {above}")):
        done = mpirun(3, *words, *last, cwd=folder, starter=AT_ONCE)
        assert done.returncode == OUTPUT and said in done.stderr, done.stderr
        assert {path.name: path.read_bytes() for path in above.rglob("*.nxs")} == before
    assert mpirun(3, *words, "i0", inside, cwd=inside).returncode == 0  # named from the root
    assert mpirun(3, *words, "i0", "frames", cwd=above).returncode == 0
    assert rows(above / "out.nxs") == 24
