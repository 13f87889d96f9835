"""A merged file is on the disk before it has its name, and the disk is not waited for at each block of its parts."""

import os

import numpy

import durability

FRAMES = 800
PONI = """poni_version: 2
Detector: Detector
Detector_config: {"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [16, 16]}
Distance: 0.1
Poni1: 0.0008
Poni2: 0.0008
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""


def test_a_merge_waits_for_the_disk_when_it_is_complete(annulus, tmp_path):
    (tmp_path / "a.poni").write_text(PONI)
    numpy.save(tmp_path / "frames.npy", numpy.random.default_rng(2).poisson(30, (FRAMES, 16, 16)).astype(numpy.int32))
    parts = [tmp_path / f"p{k}.nxs" for k in (1, 2)]
    for k, part in enumerate(parts, 1):
        done = annulus("integrate", "-q", "-p", tmp_path / "a.poni", "-n", 10, "-o", part, "--part", f"{k}/2",
                       tmp_path / "frames.npy")
        assert done.returncode == 0, done.stderr
    folder, log = tmp_path / "merged", tmp_path / "log"
    folder.mkdir()
    code, text = durability.watched([os.environ["ANNULUS"], "merge", "-q", *parts, "-o", folder / "all.nxs"], folder, log=log)
    assert code == 0, text
    calls = durability.read_log(log)
    kinds = [kind for kind, name, *_ in calls if name.startswith(str(folder / "all.nxs"))]
    # Blocks have 8 frames, so parts take turns 100 times.
    assert 0 < kinds.count("s") < 60
    assert "w" not in kinds[len(kinds) - kinds[::-1].index("s"):] and kinds[-1] == "r"
