"""scripts/tidy: which files it checks for a change, and that it finds what it is there to find."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
HOST = PROJECT / "host"


@pytest.fixture(scope="module")
def tidy():
    loader = importlib.machinery.SourceFileLoader("tidy", str(PROJECT / "scripts/tidy"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


def test_a_header_is_checked_by_way_of_a_file_that_includes_it(tidy):
    known = set((HOST / "annulus").rglob("*.cpp"))
    assert tidy.units_for([HOST / "annulus/core/error.hpp"], known) == [HOST / "annulus/core/error.cpp"]
    (unit,) = tidy.units_for([HOST / "annulus/core/bytes.hpp"], known)
    assert unit in known, "by way of other headers"


def test_other_files_and_repetitions_are_left_out(tidy):
    error = HOST / "annulus/core/error.cpp"
    changed = [PROJECT / "README.md", error, HOST / "annulus/core/error.hpp", HOST / "annulus/core/gone.hpp",
               PROJECT / "tests/unit/core/core_test.cpp"]
    assert tidy.units_for(changed, {error}) == [error]


@pytest.mark.parametrize("body,check", [
    ("std::string a = b; a = std::move(b); return b.size();", "bugprone-use-after-move"),
    ("for (const std::string c : std::vector<std::string>{b}) { b += c; } return b.size();", "performance-for-range-copy"),
    ("return b.size();", None)])
def test_planted_defects_are_found(tidy, tmp_path, body, check):
    unit = tmp_path / "planted.cpp"
    unit.write_text("#include <string>\n#include <utility>\n#include <vector>\n"
                    f"std::size_t planted(std::string& b) {{ {body} }}\n")
    (tmp_path / ".clang-tidy").write_text((PROJECT / ".clang-tidy").read_text())
    (tmp_path / "compile_commands.json").write_text(
        f'[{{"directory": "{tmp_path}", "file": "{unit}", "command": "c++ -std=c++20 -c {unit}"}}]')
    fine, text = tidy.check(unit, tmp_path)
    assert fine is (check is None), text
    assert check is None or check in text
