"""A small simulated scan that the end-to-end tests share. They must not change it."""

import pytest


class Scan:
    def __init__(self, folder, frames):
        self.folder = folder
        self.poni = folder / "scan.poni"
        self.files = sorted(folder.glob("*.cbf"))
        assert len(self.files) == frames


@pytest.fixture(scope="session")
def scan(annulus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "scan"
    done = annulus("simulate", "-o", folder, "--detector", "Pilatus100k", "-n", 24, "--seed", 3, "-q")
    assert done.returncode == 0, done.stderr
    return Scan(folder, 24)
