"""The lint of the kernels is silent about the sources as they are, and says of each planted defect what and where."""

import pathlib
import shutil
import subprocess
import sys

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
HLS = PROJECT / "hls"
sys.path.insert(0, str(PROJECT / "scripts"))

import kernel_lint  # noqa: E402
from defects import COMPILER_DEFECTS, DEFECTS, HARMLESS  # noqa: E402


@pytest.fixture(scope="module")
def program():
    return kernel_lint.load(HLS)


def text_of(name):
    path = HLS / name
    return path.read_text() if path.exists() else ""


def change(case):
    """The file's text with the case in it."""
    before = text_of(case.file)
    count = before.count(case.old)
    assert not case.old or count == 1, f"{case.old!r} is {count} times in {case.file}: adapt the case to the source"
    after = before.replace(case.old, case.new) if case.old else case.new
    assert after != before
    return after


def line_of(case, after):
    """Where the lint must point: at the text `at`, or else at the first line that differs."""
    if case.at:
        text = text_of(case.at_file) if case.at_file else after
        assert text.count(case.at) == 1, f"{case.at!r} is {text.count(case.at)} times in the changed {case.file}"
        return text[:text.index(case.at)].count("\n") + 1
    pairs = zip(after.split("\n"), text_of(case.file).split("\n"))
    return next(number for number, (new, old) in enumerate(pairs, 1) if new != old)


def program_with(case, after, program):
    """The program with the case in place; only the changed file is read again."""
    changed = kernel_lint.Unit(HLS / case.file, {case.file: after})
    return kernel_lint.Program([*{**program.units, case.file: changed}.values()])


def names_of(cases):
    return [f"{case.rule}-{number}" for number, case in enumerate(cases)]


def test_the_kernels_are_clean():
    done = subprocess.run([PROJECT / "scripts" / "lint_kernels"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", DEFECTS, ids=names_of(DEFECTS))
def test_a_planted_defect_is_found(case, program):
    after = change(case)
    file = case.at_file or case.file
    found = kernel_lint.check(program_with(case, after, program), [file])
    assert (file, line_of(case, after), case.rule) in [(f.file, f.line, f.rule) for f in found], \
        "\n".join(["found:", *map(str, found)])


@pytest.mark.parametrize("case", HARMLESS, ids=names_of(HARMLESS))
def test_a_harmless_change_passes(case, program):
    found = kernel_lint.check(program_with(case, change(case), program))
    assert not found, "\n".join(map(str, found))


def folder_with(case, tmp_path):
    shutil.copytree(HLS, tmp_path / "hls")
    (tmp_path / "hls" / case.file).write_text(change(case))
    return tmp_path / "hls"


@pytest.mark.parametrize("compilers,top,case", COMPILER_DEFECTS, ids=names_of([row[-1] for row in COMPILER_DEFECTS]))
def test_what_only_a_compiler_sees_is_found(compilers, top, case, tmp_path):
    folder = folder_with(case, tmp_path)
    for compiler in compilers.split():
        found = [(f.file, f.line, f.rule) for f in kernel_lint.compile_file(folder / top, compiler)]
        assert (case.file, line_of(case, change(case)), case.rule) in found, compiler


def test_the_program_prints_file_line_and_rule_and_fails(tmp_path):
    case = COMPILER_DEFECTS[0][-1]
    folder = folder_with(case, tmp_path)
    (folder / "depths.hpp").write_text("#pragma once\n" + text_of("depths.hpp"))
    done = subprocess.run([PROJECT / "scripts" / "lint_kernels", folder], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{folder}/depths.hpp:1: [first-comment] " in done.stdout
    for compiler in kernel_lint.COMPILERS:
        assert f"{folder}/{case.file}:{line_of(case, change(case))}: [compiler] {compiler}: " in done.stdout


def test_every_rule_has_a_defect_that_it_finds():
    planted = {case.rule for case in DEFECTS} | {case.rule for _, _, case in COMPILER_DEFECTS}
    assert planted == set(kernel_lint.SENTENCES)


def test_a_folder_without_kernels_is_an_error(tmp_path):
    done = subprocess.run([PROJECT / "scripts" / "lint_kernels", tmp_path], capture_output=True, text=True)
    assert done.returncode == 2
    assert "no kernel" in done.stderr
