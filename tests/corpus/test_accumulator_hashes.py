"""The comparison of two programs over the corpus notices what it is there to notice."""

import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parent / "accumulator_hashes"
ONE_CASE = "cbf cpu 1-D bbox errors poisson corrected"


def load_script():
    loader = importlib.machinery.SourceFileLoader("accumulator_hashes", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("accumulator_hashes", loader))
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def compare(tmp_path_factory):
    """Runs one case with a program; the first call records, later ones compare with it."""
    folder = tmp_path_factory.mktemp("corpus")
    recorded = folder / "before.json"

    def run(program):
        what = ("--compare", recorded) if recorded.exists() else ("--output", recorded)
        return subprocess.run(
            [sys.executable, str(SCRIPT), str(program), "--inputs", str(folder / "inputs"), "--backends", "cpu", "--only",
             ONE_CASE, *map(str, what)],
            capture_output=True, text=True, check=False, env={**os.environ, "ANNULUS_SHARED_DATA": str(folder / "none")})

    done = run(os.environ["ANNULUS"])
    assert done.returncode == 0, done.stdout + done.stderr
    return run


def program_that(tmp_path, change):
    """A program that does what annulus does, and then changes its output."""
    path = tmp_path / "bin/annulus"
    path.parent.mkdir()
    path.write_text(f"""#!{sys.executable}
import h5py, subprocess, sys
done = subprocess.run([{os.environ["ANNULUS"]!r}, *sys.argv[1:]])
if done.returncode == 0 and "integrate" in sys.argv:
    with h5py.File(sys.argv[sys.argv.index("-o") + 1], "r+") as file:
        sums = file["/entry/reduction/accumulators"]
        {change}
sys.exit(done.returncode)
""")
    path.chmod(0o755)
    return path


def test_the_same_program_gives_the_same_hashes(compare):
    done = compare(os.environ["ANNULUS"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 cases, 0 failed" in done.stdout and "the same as in" in done.stdout


@pytest.mark.parametrize("dataset", ["signal", "variance", "missing_count", "missing_dark", "normalization"])
def test_one_changed_value_is_noticed_and_named(compare, tmp_path, dataset):
    done = compare(program_that(tmp_path, f"values = sums['{dataset}'][()]; values.flat[123] ^= 1; "
                                          f"sums['{dataset}'][()] = values"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"{ONE_CASE}: {dataset}"


def test_another_program_that_fails_is_not_the_same(compare, tmp_path):
    done = compare(program_that(tmp_path, "sys.exit(7)"))
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith(f"{ONE_CASE}: failed now, exit code 7")


def test_datasets_and_cases_that_come_or_go_are_differences():
    differences = load_script().differences
    sums = {"signal": "a", "count": "b"}
    assert differences({"one": sums}, {"one": dict(sums)}) == []
    assert differences({"one": sums}, {"one": {"signal": "a"}}) == ["one: count (only before)"]
    assert differences({"one": {"signal": "a"}}, {"one": sums}) == ["one: count (only now)"]
    assert differences({"one": sums}, {}) == ["one: only before"]
    assert differences({}, {"one": sums}) == ["one: only now"]
    assert differences({"one": {"failed": "x"}}, {"one": sums}) == ["one: failed before, x"]
