"""The OpenCL backend against the CPU backend on real detector files, and what it does where there is no device."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import fabio
import pytest

from accumulators import assert_same_accumulators
from float_frames import float_frames, write_poni, write_stack
from real_frames import REAL_CBF, integrate_arguments

PROJECT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """What one test compiles and measures serves the next; nothing of the user's is touched."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def opencl(annulus, cache, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return annulus


@pytest.fixture
def scan(annulus, tmp_path):
    folder = tmp_path / "scan"
    assert annulus("simulate", "-o", folder, "--detector", "Pilatus100k", "-n", 20, "-q").returncode == 0
    return folder


# Of large images one kernel: to measure which of them is the fastest takes longest there, and small ones do that.
OF_LARGE_IMAGES = ["--opencl-kernel", "lanes"]
LARGE = 1 << 20


@pytest.mark.parametrize("name", REAL_CBF)
def test_real_cbf(opencl, shared_data, tmp_path, name):
    image = fabio.open(str(shared_data / name)).data
    args = integrate_arguments(shared_data / name, image.shape, tmp_path / "case.poni")
    assert opencl(*args, "-o", tmp_path / "cpu.nxs").returncode == 0
    kernel = OF_LARGE_IMAGES if image.size > LARGE else []
    done = opencl(*args, "--backend", "opencl", *kernel, "-o", tmp_path / "opencl.nxs")
    assert done.returncode == 0, done.stderr
    assert_same_accumulators(tmp_path / "opencl.nxs", tmp_path / "cpu.nxs")


@pytest.mark.parametrize("split", ["no", "bbox", "full"])
@pytest.mark.parametrize("pixel_type", ["uint32", "uint16"])
def test_cakes_and_patterns_of_an_eiger_scan(opencl, tmp_path, split, pixel_type):
    done = opencl("simulate", "-o", tmp_path, "--detector", "Eiger500k", "--format", "eiger", "--pixel-type", pixel_type,
                  "-n", 3, "-q")
    assert done.returncode == 0, done.stderr
    for name, more in (("pattern", ["-n", 500]), ("cake", ["-n", 200, "--npt-azim", 90])):
        args = ["integrate", *more, "--split", split, "--error-model", "poisson", tmp_path / "scan_master.h5"]
        assert opencl(*args, "-o", tmp_path / f"{name}_cpu.nxs").returncode == 0
        done = opencl(*args, "--backend", "opencl", "-o", tmp_path / f"{name}_opencl.nxs")
        assert done.returncode == 0, done.stderr
        assert_same_accumulators(tmp_path / f"{name}_opencl.nxs", tmp_path / f"{name}_cpu.nxs")


def test_real_eiger_frame(opencl, shared_data, tmp_path):
    poni = tmp_path / "case.poni"
    poni.write_text("Detector: Eiger4M\nDistance: 0.2\nPoni1: 0.08\nPoni2: 0.07\nWavelength: 1e-10\n")
    args = ["integrate", "-p", poni, shared_data / "hdf5plugin" / "bitshuffle.h5"]
    assert opencl(*args, "-o", tmp_path / "cpu.nxs").returncode == 0
    done = opencl(*args, "--backend", "opencl", *OF_LARGE_IMAGES, "-o", tmp_path / "opencl.nxs")
    assert done.returncode == 0, done.stderr
    assert_same_accumulators(tmp_path / "opencl.nxs", tmp_path / "cpu.nxs")


@pytest.mark.parametrize("error_model", ["no", "poisson"])
@pytest.mark.parametrize("kernel", ["lanes", "rows", "local"])
def test_layers_of_floats(opencl, tmp_path, kernel, error_model):
    stack = write_stack(tmp_path / "stack.npy", list(float_frames().values()), "float32")
    args = ["integrate", "-p", write_poni(tmp_path / "case.poni"), "-n", 30, "--error-model", error_model, stack]
    assert opencl(*args, "-o", tmp_path / "cpu.nxs").returncode == 0
    done = opencl(*args, "--backend", "opencl", "--opencl-kernel", kernel, "-o", tmp_path / "opencl.nxs")
    assert done.returncode == 0, done.stderr
    assert_same_accumulators(tmp_path / "opencl.nxs", tmp_path / "cpu.nxs")


def test_scan_on_two_devices_with_a_corrupt_frame_and_a_profile(opencl, scan, tmp_path):
    damaged = sorted(scan.glob("*.cbf"))[7]
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2: len(content) // 2 + 200] = b"\x80" * 200
    damaged.write_bytes(content)
    args = ["integrate", "-p", scan / "scan.poni", "-n", 300, "--error-model", "poisson", "--keep-going"]
    reference = opencl(*args, "-o", tmp_path / "cpu.nxs", scan)
    assert reference.returncode == 7, reference.stderr
    # A device with one compute unit cannot be split, but named twice.
    devices = "0:0,0:0" if ": 1 compute units" in device_name(opencl) else "0:0/2"
    done = opencl(*args, "--backend", "opencl", "--device", devices, "--profile", "--json", "-o", tmp_path / "opencl.nxs",
                  scan)
    assert done.returncode == reference.returncode and done.stderr == reference.stderr
    assert_same_accumulators(tmp_path / "opencl.nxs", tmp_path / "cpu.nxs")
    stages = {stage["stage"]: stage["seconds"] for stage in json.loads(done.stdout)["profile"]}
    assert {"pack", "decode segments", "integrate", "fetch"} <= set(stages)
    table = opencl(*args, "--backend", "opencl", "--profile", "-o", tmp_path / "again.nxs", scan).stdout
    assert "ms/frame" in table and "decode segments" in table


def test_no_platform(opencl, scan, tmp_path, monkeypatch):
    (tmp_path / "none").mkdir()
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path / "none"))
    listed = {backend["name"]: backend for backend in json.loads(opencl("devices", "--json").stdout)}
    assert not listed["opencl"]["available"] and "no OpenCL platform" in listed["opencl"]["detail"]
    done = opencl("integrate", "-p", scan / "scan.poni", "--backend", "opencl", "-o", tmp_path / "out.nxs", scan)
    assert done.returncode == 6 and "no platform" in done.stderr and "pocl-opencl-icd" in done.stderr
    assert not (tmp_path / "out.nxs").exists()


def test_devices_are_listed_with_memory_and_limits(opencl):
    listed = {backend["name"]: backend for backend in json.loads(opencl("devices", "--json").stdout)}
    assert listed["opencl"]["available"]
    first = listed["opencl"]["devices"][0]
    assert first.startswith("0:0 ") and "MiB" in first and "compute units" in first


@pytest.fixture(scope="module")
def compiled(annulus, tmp_path_factory):
    """A scan and a cache that its reduction has filled, for tests that take a copy of it."""
    folder = tmp_path_factory.mktemp("compiled")
    assert annulus("simulate", "-o", folder / "scan", "--detector", "Pilatus100k", "-n", 20, "-q").returncode == 0
    done = annulus(*compiled_arguments(folder), "-o", folder / "out.nxs", env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")})
    assert done.returncode == 0, done.stderr
    return folder


def compiled_arguments(folder):
    return ["integrate", "-p", folder / "scan" / "scan.poni", "-n", 300, "--backend", "opencl", "--opencl-kernel", "lanes",
            "--overwrite", "-q", folder / "scan"]


@pytest.fixture
def cached(annulus, compiled, tmp_path, monkeypatch):
    """Reduces that scan again, with a copy of the cache; and the folder of its files."""
    shutil.copytree(compiled / "cache", tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run():
        done = annulus(*compiled_arguments(compiled), "-o", tmp_path / "out.nxs")
        assert done.returncode == 0, done.stderr
        assert_same_accumulators(tmp_path / "out.nxs", compiled / "out.nxs")

    return run, tmp_path / "cache" / "annulus" / "opencl"


def one_of_each_kind(folder):
    """What both are read with is one function. To compile takes long, so less is tried with programs."""
    files = {path.name.split("-")[0]: path for path in folder.iterdir()}
    assert set(files) == {"program", "choice"} and len(list(folder.iterdir())) == 2
    return files


def test_damaged_cache_is_replaced(cached):
    run, folder = cached
    files = one_of_each_kind(folder)
    for kind, damages in (("choice", (lambda kept: b"", lambda kept: kept[:70], lambda kept: kept[:-1] + bytes([kept[-1] ^ 1]))),
                          ("program", (lambda kept: kept[:-1] + bytes([kept[-1] ^ 1]),))):
        kept = files[kind].read_bytes()
        for damage in damages:
            files[kind].write_bytes(damage(kept))
            run()
            assert files[kind].read_bytes() != damage(kept)


def test_cached_programs_that_others_can_have_written_are_not_used(cached):
    run, folder = cached
    assert folder.stat().st_mode & 0o7777 == 0o700
    files = one_of_each_kind(folder)
    writable = lambda path: path.chmod(0o666)
    of_another = lambda path: os.chown(path, 65534, 65534)
    changes = [("choice", writable), ("program", writable)]
    if os.getuid() == 0:
        changes = [("choice", writable), ("choice", of_another), ("program", of_another)]
    for kind, change in changes:
        before = files[kind].stat().st_ino
        change(files[kind])
        run()
        after = files[kind].stat()
        assert after.st_ino != before and after.st_uid == os.getuid() and after.st_mode & 0o022 == 0
    folder.chmod(0o777)
    files["program"].write_bytes(b"")
    before = {path: path.stat().st_ino for path in folder.iterdir()}
    run()
    assert files["program"].read_bytes() == b"" and {path: path.stat().st_ino for path in folder.iterdir()} == before


def test_options_that_make_no_sense(annulus, scan):
    for options, words in ((["--profile"], "--profile"), (["--device-memory", 5], "opencl"),
                           (["--backend", "opencl", "--opencl-kernel", "fast"], "lanes"),
                           (["--backend", "opencl", "--device", "/2"], "names no device"),
                           (["--backend", "opencl", "--device", "9:9"], "0:0")):
        done = annulus("integrate", "-p", scan / "scan.poni", *options, scan)
        assert done.returncode in (2, 6) and words in done.stderr, done.stderr


def test_memory_limit(opencl, scan, tmp_path):
    args = ["integrate", "-p", scan / "scan.poni", "-n", 300, "--backend", "opencl", "-q", "-o", tmp_path / "out.nxs", scan]
    done = opencl(*args, "--device-memory", 1)
    assert done.returncode == 6 and "the plan takes" in done.stderr and "--backend cpu" in done.stderr
    assert opencl(*args, "--device-memory", 6).returncode == 0


def test_small_memory_does_in_the_first_run_what_it_does_in_the_second(opencl, scan, tmp_path):
    """The first measures, with more forms of the plan on the device than the second needs."""
    args = ["integrate", "-p", scan / "scan.poni", "-n", 300, "--overwrite", "-q"]
    assert opencl(*args, "-o", tmp_path / "cpu.nxs", scan).returncode == 0
    for memory, code in ((2, 6), (4, 0)):
        for _ in range(2):
            done = opencl(*args, "--backend", "opencl", "--device-memory", memory, "-o", tmp_path / "out.nxs", scan)
            assert done.returncode == code, done.stderr
            assert code == 0 or "OpenCL device 0:0" in done.stderr, done.stderr
    assert_same_accumulators(tmp_path / "out.nxs", tmp_path / "cpu.nxs")


def test_cached_choice_that_has_no_room_is_measured_again(opencl, cache, scan, tmp_path):
    args = ["integrate", "-p", scan / "scan.poni", "-n", 600, "--backend", "opencl", "--device-memory", 4, "--overwrite",
            "-q", "-o", tmp_path / "out.nxs", scan]
    before = set(cache.glob("annulus/opencl/choice-*"))
    assert opencl(*args).returncode == 0
    choice, = set(cache.glob("annulus/opencl/choice-*")) - before
    rows = b"rows 8 64 65536 2048 8 1"
    choice.write_bytes(hashlib.sha256(rows).hexdigest().encode() + rows)
    done = opencl(*args)
    assert done.returncode == 0, done.stderr
    assert not choice.read_bytes().endswith(rows)


@pytest.mark.parametrize("largest, form", [(32, "eiger"), (1, "cbf")])
def test_device_with_small_work_groups(opencl, tmp_path, monkeypatch, largest, form):
    """As PoCL can be told to be; other drivers do not listen to it."""
    monkeypatch.setenv("POCL_MAX_WORK_GROUP_SIZE", str(largest))
    done = opencl("simulate", "-o", tmp_path / "scan", "--detector", "Pilatus100k", "--format", form, "-n", 2, "-q")
    assert done.returncode == 0, done.stderr
    args = [tmp_path / "scan" / "scan_master.h5"] if form == "eiger" else ["-p", tmp_path / "scan" / "scan.poni",
                                                                           tmp_path / "scan"]
    for backend in ("cpu", "opencl"):
        # A number of bins that no other test has measured.
        done = opencl("integrate", "-n", 3000, "--backend", backend, "-q", "-o", tmp_path / f"{backend}.nxs", *args)
        assert done.returncode == 0, done.stderr
    assert_same_accumulators(tmp_path / "opencl.nxs", tmp_path / "cpu.nxs")


# Names for newer PoCL, for Debian's, and how Debian's calls the device.
PROCESSORS = [("haswell", "avx2", "haswell"), ("x86-64", "sse2", "athlon64")]


def device_name(annulus):
    listed = {backend["name"]: backend for backend in json.loads(annulus("devices", "--json").stdout)}
    return listed["opencl"]["devices"][0]


@pytest.mark.skipif("POCL_KERNELLIB_NAME" not in os.environ, reason="no processor is asked for")
def test_device_is_of_the_processor_that_is_asked_for(opencl):
    """Else the tests of other processors would say nothing."""
    expected = dict((library, name) for _, library, name in PROCESSORS).get(os.environ["POCL_KERNELLIB_NAME"], "avx512")
    if "pthread-" not in device_name(opencl):
        pytest.skip("not PoCL")
    assert expected in device_name(opencl) or os.environ["POCL_LLVM_CPU_NAME"] in device_name(opencl)


def test_caches_never_give_one_processor_the_code_of_another(annulus, scan, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path / "pocl"))
    args = ["integrate", "-p", scan / "scan.poni", "-n", 300, "--overwrite", "-q"]
    assert annulus(*args, "-o", tmp_path / "cpu.nxs", scan).returncode == 0
    devices = set()
    for processor, library, _ in PROCESSORS:
        monkeypatch.setenv("POCL_LLVM_CPU_NAME", processor)
        monkeypatch.setenv("POCL_KERNELLIB_NAME", library)
        devices.add(device_name(annulus))
        done = annulus(*args, "--backend", "opencl", "--opencl-kernel", "lanes", "-o", tmp_path / "opencl.nxs", scan)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert_same_accumulators(tmp_path / "opencl.nxs", tmp_path / "cpu.nxs")
        for kind in ("program", "choice"):
            assert len(list((tmp_path / "cache" / "annulus" / "opencl").glob(f"{kind}-*"))) == len(devices), kind
    if len(devices) == 1:
        pytest.skip("this driver does not compile for other processors")


BACK_PROJECTION = ["-DWIDTH=16", "-DVECTORS=4"]
LINEAR = [*BACK_PROJECTION, "-DTAPS=2", "-DTAP_STEP=2", "-DPHASES=1"]
BAND_LIMITED = [*BACK_PROJECTION, "-DTAPS=8", "-DTAP_STEP=1", "-DPHASES=2", "-DTABLE_STEPS=2048"]


@pytest.mark.parametrize("room,option", [
    ("backends/opencl", []), ("backends/opencl", ["-DPIXEL_UNSIGNED"]), ("backends/opencl", ["-DCHECK_BOUNDS"]),
    ("tomography", LINEAR), ("tomography", [*LINEAR, "-DCHECK_BOUNDS"]), ("tomography", BAND_LIMITED)])
def test_kernels_compile_without_warnings(tmp_path, room, option):
    """By clang with more warnings than a driver has."""
    folder = PROJECT / "host" / "annulus" / room
    call = re.search(r"annulus_kernel_source\(\w+ \w+\s([^)]*)\)", (folder / "CMakeLists.txt").read_text())
    order = [(folder / name).resolve() for name in call[1].split()]
    assert set((folder / "kernels").glob("*.cl")) <= set(order)
    source = tmp_path / "kernels.cl"
    source.write_text("".join(path.read_text() for path in order))
    done = subprocess.run(["clang", "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-Wall", "-Wextra",
                           "-Wno-unused-parameter", "-Werror", "-fsyntax-only", *option, str(source)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_comparison_with_peers_works():
    pytest.importorskip("pyopencl")
    done = subprocess.run([sys.executable, PROJECT / "tests" / "bench" / "compare_opencl", "--quick", "--annulus",
                           os.environ["ANNULUS"]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "decode : silx decode" in done.stdout
