"""The whole catalogue of detectors beside that of the newest pyFAI: images, pixels, gaps and binnings.

It is skipped where the newest release is not installed.
"""

import json
import logging

import numpy
import pytest

pyFAI = pytest.importorskip("pyFAI", reason="no pyFAI")
if not pyFAI.version.split(".")[0].startswith("20"):
    pytest.skip(f"pyFAI {pyFAI.version} is not the newest: scripts/newest_peer fetches it", allow_module_level=True)

from pyFAI import detectors  # noqa: E402

from test_poni import BODY, describe, described, is_flat_and_regular  # noqa: E402

logging.getLogger("pyFAI").setLevel(logging.CRITICAL)

# pyFAI gives both the pixels of other Quantum detectors; theirs are on the manufacturer's plate. The size that a PONI file
# states is taken, see below.
OWN_PIXELS = {"ADSC_Q4", "ADSC_Q270"}

# Modules that lie off any grid.
LEFT_OUT = {"Jungfrau8M"}

THEIRS = {kind.__name__: kind for kind in set(detectors.ALL_DETECTORS.values()) if kind is not detectors.Detector}


@pytest.fixture(scope="module")
def ours(annulus):
    done = annulus("info", "--detectors", "--json")
    assert done.returncode == 0, done.stderr
    return {entry["name"]: entry for entry in json.loads(done.stdout)}


def test_every_detector_has_the_pixels_gaps_and_names_of_pyfai(ours):
    compared = 0
    for name in sorted(ours.keys() & THEIRS.keys()):
        entry, reference = dict(ours[name]), describe(THEIRS[name]())
        assert set(entry.pop("aliases")) == set(THEIRS[name].aliases), name
        if name in OWN_PIXELS:
            for size in ("pixel1", "pixel2"):
                assert entry.pop(size) != reference.pop(size), f"{name} is no exception any more"
        assert entry == reference, name
        compared += 1
    assert compared >= 85
    assert ours.keys() == THEIRS.keys() & ours.keys(), "a detector that pyFAI does not know"


def test_no_flat_regular_detector_of_pyfai_is_missing(ours):
    expected = {name for name, kind in THEIRS.items() if is_flat_and_regular(kind())}
    assert expected - ours.keys() == LEFT_OUT


def binnings(kind):
    """Pixel sizes that pyFAI knows for a detector, with the shape of its images."""
    table = getattr(kind, "BINNED_PIXEL_SIZE", None)
    # Three times the real pixels of a Quantum 270 are nearly four times those that pyFAI gives it.
    factors = (1, 2) if kind.__name__ in OWN_PIXELS else (1, 2, 3, 4)
    sizes = table.values() if table else [factor * kind().pixel1 for factor in factors]
    for size in sizes:
        try:
            detector = kind(pixel1=size, pixel2=size)
        except TypeError:
            return  # it has one size only
        yield size, tuple(detector.shape)


def test_every_binning_has_the_shape_of_pyfai(annulus, ours, tmp_path):
    path = tmp_path / "binned.poni"
    compared = 0
    for name in sorted(name for name in ours.keys() & THEIRS.keys() if not THEIRS[name].force_pixel or hasattr(
            THEIRS[name], "BINNED_PIXEL_SIZE") or name in OWN_PIXELS | {"Apex2"}):
        kind = THEIRS[name]
        for size, shape in binnings(kind):
            config = json.dumps({"pixel1": size, "pixel2": size})
            path.write_text(f"poni_version: 2\nDetector: {name}\nDetector_config: {config}\n{BODY}")
            done = annulus("info", "--json", path)
            if done.returncode != 0:
                assert "none of its sizes" in done.stderr, (name, size, done.stderr)
                continue
            if tuple(json.loads(done.stdout)["detector"]["shape"]) != shape:
                pytest.fail(f"{name} with pixels of {size} m: {json.loads(done.stdout)['detector']['shape']}, pyFAI {shape}")
            compared += 1
    assert compared >= 60


@pytest.mark.parametrize("name, size, shape", [
    ("Apex2", 120e-6, (1024, 1024)), ("Apex2", 120e-6, (512, 512)), ("Apex2", 60e-6, (1024, 1024)),
    ("RayonixSx165", 118.616e-6, (1365, 1365)), ("RayonixSx165", 118.616e-6, (1364, 1364)),
    ("ADSC_Q4", 51e-6, (2304, 2304)), ("ADSC_Q4", 82e-6, (2304, 2304)),
    ("ADSC_Q270", 51e-6, (4168, 4168)), ("ADSC_Q270", 64.8e-6, (4168, 4168)), ("Lambda9M", 55e-6, (3868, 3227)),
])
def test_images_of_every_release_are_integrated(annulus, tmp_path, name, size, shape):
    poni = tmp_path / "case.poni"
    poni.write_text(f'poni_version: 2.1\nDetector: {name}\nDetector_config: {{"pixel1": {size}, "pixel2": {size}, '
                    f'"orientation": 3}}\n{BODY}')
    assert described(annulus, poni)["detector"]["name"] == name
    numpy.save(tmp_path / "image.npy", numpy.ones(shape, numpy.uint16))
    done = annulus("integrate", "-p", poni, "-n", 100, "--split", "no", "-o", tmp_path / "out.nxs", tmp_path / "image.npy")
    assert done.returncode == 0, done.stderr
