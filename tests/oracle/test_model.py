"""The kernels in software against the CPU backend on real detector files, and what the kernels refuse."""

import fabio
import h5py
import numpy
import pytest

from accumulators import assert_model_agrees
from real_frames import LARGEST_COUNT, REAL_BLOCKS, REAL_CBF, integrate_arguments, real_blocks


def test_every_real_cbf_is_listed(shared_data):
    assert {str(path.relative_to(shared_data)) for path in shared_data.rglob("*.cbf")} == set(REAL_CBF)


@pytest.mark.parametrize("split", ["no", "bbox", "full"])
@pytest.mark.parametrize("name", REAL_CBF)
def test_real_cbf(annulus, shared_data, tmp_path, name, split):
    image = fabio.open(str(shared_data / name)).data
    args = integrate_arguments(shared_data / name, image.shape, tmp_path / "case.poni") + ["--split", split]
    done = annulus(*args, "-o", tmp_path / "cpu.nxs")
    assert done.returncode == 0, done.stderr
    assert_model_agrees(annulus, args, tmp_path / "cpu.nxs", tmp_path / "model.nxs")
    # And neither lost a count: FabIO's pixels, which all lie in range.
    pixels = image.astype(numpy.int64)
    valid = (numpy.abs(pixels) <= LARGEST_COUNT) & ((pixels < -3) | (pixels > -1))
    with h5py.File(tmp_path / "model.nxs") as file:
        bits = int(file["/entry/reduction/accumulators"].attrs["weight_bits"])
        total = sum(int(value) for value in file["/entry/reduction/accumulators/signal"][0])
    assert total == int(pixels[valid].sum()) << bits


@pytest.mark.parametrize("name", REAL_BLOCKS)
def test_real_blocks(annulus, shared_data, tmp_path, name):
    path, shape = real_blocks(name, shared_data, tmp_path)
    args = integrate_arguments(path, shape, tmp_path / "case.poni", dummy=None)
    done = annulus(*args, "-o", tmp_path / "cpu.nxs")
    assert done.returncode == 0, done.stderr
    assert_model_agrees(annulus, args, tmp_path / "cpu.nxs", tmp_path / "model.nxs")


def test_more_bins_than_the_kernels_hold(annulus, tmp_path):
    scan = tmp_path / "scan"
    assert annulus("simulate", "-o", scan, "--detector", "Pilatus100k", "-n", 1, "-q").returncode == 0
    output = tmp_path / "out.nxs"
    done = annulus("integrate", "-p", scan / "scan.poni", "-n", 4097, "--backend", "model", "-o", output, scan)
    assert done.returncode == 6
    assert "4097 bins" in done.stderr and "4096" in done.stderr and "cpu" in done.stderr
    assert not output.exists(), "a plan that is refused costs no file"
