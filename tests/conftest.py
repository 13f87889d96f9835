"""Shared by the tests in Python, which reach the program only through its command line.

ANNULUS names the program; ANNULUS_SHARED_DATA the folder of real detector files; ANNULUS_REPORT a folder for
tables that are worth reading even when everything passes.
"""

import os
import pathlib
import subprocess

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "release_only: left out with sanitizers, which see a path the first time it is taken; "
                                       "it differs from its neighbours in numbers, sizes or places")


@pytest.fixture(scope="session")
def annulus():
    """Calls the program: annulus("info", "--json", path) -> CompletedProcess with text output."""
    program = os.environ.get("ANNULUS")
    if not program:
        pytest.fail("set the environment variable ANNULUS to the path of the program")

    def run(*args, **kwargs):
        return subprocess.run([program, *map(str, args)], capture_output=True, text=True, check=False, **kwargs)

    return run


@pytest.fixture(scope="session")
def shared_data():
    repository = pathlib.Path(__file__).resolve().parents[1]
    folder = pathlib.Path(os.environ.get("ANNULUS_SHARED_DATA", repository.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}: set ANNULUS_SHARED_DATA")
    return folder


@pytest.fixture(scope="module")
def report(request):
    """A list of lines; printed and, if ANNULUS_REPORT is set, kept as <test file>.txt."""
    lines = []
    yield lines
    folder = os.environ.get("ANNULUS_REPORT")
    if folder and lines:
        path = pathlib.Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{request.module.__name__}.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
