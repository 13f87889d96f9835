"""Filtered back-projection against scikit-image's iradon, whose conventions it has."""

import os
import pathlib
import subprocess

import numpy
import pytest
from skimage.transform import iradon, radon

FILTERS = ["ramp", "shepp-logan", "cosine", "hann", "none"]
# Angles, positions: even and odd numbers of each; fewer positions than the least length of a filter; iradon's lengths
# change from one power of two to the next between 90 and 91.
SHAPES = [(181, 180), (60, 101), (90, 64), (20, 37), (33, 90), (33, 91), (2, 7), (400, 256)]


@pytest.fixture(scope="session")
def reconstruct(tmp_path_factory):
    """reconstruct(sinogram [angle][position][bin], degrees, axis, key=value...) -> tomogram [y][x][bin]"""
    program = os.environ.get("ANNULUS_TOMOGRAPHY_TOOL")
    if not program:
        pytest.fail("set the environment variable ANNULUS_TOMOGRAPHY_TOOL to the path of tomography_tool")
    folder = pathlib.Path(tmp_path_factory.mktemp("tomography"))

    def run(sinogram, degrees, axis, **options):
        sinogram.astype("f4").tofile(folder / "sinogram")
        numpy.deg2rad(degrees).astype("f8").tofile(folder / "angles")
        words = {"angles": folder / "angles", "sinogram": folder / "sinogram", "tomogram": folder / "tomogram",
                 "bins": sinogram.shape[2], "axis": axis, **options}
        done = subprocess.run([program, *(f"{key}={value}" for key, value in words.items())], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        size = options.get("size", sinogram.shape[1])
        return numpy.fromfile(folder / "tomogram", "f4").reshape(size, size, sinogram.shape[2])

    return run


def expected_of(sinogram, degrees, name, **options):
    bins = [iradon(sinogram[:, :, each].T.astype(float), degrees, filter_name=None if name == "none" else name, **options)
            for each in range(sinogram.shape[2])]
    return numpy.stack(bins, axis=2)


def assert_close(found, expected):
    for each in range(expected.shape[2]):
        largest = numpy.abs(expected[:, :, each]).max()
        deviation = numpy.abs(found[:, :, each] - expected[:, :, each])
        worst = numpy.unravel_index(deviation.argmax(), deviation.shape)
        assert deviation.max() <= 1e-5 * largest, f"bin {each}, pixel {worst}: {deviation.max() / largest:.2e} of the maximum"
    assert numpy.abs(expected).max() > 0


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("angles, positions", SHAPES)
def test_random_sinograms(reconstruct, angles, positions, name):
    random = numpy.random.default_rng(angles)
    sinogram = random.random((angles, positions, 2), dtype="f4")
    degrees = numpy.linspace(0, 180, angles, endpoint=False)
    found = reconstruct(sinogram, degrees, positions // 2, filter=name)
    assert_close(found, expected_of(sinogram, degrees, name))


@pytest.mark.parametrize("name", FILTERS)
def test_any_angles_with_equal_weights(reconstruct, name):
    """iradon does not look at the spacing of angles."""
    random = numpy.random.default_rng(5)
    degrees = random.uniform(-400, 400, 70)
    sinogram = random.normal(size=(70, 80, 1)).astype("f4")
    found = reconstruct(sinogram, degrees, 40, filter=name, weighting="equal")
    assert_close(found, expected_of(sinogram, degrees, name))


@pytest.mark.parametrize("size", [50, 79])
def test_a_smaller_tomogram(reconstruct, size):
    random = numpy.random.default_rng(6)
    degrees = numpy.linspace(0, 180, 45, endpoint=False)
    sinogram = random.random((45, 80, 1), dtype="f4")
    assert_close(reconstruct(sinogram, degrees, 40, size=size), expected_of(sinogram, degrees, "ramp", output_size=size))


def test_many_bins_are_those_of_one(reconstruct):
    random = numpy.random.default_rng(7)
    degrees = numpy.linspace(0, 180, 30, endpoint=False)
    sinogram = random.random((30, 40, 130), dtype="f4")
    assert_close(reconstruct(sinogram, degrees, 20), expected_of(sinogram, degrees, "ramp"))


def test_what_radon_projects(reconstruct):
    """scikit-image's own projections of a sample without symmetry: orientation and sense of rotation."""
    sample = numpy.zeros((101, 101))
    y, x = numpy.mgrid[:101, :101] - 50
    sample[(x - 20) ** 2 + (y + 8) ** 2 < 100] = 1
    sample[(x + 10) ** 2 + (y - 25) ** 2 < 36] = 2
    degrees = numpy.linspace(0, 180, 180, endpoint=False)
    sinogram = radon(sample, degrees, circle=True).T[:, :, None]
    found = reconstruct(sinogram, degrees, 50)[:, :, 0]
    assert numpy.sqrt(numpy.mean((found - sample) ** 2)) < 0.12
    assert abs(found[42, 70] - 1) < 0.05 and abs(found[75, 40] - 2) < 0.1
