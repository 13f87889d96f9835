"""The oracle tests compare the program with pyFAI, FabIO and NumPy, which know nothing of its code.

ANNULUS names the program; ANNULUS_SHARED_DATA the folder of real detector files.
"""

import os
import pathlib
import subprocess

import pytest


@pytest.fixture(scope="session")
def annulus():
    """Calls the program: annulus("info", "--json", path) -> CompletedProcess with text output."""
    program = os.environ.get("ANNULUS")
    if not program:
        pytest.fail("set the environment variable ANNULUS to the path of the program")

    def run(*args):
        return subprocess.run([program, *map(str, args)], capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def shared_data():
    repository = pathlib.Path(__file__).resolve().parents[2]
    folder = pathlib.Path(os.environ.get("ANNULUS_SHARED_DATA", repository.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}: set ANNULUS_SHARED_DATA")
    return folder
