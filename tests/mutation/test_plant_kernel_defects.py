"""plant_kernel_defects begins only with programs that pass, and gives them time on a busy machine."""

import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("plant_kernel_defects")


@pytest.fixture
def plant(monkeypatch, tmp_path):
    """Runs the script for no defect at all, on test programs that take `seconds` and end with `code`."""
    loader = importlib.machinery.SourceFileLoader("plant_kernel_defects", str(SCRIPT))
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(script)
    (tmp_path / "compile_commands.json").write_text("[]")

    def run(seconds, code=0):
        def run_program(command, timeout, **_):
            if seconds > timeout:
                raise subprocess.TimeoutExpired(command, timeout)
            return subprocess.CompletedProcess(command, code, "[  FAILED  ] Kernel.Adds\n" if code else "", "")

        monkeypatch.setattr(script.subprocess, "run", run_program)
        monkeypatch.setattr(sys, "argv", ["plant_kernel_defects", str(tmp_path), "--only", "in no description"])
        with pytest.raises(SystemExit) as end:
            script.main()
        return end.value.code

    return run


def test_programs_without_a_defect_may_take_ten_minutes(plant):
    assert plant(seconds=590) == 0


def test_programs_that_never_end_are_named(plant):
    assert plant(seconds=1e9) == "csim_accumulate fails without any defect, in csim_accumulate (time-out after 600 s): mend that first"


def test_programs_that_fail_are_named_with_the_test(plant):
    assert plant(seconds=1, code=1) == "csim_accumulate fails without any defect, in Kernel.Adds: mend that first"
