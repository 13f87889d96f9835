"""The bench measures what it was asked for and says so; no time is judged here, machines differ."""

import json
import os
import pathlib
import signal
import statistics
import subprocess
import time

import numpy
import pytest

USAGE, INPUT, GEOMETRY, OUTPUT, INTERRUPTED = 2, 3, 4, 5, 130
PROJECT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
SMALL = ["--detector", "Pilatus100k", "--frames", 3, "--scan-frames", 5, "--repetitions", 2, "--npt", 50,
         "--detectors", "Pilatus100k,Pilatus300k", "--bins", "20,70"]
BENCHES = ["memory", "decode", "backend", "latency", "plan", "read", "normalise", "write", "end-to-end", "detectors",
           "bins"]


def bench(annulus, *args, **kwargs):
    done = annulus("bench", "--json", *args, **kwargs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def everything(annulus, tmp_path_factory):
    """All benches, with a list for everything that takes one; also as a file, beside the table."""
    folder = tmp_path_factory.mktemp("bench")
    done = annulus("bench", *SMALL, "--threads", "1,2", "--batch", "1,3", "--error-model", "no,poisson", "--codec",
                   "byte_offset,uint16,int32", "--scratch", folder, "-o", folder / "bench.json")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in folder.iterdir()] == ["bench.json"], "scratch files are left behind"
    return json.loads((folder / "bench.json").read_text()), done, folder / "bench.json"


def values(measured, name, parameter):
    return {figure["parameters"][parameter] for figure in measured["figures"] if figure["bench"] == name}


def test_every_bench_is_there_with_all_of_its_samples(everything):
    measured, _, _ = everything
    assert list(dict.fromkeys(figure["bench"] for figure in measured["figures"])) == BENCHES
    for figure in measured["figures"]:
        samples = figure["samples"]
        assert len(samples) == (2 * 3 if figure["bench"] == "latency" else 2), figure
        assert all(sample > 0 for sample in samples)
        assert figure["seconds"]["median"] == pytest.approx(statistics.median(samples), rel=1e-12)
        assert figure["seconds"]["minimum"] == min(samples)
        lower, upper = numpy.percentile(samples, [25, 75])
        assert figure["seconds"]["spread"] == pytest.approx((upper - lower) / statistics.median(samples), abs=1e-9)


def test_rates_follow_from_the_median_and_the_work(everything):
    measured, _, _ = everything
    for figure in measured["figures"]:
        median = figure["seconds"]["median"]
        for rate, expected in (("frames_per_second", figure["frames"] / median),
                               ("gigabytes_per_second", figure["bytes"] / 1e9 / median)):
            assert figure.get(rate, 0) == pytest.approx(expected, rel=1e-12), figure
        if figure["pixels"]:
            assert figure["nanoseconds_per_pixel"] == pytest.approx(median * 1e9 / figure["pixels"], rel=1e-12)


def test_everything_asked_for_is_measured(everything):
    measured, _, _ = everything
    sets = set(measured["machine"]["instruction_sets"])
    assert "generic" in sets and measured["usual"]["instruction_set"] in sets
    assert values(measured, "decode", "instruction_set") == values(measured, "backend", "instruction_set") == sets
    assert values(measured, "decode", "codec") == {"byte_offset", "uint16", "int32"}
    for name in ("memory", "backend", "latency", "end-to-end"):
        assert values(measured, name, "threads") == {1, 2}, name
    assert {1, 3, measured["usual"]["batch"]} == values(measured, "backend", "batch")
    for name in ("backend", "latency", "plan", "normalise", "write", "end-to-end"):
        assert values(measured, name, "error_model") == {"no", "poisson"}, name
    assert values(measured, "detectors", "detector") == {"Pilatus100k", "Pilatus300k"}
    assert values(measured, "bins", "bins") == {20, 70}
    assert values(measured, "read", "readers") == {1, 2}
    assert {"make", "load"} <= values(measured, "plan", "what")
    assert values(measured, "latency", "from") == {"file", "memory"}


def test_machine_and_subject_are_described(everything):
    measured, done, _ = everything
    assert measured["version"]
    assert measured["machine"]["cores"] == len(os.sched_getaffinity(0))
    assert measured["subject"]["name"] == "Pilatus100k" and measured["subject"]["simulated"] is True
    assert measured["subject"]["shape"] == [195, 487] and measured["subject"]["pixels"] == 195 * 487
    assert measured["subject"]["frames_in_memory"] == 3
    assert measured["plan"]["bins"] == 50 and measured["rounds"] == 2
    for name in BENCHES:
        assert f"\n{name}: " in done.stdout and f"measuring {name}: " in done.stderr


def test_work_is_that_of_the_frames(everything):
    measured, _, _ = everything
    pixels = 195 * 487
    for figure in measured["figures"]:
        if figure["bench"] == "decode":
            sizes = {"uint16": 2 * 3 * pixels, "int32": 4 * 3 * pixels, "byte_offset": measured["subject"]["payload_bytes"]}
            assert (figure["frames"], figure["pixels"]) == (3, 3 * pixels)
            assert figure["bytes"] == sizes[figure["parameters"]["codec"]]
        elif figure["bench"] == "backend":
            at_once = figure["parameters"]["threads"]
            assert figure["frames"] >= 4 * at_once and figure["pixels"] == figure["frames"] * pixels
        elif figure["bench"] == "end-to-end":
            assert (figure["frames"], figure["pixels"]) == (5, 5 * pixels)


def test_own_frames_are_measured(annulus, scan):
    measured = bench(annulus, "-p", scan.poni, "-n", 60, "--only", "backend,end-to-end", "--frames", 4, "--scan-frames", 30,
                   "--repetitions", 1, "--threads", "1", "--error-model", "poisson", scan.folder)
    assert measured["subject"]["name"] == str(scan.files[0]) and measured["subject"]["simulated"] is False
    assert measured["subject"]["frames_in_memory"] == 4
    assert {figure["bench"] for figure in measured["figures"]} == {"backend", "end-to-end"}
    (end_to_end,) = [figure for figure in measured["figures"] if figure["bench"] == "end-to-end"]
    assert end_to_end["frames"] == 30


def test_decoding_and_reading_need_no_geometry(annulus, scan, tmp_path):
    measured = bench(annulus, "--only", "decode,read", "--repetitions", 1, "--codec", "byte_offset", *scan.files[:2])
    assert measured["subject"]["frames_in_memory"] == 2
    stack = tmp_path / "stack.npy"
    numpy.save(stack, numpy.arange(4 * 30 * 40, dtype=numpy.uint16).reshape(4, 30, 40))
    measured = bench(annulus, "--only", "decode", "--repetitions", 1, "--frames", 3, stack)
    assert values(measured, "decode", "codec") == {
        "byte_offset", "uint8", "uint16", "uint32", "int32", "bslz4_uint8", "bslz4_uint16", "bslz4_uint32", "bszstd_uint32",
        "lz4_uint32"}
    assert measured["subject"]["payload_bytes"] == 3 * 30 * 40 * 2


def test_faults_are_named(annulus, scan, tmp_path):
    def expect(code, *words, args):
        done = annulus("bench", *args)
        assert done.returncode == code, (args, done.stderr)
        errors = [line for line in done.stderr.splitlines() if line.startswith("annulus: error: ")]
        assert len(errors) == 1 and not done.stdout, done.stderr
        for word in words:
            assert str(word) in errors[0], (word, errors[0])

    expect(USAGE, "--only", "'speed'", "decode", "end-to-end", args=["--only", "decode,speed"])
    expect(USAGE, "--threads", "'0'", args=["--threads", "1,0"])
    expect(USAGE, "--threads", "''", args=["--threads", "1,"])
    expect(USAGE, "--batch", "'many'", args=["--batch", "many"])
    expect(USAGE, "--instruction-set", "'mmx'", "generic", args=["--instruction-set", "generic,mmx"])
    expect(USAGE, "--error-model", "'gauss'", "poisson", args=["--error-model", "gauss"])
    expect(USAGE, "--codec", "'lzw'", "byte_offset", args=["--codec", "lzw"])
    expect(USAGE, "--repetitions", args=["--repetitions", 0])
    expect(USAGE, "--frames", args=["--frames", 0])
    expect(USAGE, "--poni", args=["--poni", scan.poni])
    expect(USAGE, "--poni", args=[scan.folder])
    expect(USAGE, "--only", "simulated", args=["--only", "detectors", "-p", scan.poni, scan.folder])
    expect(USAGE, "--detector", args=["--detector", "Pilatus2M", "-p", scan.poni, scan.folder])
    expect(GEOMETRY, "Pilatus3000", args=["--detectors", "Pilatus2M,Pilatus3000"])
    expect(GEOMETRY, "Pilatus3000", args=["--detector", "Pilatus3000"])
    expect(OUTPUT, "nowhere", "--scratch", args=[*SMALL, "--scratch", tmp_path / "nowhere"])
    expect(OUTPUT, "nowhere", args=[*SMALL, "-o", tmp_path / "nowhere" / "bench.json"])
    expect(INPUT, "nothing.cbf", args=["--only", "decode", tmp_path / "nothing.cbf"])
    damaged = tmp_path / "damaged.cbf"
    content = scan.files[0].read_bytes()
    damaged.write_bytes(content[: len(content) // 2])
    expect(INPUT, damaged, args=["--only", "decode", damaged])
    floats = tmp_path / "floats.npy"
    numpy.save(floats, numpy.zeros((195, 487), numpy.float32))
    expect(USAGE, "decode", "float32", args=["--only", "decode", floats])
    expect(INPUT, floats, args=["--only", "decode", scan.files[0], floats])


def test_interruption_leaves_nothing_behind(tmp_path):
    process = subprocess.Popen([os.environ["ANNULUS"], "bench", "--detector", "Pilatus100k", "--frames", "1", "--only",
                                "memory", "--repetitions", "100000", "--scratch", tmp_path], stderr=subprocess.PIPE, text=True)
    assert "measuring memory" in process.stderr.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, errors
    assert not list(tmp_path.iterdir())


def test_picture_is_drawn_from_the_json(everything, tmp_path):
    _, _, path = everything
    picture = tmp_path / "speed.png"
    script = [PYTHON, PROJECT / "scripts" / "plot_bench"]
    done = subprocess.run([*script, path, "-o", picture], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    for content, word in (("{}", "figures"), ("no JSON", "is not what"), ('{"figures": [], "usual": {}}', "end-to-end")):
        (tmp_path / "wrong.json").write_text(content)
        done = subprocess.run([*script, tmp_path / "wrong.json"], capture_output=True, text=True, check=False)
        assert done.returncode != 0 and word in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("options, rows, deviations", [
    (["--cakes", "12"], ["decode : FabIO", "as used", "tuned", "first call of", "integrate2d of"], 6),
    (["--eiger"], ["decode : hdf5plugin", "as used"], 3),
])
def test_comparison_with_peers_runs_and_patterns_agree(tmp_path, options, rows, deviations):
    path = tmp_path / "compared.json"
    newest = pathlib.Path(os.environ["ANNULUS_NEWEST_PEER"])
    releases = 2 if (newest / "complete").is_file() else 1
    done = subprocess.run([PYTHON, PROJECT / "tests" / "bench" / "compare_peers", "--quick", *options, "--annulus",
                           os.environ["ANNULUS"], "--scratch", tmp_path, "--json", path,
                           *(["--newest-peer", newest] if releases == 2 else [])],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())
    for name, value in result["deviations"].items():
        rounds = name.startswith("pyFAI 0.21.3: annulus")  # this release has pixel centres in single precision
        assert value <= (1e-4 if rounds else 1e-5), (name, value)
    assert len(result["deviations"]) == deviations * releases
    versions = {peer["pyFAI"] for peer in result["peers"]}
    assert len(versions) == releases and "0.21.3" in versions
    names = [row["name"] for row in result["rows"]]
    for part in rows:
        assert sum(part in name for name in names) >= releases, (part, names)
    for part in ("2 threads : 1 thread", "with errors : without"):
        assert any(part in name for name in names), (part, names)
    for version in versions:
        assert f"pyFAI {version}" in done.stdout
    assert "mean nothing" in done.stdout
    assert [item.name for item in tmp_path.iterdir()] == ["compared.json"]


def test_two_builds_are_compared_on_the_same_files(tmp_path):
    compare = PROJECT / "tests" / "bench" / "compare_builds"
    arguments = ["--quick", "--scratch", tmp_path, os.environ["ANNULUS"], os.environ["ANNULUS"]]
    done = subprocess.run([PYTHON, compare, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for case in ("CBF 1-D ", "CBF 1-D, errors", "CBF cake", "Eiger 1-D "):
        assert case in done.stdout
    done = subprocess.run([PYTHON, compare, "--demand", "1000", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "slower than asked for: CBF 1-D" in done.stderr
    assert list(tmp_path.iterdir()) == []
