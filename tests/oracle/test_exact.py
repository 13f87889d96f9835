"""The integers against SciPy: a second way through the plan's matrix must give the same accumulators, exactly."""

import json

import h5py
import numpy
import pytest
import scipy.sparse

import numpy_patterns
from accumulators import assert_model_agrees


def python_sums(matrix, image, poisson):
    """Accumulators from the saved matrix, in Python's unbounded or NumPy's 64-bit integers."""
    shape = tuple(matrix["shape"][()])
    indptr, indices = matrix["indptr"][()], matrix["indices"][()]
    weight = matrix["weight"][()]
    weights = scipy.sparse.csr_matrix((weight, indices, indptr), shape=shape)
    signal = weights @ image.astype(numpy.int64).ravel()
    if not poisson:
        return signal, None
    shift = 2 * int(matrix.attrs["weight_bits"]) - int(matrix.attrs["variance_bits"])
    squares = numpy.maximum((weight * weight + (1 << (shift - 1))) >> shift, 1)
    variance = scipy.sparse.csr_matrix((squares, indices, indptr), shape=shape)
    return signal, variance @ numpy.maximum(image.astype(numpy.int64).ravel(), 1)


@pytest.mark.parametrize("split", ["no", "bbox", "full"])
@pytest.mark.parametrize("error_model", [pytest.param("no", marks=pytest.mark.release_only), "poisson"])
def test_accumulators_equal_a_sparse_product(annulus, tmp_path, split, error_model):
    scan = tmp_path / "scan"
    made = annulus("simulate", "-o", scan, "--detector", "Pilatus300k", "-n", 5, "--seed", 7, "--defects", 0, "-q")
    assert made.returncode == 0, made.stderr
    arguments = ["integrate", "-p", scan / "scan.poni", "-n", 333, "--split", split, "--error-model", error_model, "--json",
                 scan]
    done = annulus(*arguments, "--save-matrix", tmp_path / "matrix.h5", "-o", tmp_path / "out.nxs")
    assert done.returncode == 0, done.stderr
    assert_model_agrees(annulus, arguments, tmp_path / "out.nxs", tmp_path / "model.nxs")
    assert json.loads(done.stdout)["frames"] == 5

    import fabio

    with h5py.File(tmp_path / "matrix.h5") as matrix, h5py.File(tmp_path / "out.nxs") as output:
        sums = output["/entry/reduction/accumulators"]
        assert matrix.attrs["plan_hash"] == output["/entry/reduction/input/plan_hash"][()].decode()
        columns = scipy.sparse.csr_matrix(
            (matrix["weight"][()], matrix["indices"][()], matrix["indptr"][()]), shape=tuple(matrix["shape"][()]))
        per_pixel = numpy.asarray(columns.sum(axis=0)).ravel()
        assert set(per_pixel) <= {0, 1 << int(matrix.attrs["weight_bits"])}
        used = (per_pixel > 0).reshape(619, 487)
        for i, path in enumerate(sorted(scan.glob("*.cbf"))):
            image = fabio.open(str(path)).data
            assert not numpy.any(image[used] < 0), "no dead pixels were asked for"
            signal, variance = python_sums(matrix, image, error_model == "poisson")
            numpy.testing.assert_array_equal(sums["signal"][i], signal)
            if variance is not None:
                numpy.testing.assert_array_equal(sums["variance"][i], variance)
            assert signal.sum() == image[used].astype(numpy.int64).sum() << int(matrix.attrs["weight_bits"])
        norm = columns @ matrix["normalization"][()]
        numpy.testing.assert_array_equal(sums["normalization"][()], norm)


def test_shares_equal_pyfais_matrix(annulus, tmp_path):
    """The CSR view is the matrix of NumPy, which is that of pyFAI if it rounds the places of pixels as pyFAI 0.21.3 does."""
    import pyFAI

    scan = tmp_path / "scan"
    assert annulus("simulate", "-o", scan, "--detector", "Pilatus100k", "-n", 1, "-q").returncode == 0
    done = annulus("integrate", "-p", scan / "scan.poni", "-n", 100, "-u", "q_nm^-1",
                   "--save-matrix", tmp_path / "matrix.h5", "-o", tmp_path / "out.nxs", "-q", scan)
    assert done.returncode == 0, done.stderr
    integrator = pyFAI.load(str(scan / "scan.poni"))
    theirs = integrator.setup_CSR((195, 487), 100, unit="q_nm^-1", split="bbox", scale=False)
    with h5py.File(tmp_path / "matrix.h5") as file:
        ours = scipy.sparse.csr_matrix((file["data"][()], file["indices"][()], file["indptr"][()]),
                                       shape=tuple(file["shape"][()]))
    reference = scipy.sparse.csr_matrix((theirs.data, theirs.indices, theirs.indptr), shape=ours.shape)
    unmasked = numpy.zeros((195, 487))

    def matrix(rules):
        pixels = numpy_patterns.Pixels(integrator, "q_nm^-1", rules)
        low, width = numpy_patterns.radial_axis(pixels, "bbox", 100, unmasked, None, 1.0)
        shares = numpy_patterns.radial_shares(pixels, "bbox", low, width, 100, None, rules)
        return scipy.sparse.csr_matrix((shares.share, (shares.bin, shares.pixel)), shape=ours.shape)

    assert abs(ours - matrix(numpy_patterns.EXACT)).max() < 2e-7
    assert abs(reference - matrix(numpy_patterns.PYFAI_0_21)).max() < 1e-5


# The top three of unsigned types are marks of invalid pixels.
@pytest.mark.parametrize("bins, dtype, largest", [
    (1, "uint32", 2 ** 32 - 4), pytest.param(4, "uint32", 2 ** 32 - 4, marks=pytest.mark.release_only),
    pytest.param(2, "int32", 2 ** 31 - 1, marks=pytest.mark.release_only)])
def test_millions_of_the_largest_counts_in_few_bins_do_not_overflow(annulus, tmp_path, bins, dtype, largest):
    """An Eiger 4M whose every pixel has the largest count of its type: the sums are at the bound of the proof."""
    (tmp_path / "eiger.poni").write_text(
        "poni_version: 2\nDetector: Eiger4M\nDetector_config: {}\nDistance: 0.2\nPoni1: 0.081\nPoni2: 0.077\n"
        "Rot1: 0.01\nRot2: -0.02\nRot3: 0\nWavelength: 1e-10\n")
    numpy.save(tmp_path / "image.npy", numpy.full((2167, 2070), largest, dtype))
    arguments = ["integrate", "-p", tmp_path / "eiger.poni", "-n", bins, "--error-model", "poisson", "-q", tmp_path / "image.npy"]
    done = annulus(*arguments, "-o", tmp_path / "out.nxs")
    assert done.returncode == 0, done.stderr
    assert_model_agrees(annulus, arguments, tmp_path / "out.nxs", tmp_path / "model.nxs")
    with h5py.File(tmp_path / "out.nxs") as output:
        sums = output["/entry/reduction/accumulators"]
        assert sums.attrs["weight_bits"] < 12
        assert not numpy.any(sums["missing_count"][0])
        # In Python's integers, which have no end.
        assert [int(signal) for signal in sums["signal"][0]] == [int(count) * largest for count in sums["count"]]
        assert sum(map(int, sums["count"])) % (1 << int(sums.attrs["weight_bits"])) == 0
        assert numpy.all(sums["variance"][0] > 0)
