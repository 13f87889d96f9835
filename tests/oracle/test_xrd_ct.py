"""Tomograms of `annulus tomo` against scikit-image's iradon of the intensities that h5py reads from the same file."""

import h5py
import numpy
import pytest
from skimage.transform import iradon

from xrd_ct_scans import BINS, integrate, intensities, raster


@pytest.mark.parametrize("name", ["ramp", "shepp-logan", "cosine", "hann", "none"])
@pytest.mark.parametrize("angles, positions", [(45, 40), (60, 51)])
def test_volumes_are_those_of_iradon(annulus, tmp_path, name, angles, positions):
    first = -0.02 * (positions // 2)
    degrees, places = raster(angles, positions, first=first)
    index = numpy.random.default_rng(1).permutation(len(degrees))
    scan = integrate(annulus, tmp_path, intensities(degrees, places)[index], {"rot [deg]": degrees[index], "x [mm]": places[index]})
    done = annulus("tomo", scan, "-o", tmp_path / "tomo.nxs", "--angle", "rot", "--translation", "x", "--filter", name,
                   "--centre", 0)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "tomo.nxs") as file:
        found = file["/entry/data/data"][()]
    with h5py.File(scan) as file:
        columns = file["/entry/frames/columns"]
        order = numpy.lexsort((columns["x"][()], columns["rot"][()]))
        sinogram = file["/entry/data/I"][()][order].reshape(angles, positions, BINS)
    for each in range(BINS):
        expected = iradon(sinogram[:, :, each].T, numpy.arange(angles) * 180 / angles,
                          filter_name=None if name == "none" else name)
        assert numpy.abs(found[:, :, each] - expected).max() <= 1e-5 * numpy.abs(expected).max()
