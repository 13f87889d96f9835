"""PONI files and detectors mean the same to the program as to pyFAI."""

import hashlib
import json
import logging
import re

import numpy
import pytest
from pyFAI import detectors
from pyFAI.io.ponifile import PoniFile

logging.getLogger("pyFAI").setLevel(logging.ERROR)

# Those that changed since pyFAI 0.21: images and gaps follow the later releases, see test_catalogue.py.
LATER = {"Lambda250k", "Lambda750k", "Lambda2M", "Apex2"}

BODY = "Distance: 0.25\nPoni1: 0.1\nPoni2: 0.2\nRot1: 0.01\nRot2: -0.02\nRot3: 0.03\nWavelength: 1e-10\n"


def describe(detector):
    """The detector as `annulus info` has it, computed by pyFAI and NumPy."""
    shape = tuple(detector.shape or (0, 0))
    mask = detector.calc_mask()
    mask = numpy.zeros(shape, numpy.uint8) if mask is None else mask.astype(numpy.uint8)
    assert mask.shape == shape
    return {
        "name": type(detector).__name__,
        "shape": list(shape),
        "pixel1": detector.pixel1,
        "pixel2": detector.pixel2,
        "masked_pixels": int(mask.sum()),
        "mask_sha256": hashlib.sha256(mask.tobytes()).hexdigest(),
    }


def load(path, scratch):
    """What pyFAI reads; 0.21 knows neither version 2.1 nor orientations, and 3 is what it assumes."""
    text = path.read_text()
    text = re.sub(r"(?m)^poni_version: 2\.1$", "poni_version: 2", text)
    text = re.sub(r',? *"orientation": 3', "", text)
    copy = scratch / "plain.poni"
    copy.write_text(text)
    poni = PoniFile(str(copy))
    return {
        "format": "PONI",
        "distance": poni.dist,
        "poni1": poni.poni1,
        "poni2": poni.poni2,
        "rot1": poni.rot1,
        "rot2": poni.rot2,
        "rot3": poni.rot3,
        "wavelength": poni.wavelength,
        "detector": describe(poni.detector),
    }


def described(annulus, path):
    done = annulus("info", "--json", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def is_flat_and_regular(detector):
    return detector.IS_FLAT and detector.uniform_pixel


def test_every_detector_has_the_pixels_and_gaps_of_pyfai(annulus):
    done = annulus("info", "--detectors", "--json")
    assert done.returncode == 0, done.stderr
    ours = {entry["name"]: entry for entry in json.loads(done.stdout)}
    theirs = {kind.__name__: kind for kind in set(detectors.ALL_DETECTORS.values())}

    compared = 0
    for name in sorted(ours.keys() & theirs.keys() - LATER):
        entry = dict(ours[name])
        assert set(entry.pop("aliases")) == set(theirs[name].aliases), name
        assert entry == describe(theirs[name]()), name
        compared += 1
    assert compared >= 70


def test_no_flat_regular_detector_of_pyfai_is_missing(annulus):
    done = annulus("info", "--detectors", "--json")
    ours = {entry["name"] for entry in json.loads(done.stdout)}
    expected = {
        kind.__name__
        for kind in set(detectors.ALL_DETECTORS.values())
        if kind is not detectors.Detector and is_flat_and_regular(kind())
    }
    # Newer releases have one whose modules lie off any grid.
    assert expected - ours <= {"Jungfrau8M"}


def test_every_real_poni_file_reads_as_in_pyfai_or_is_refused_for_its_spline(annulus, shared_data, tmp_path):
    files = sorted(shared_data.rglob("*.poni"))
    assert files
    refused = []
    for path in files:
        spline = re.findall(r"(?mi)^splinefile:[ \t]*(\S*)", path.read_text())
        if spline and spline[-1].lower() not in ("", "none"):
            done = annulus("info", "--json", path)
            assert done.returncode != 0, path
            assert "distortion" in done.stderr and spline[-1] in done.stderr, done.stderr
            refused.append(path.name)
        else:
            assert described(annulus, path) == load(path, tmp_path), path
    assert len(refused) < len(files)


@pytest.mark.parametrize(
    "detector, config",
    [
        ("Detector", {"pixel1": 1e-4, "pixel2": 2e-4, "max_shape": None}),
        ("Detector", {"pixel1": 1e-4, "pixel2": 2e-4, "max_shape": [300, 400]}),
        ("pilatus_2m", {}),
        ("Pilatus300k CdTe", {}),
        ("eiger2_cdte_1m-w", {}),
        ("Eiger4M", {"max_shape": [1065, 2070]}),
        ("Eiger2_4M", {"module_size": [256, 514]}),
        ("PilatusCdTe1M", {"module_size": [195, 100], "max_shape": [500, 981]}),
        ("Perkin", {"pixel1": 1e-4, "pixel2": 1e-4}),
        ("Perkin", {"pixel1": 4e-4, "pixel2": 2e-4}),
        ("Pixium", {"pixel1": 154e-6, "pixel2": 154e-6}),
        ("Pixium", {"pixel1": 296e-6, "pixel2": 296e-6}),
        ("Apex2", {"pixel1": 60e-6, "pixel2": 60e-6}),
        ("MAR 345", {"pixel1": 150e-6, "pixel2": 150e-6}),
        ("Mar165", {"pixel1": 158e-6, "pixel2": 158e-6}),
        ("Rayonix133", {"pixel1": 256e-6, "pixel2": 256e-6}),
        ("RayonixMx225", {"pixel1": 109.971e-6, "pixel2": 146.484e-6}),
        ("RayonixLx255", {"pixel1": 442.7083e-6, "pixel2": 44.2708e-6}),
    ],
)
def test_a_configured_detector_is_that_of_pyfai(annulus, tmp_path, detector, config):
    path = tmp_path / "configured.poni"
    path.write_text(f"poni_version: 2\nDetector: {detector}\nDetector_config: {json.dumps(config)}\n{BODY}")
    assert described(annulus, path) == load(path, tmp_path)


@pytest.mark.parametrize(
    "blocks",
    [
        ["PixelSize1: 1e-4\nPixelSize2: 2e-4\nSplineFile: None\n"],
        ["Detector: Pilatus1M\nPixelSize1: 0.000172\nPixelSize2: 0.000172\n"],
        ["Detector: Eiger 1M\n"],
        ["Detector: FReLoN\nPixelSize1: 4e-5\nPixelSize2: 4e-5\n"],
        ["Detector: Pilatus1M\n", "Detector: Pilatus2M\nDistance: 7\n"],
        ["PixelSize1: 1e-4\nPixelSize2: 1e-4\n", 'poni_version: 2\nDetector: Eiger1M\nDetector_config: {}\n'],
        ['poni_version: 2\nDetector: Eiger1M\nDetector_config: {}\n', "Detector: Pilatus6M\n"],
        ["DISTANCE : 3\ndetector:Pilatus100k\r\n# Distance: 4\nno colon here\n"],
    ],
)
def test_appended_blocks_of_any_version_read_as_in_pyfai(annulus, tmp_path, blocks):
    path = tmp_path / "appended.poni"
    path.write_text("".join(BODY + block for block in blocks))
    assert described(annulus, path) == load(path, tmp_path)
