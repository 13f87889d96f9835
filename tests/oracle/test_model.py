"""The kernels in software against the CPU backend on real detector files, and what the kernels refuse."""

import fabio
import h5py
import numpy
import pytest

from accumulators import assert_model_agrees

REAL = ["cct/org_00100.cbf", "dials/GX-CORRECTIONS.cbf", "dials/X-CORRECTIONS.cbf", "dials/ximg2701_00001.cbf",
        "dxtbx/omega_scan.cbf", "gisaxs/jg_gisaxs_4nm_old_3ml_insitu_ds03_00001_00006.cbf",
        "swaxs-reduction/b_tassone_Standards_LaB6_T20_ctr0_scan1_0000.cbf"]


def test_every_real_cbf_is_listed(shared_data):
    assert {str(path.relative_to(shared_data)) for path in shared_data.rglob("*.cbf")} == set(REAL)


def write_poni(path, shape):
    path.write_text(
        "poni_version: 2\nDetector: Detector\n"
        f'Detector_config: {{"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [{shape[0]}, {shape[1]}]}}\n'
        f"Distance: 0.1\nPoni1: {0.45e-4 * shape[0]}\nPoni2: {0.52e-4 * shape[1]}\n"
        "Rot1: 0.02\nRot2: -0.01\nRot3: 0\nWavelength: 1e-10\n")


@pytest.mark.parametrize("split", ["no", "bbox", "full"])
@pytest.mark.parametrize("name", REAL)
def test_real_cbf(annulus, shared_data, tmp_path, name, split):
    image = fabio.open(str(shared_data / name)).data
    write_poni(tmp_path / "case.poni", image.shape)
    args = ["integrate", "-p", tmp_path / "case.poni", "-n", 700, "--split", split, "--error-model", "poisson",
            "--dummy", -2, "--delta-dummy", 1.5, "--max-count", 1 << 20, "-q", shared_data / name]
    done = annulus(*args, "-o", tmp_path / "cpu.nxs")
    assert done.returncode == 0, done.stderr
    assert_model_agrees(annulus, args, tmp_path / "cpu.nxs", tmp_path / "model.nxs")
    # And neither lost a count: FabIO's pixels, which all lie in range.
    valid = (image.astype(numpy.int64) <= 1 << 20) & ((image < -3) | (image > -1)) & (image.astype(numpy.int64) >= -(1 << 20))
    with h5py.File(tmp_path / "model.nxs") as file:
        bits = int(file["/entry/reduction/accumulators"].attrs["weight_bits"])
        total = sum(int(value) for value in file["/entry/reduction/accumulators/signal"][0])
    assert total == int(image[valid].astype(numpy.int64).sum()) << bits


def test_more_bins_than_the_kernels_hold(annulus, tmp_path):
    scan = tmp_path / "scan"
    assert annulus("simulate", "-o", scan, "--detector", "Pilatus100k", "-n", 1, "-q").returncode == 0
    output = tmp_path / "out.nxs"
    done = annulus("integrate", "-p", scan / "scan.poni", "-n", 4097, "--backend", "model", "-o", output, scan)
    assert done.returncode == 6
    assert "4097 bins" in done.stderr and "4096" in done.stderr and "cpu" in done.stderr
    assert not output.exists(), "a plan that is refused costs no file"
