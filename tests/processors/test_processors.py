"""The program as it runs on lesser processors: with instruction sets forbidden, and in an emulator that has none of them.

An emulator is the only one that tells code compiled for another processor from code that merely is not chosen.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from accumulators import assert_same_accumulators

BUILD = pathlib.Path(os.environ.get("ANNULUS_BUILD", "."))
EMULATOR = "qemu-x86_64-static"
ALLOWED = ["generic", "avx2", "generic,avx2,avx512"]

# Objects that are compiled for a processor of their own.
VECTOR_OBJECTS = re.compile(r"_(avx2|avx512|gfni)\.cpp\.o$")


@pytest.fixture(scope="module")
def scans(annulus, tmp_path_factory):
    """Command lines without an output: byte offset, and bitshuffle-LZ4 in a cake, both with errors; and their results."""
    folder = tmp_path_factory.mktemp("scans")
    made = {"cbf": ["-p", folder / "cbf" / "scan.poni", "-n", 300, folder / "cbf"],
            "eiger": ["-n", 100, "--npt-azim", 36, folder / "eiger" / "scan_master.h5"]}
    results = {}
    for form, args in made.items():
        done = annulus("simulate", "-o", folder / form, "--detector", "Pilatus100k", "--format", form, "-n", 3, "-q")
        assert done.returncode == 0, done.stderr
        line = ["integrate", "--error-model", "poisson", "-q", *args]
        assert annulus(*line, "-o", folder / f"{form}.nxs").returncode == 0
        results[form] = (line, folder / f"{form}.nxs")
    return results


@pytest.mark.parametrize("form", ["cbf", "eiger"])
@pytest.mark.parametrize("allowed", ALLOWED)
def test_every_instruction_set_sums_the_same(annulus, scans, tmp_path, monkeypatch, form, allowed):
    monkeypatch.setenv("ANNULUS_INSTRUCTION_SETS", allowed)
    line, expected = scans[form]
    done = annulus(*line, "-o", tmp_path / "out.nxs")
    assert done.returncode == 0, done.stderr
    assert_same_accumulators(tmp_path / "out.nxs", expected)


def test_forbidden_sets_are_not_available(annulus, scans, tmp_path, monkeypatch):
    monkeypatch.setenv("ANNULUS_INSTRUCTION_SETS", "generic")
    line, _ = scans["cbf"]
    for name in ("avx2", "avx512", "neon"):
        done = annulus(*line, "--instruction-set", name, "-o", tmp_path / "out.nxs")
        assert done.returncode == 2 and f"'{name}' is not available here" in done.stderr, done.stderr
        assert "generic" in done.stderr
    monkeypatch.setenv("ANNULUS_INSTRUCTION_SETS", "avx3")
    done = annulus(*line, "-o", tmp_path / "out.nxs")
    assert done.returncode == 2 and "ANNULUS_INSTRUCTION_SETS" in done.stderr and "'avx3'" in done.stderr, done.stderr


# Nehalem is without AVX; the plain one is what every x86-64 has.
@pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed")
@pytest.mark.parametrize("form", ["cbf", "eiger"])
@pytest.mark.parametrize("processor, sets", [("Haswell", ["generic", "avx2"]), ("Nehalem", ["generic"]),
                                             ("qemu64", ["generic"])])
def test_program_runs_on_a_lesser_processor(scans, tmp_path, form, processor, sets):
    line, expected = scans[form]
    emulated = [EMULATOR, "-cpu", processor, os.environ["ANNULUS"]]
    done = subprocess.run([*emulated, *map(str, line), "-o", str(tmp_path / "out.nxs")], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert_same_accumulators(tmp_path / "out.nxs", expected)
    done = subprocess.run([*emulated, *map(str, line), "--instruction-set", "avx512", "-o", str(tmp_path / "no.nxs")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and ", ".join(sets) in done.stderr, done.stderr


@pytest.mark.parametrize("form", ["cbf", "eiger"])
@pytest.mark.parametrize("backend", ["cpu", "model"])
def test_program_runs_on_one_core(annulus, scans, tmp_path, form, backend):
    line, expected = scans[form]
    core = min(os.sched_getaffinity(0))
    for more in ([], ["--latency"] if backend == "cpu" else []):
        done = annulus(*line, "--backend", backend, *more, "--overwrite", "-o", tmp_path / "out.nxs",
                       preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        assert done.returncode == 0, done.stderr
        assert_same_accumulators(tmp_path / "out.nxs", expected)


def test_code_for_one_processor_shares_no_function_with_the_rest():
    """A linker keeps one of equal inline functions, and it may be the one that was compiled for AVX-512."""
    objects = [path for path in BUILD.rglob("*.o") if VECTOR_OBJECTS.search(path.name)]
    assert len(objects) >= 5, objects
    for path in objects:
        listed = subprocess.run(["nm", "-C", str(path)], capture_output=True, text=True, check=True).stdout
        shared = [line for line in listed.splitlines() if re.match(r"[0-9a-f]* +[WVu] ", line)]
        assert not shared, (path.name, shared)
        assert re.search(r" [TDR] annulus::", listed), path.name


def test_only_these_objects_are_compiled_for_a_processor():
    """Everything else must run wherever the program starts."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    special = {pathlib.Path(each["file"]).name for each in commands
               if re.search(r" -m(avx|bmi|gfni|sse4|fma|arch|tune|cpu)", each["command"])}
    assert special and all(VECTOR_OBJECTS.search(name + ".o") for name in special), special
