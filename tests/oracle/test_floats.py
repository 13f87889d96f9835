"""Images of floats and of 64-bit integers: sums are exact, whatever a frame holds, and a pixel touches no bin but its own."""

import h5py
import hdf5plugin  # noqa: F401, for the real Eiger frame
import numpy
import pytest
import scipy.sparse

from accumulators import assert_same_accumulators
from float_frames import (SHAPE, assert_exact, background, double_frames, float_frames, whole_numbers, wide_integers,
                          write_poni, write_stack)

KINDS = {
    "float32": lambda: list(float_frames().values()),
    "float64": lambda: list(double_frames().values()),
    "int64": lambda: wide_integers("int64"),
    "uint64": lambda: wide_integers("uint64"),
}


@pytest.fixture
def integrate(annulus, tmp_path):
    poni = write_poni(tmp_path / "case.poni")

    def run(output, *args, code=0):
        done = annulus("integrate", "-p", poni, "-n", 30, "-q", "-o", tmp_path / output, *args)
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.mark.parametrize("split", [*(pytest.param(split, marks=pytest.mark.release_only) for split in ("no", "bbox")), "full"])
@pytest.mark.parametrize("error_model", ["no", "poisson"])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_exact_on_every_backend(annulus, integrate, tmp_path, kind, error_model, split):
    frames = [frame.astype(kind) for frame in KINDS[kind]()]
    stack = write_stack(tmp_path / "stack.npy", frames, kind)
    args = ["--split", split, "--error-model", error_model]
    integrate("cpu.nxs", *args, "--save-matrix", tmp_path / "matrix.h5", stack)
    assert_exact(tmp_path / "cpu.nxs", tmp_path / "matrix.h5", frames)
    assert annulus("verify", tmp_path / "cpu.nxs").returncode == 0
    for name, more in (("latency", ["--latency"]), ("model", ["--backend", "model"])):
        integrate(f"{name}.nxs", *args, *more, stack)
        assert_same_accumulators(tmp_path / f"{name}.nxs", tmp_path / "cpu.nxs")


def test_a_cake_of_floats(annulus, integrate, tmp_path):
    frames = [frame.astype("float32") for frame in float_frames().values()]
    stack = write_stack(tmp_path / "stack.npy", frames, "float32")
    with_cakes = ["--npt-azim", 5, "--error-model", "poisson", "--max-count", 100000000]
    integrate("cake.nxs", *with_cakes, stack)
    integrate("model.nxs", *with_cakes, "--backend", "model", stack)
    assert_same_accumulators(tmp_path / "model.nxs", tmp_path / "cake.nxs")
    assert annulus("verify", tmp_path / "cake.nxs").returncode == 0
    integrate("pattern.nxs", "--error-model", "poisson", "--max-count", 100000000, "--save-matrix", tmp_path / "matrix.h5",
              stack)
    assert_exact(tmp_path / "pattern.nxs", tmp_path / "matrix.h5", frames, max_count=1e8)


def test_a_large_pixel_changes_no_bin_but_its_own(integrate, tmp_path):
    frames = [background(0.1)] + [background(0.1, (3, 5, large)) for large in (1e6, 1e8, 1e9, 1e30)]
    integrate("out.nxs", write_stack(tmp_path / "stack.npy", frames, "float32"))
    with h5py.File(tmp_path / "out.nxs") as file:
        patterns = file["/entry/data/I"][()]
        changed = (patterns[1:] != patterns[0]).sum(axis=1)
        assert changed.min() >= 1 and changed.max() <= 3


def test_integers_in_floats_give_what_integers_give(integrate, tmp_path):
    counts = [numpy.random.default_rng(k).poisson(30, SHAPE) for k in range(3)]
    for kind in ("int32", "float32"):
        integrate(f"{kind}.nxs", "--error-model", "poisson", write_stack(tmp_path / f"{kind}.npy", counts, kind))
    with h5py.File(tmp_path / "float32.nxs") as floats, h5py.File(tmp_path / "int32.nxs") as integers:
        bits = [int(file["/entry/reduction/accumulators"].attrs["weight_bits"]) for file in (floats, integers)]
        assert bits[0] == bits[1]
        for name in ("signal", "variance", "fraction_bits"):
            path = f"/entry/reduction/accumulators/{name}"
            numpy.testing.assert_array_equal(floats[path][()], integers[path][()])
        assert not any("word" in name for name in integers["/entry/reduction/accumulators"])
        for name in floats["/entry/reduction/accumulators"]:
            if "word" in name:
                assert floats[f"/entry/reduction/accumulators/{name}"].id.get_storage_size() == 0, "zeros take no room"


def test_words_are_verified_and_appended(annulus, integrate, tmp_path):
    frames = list(float_frames().values())
    stack = write_stack(tmp_path / "stack.npy", frames, "float32")
    integrate("whole.nxs", "--error-model", "poisson", stack, write_stack(tmp_path / "again.npy", frames[::-1], "float32"))
    integrate("parts.nxs", "--error-model", "poisson", stack)
    integrate("parts.nxs", "--error-model", "poisson", "--append", tmp_path / "again.npy")
    assert_same_accumulators(tmp_path / "parts.nxs", tmp_path / "whole.nxs")
    for name in ("signal", "variance_word1"):
        with h5py.File(tmp_path / "parts.nxs", "r+") as file:
            numbers = file[f"/entry/reduction/accumulators/{name}"]
            frame = int(numpy.flatnonzero(numpy.any(numbers[()], axis=1))[-1])
            bin_of = int(numpy.flatnonzero(numbers[frame])[0])
            kept = numbers[frame, bin_of]
            numbers[frame, bin_of] = kept + (1 << 62 if name == "signal" else 1)
        found = annulus("verify", tmp_path / "parts.nxs")
        assert found.returncode != 0 and f"frame {frame}" in found.stdout + found.stderr, found.stdout
        with h5py.File(tmp_path / "parts.nxs", "r+") as file:
            file[f"/entry/reduction/accumulators/{name}"][frame, bin_of] = kept
    assert annulus("verify", tmp_path / "parts.nxs").returncode == 0


def test_a_file_with_sums_of_one_word_is_not_appended_to(annulus, integrate, tmp_path):
    stack = write_stack(tmp_path / "stack.npy", [background(0.5)], "float32")
    integrate("old.nxs", stack)
    with h5py.File(tmp_path / "old.nxs", "r+") as file:
        sums = file["/entry/reduction/accumulators"]
        for name in [name for name in sums if "word" in name]:
            del sums[name]
        file["/entry"].pop("checksums", None)  # which such a file does not have either
    assert annulus("verify", tmp_path / "old.nxs").returncode == 0
    refused = integrate("old.nxs", "--append", stack, code=5)
    assert "written by an" in refused.stderr and "--overwrite" in refused.stderr, refused.stderr


def test_what_no_sum_can_hold_is_refused_by_name(annulus, integrate, tmp_path):
    frames = [background(1.0), background(1.0, (3, 5, 1e90), (6, 7, -1e-80))]
    stack = write_stack(tmp_path / "stack.npy", frames, "float64")
    refused = integrate("out.nxs", stack, code=3)
    for words in ("row 3, column 5 is 1e+90", "row 6, column 7 is -1e-80", "--max-count", "frame 1"):
        assert words in refused.stderr, refused.stderr
    integrate("some.nxs", "--keep-going", stack, code=7)
    integrate("without.nxs", "--max-count", 1000000, stack)
    assert annulus("verify", tmp_path / "some.nxs").returncode == 0


def test_a_real_eiger_frame_as_float32(annulus, shared_data, tmp_path):
    """972 of its pixels are 2^32 - 1; as float32 they are 2^32, and count where nobody says that they do not."""
    with h5py.File(shared_data / "hdf5plugin" / "bitshuffle.h5") as file:
        image = file["/entry/data/data"][0].astype("float32")
    assert (image == 2**32).sum() > 900
    numpy.save(tmp_path / "frame.npy", image)
    poni = tmp_path / "case.poni"
    poni.write_text("poni_version: 2\nDetector: Detector\n"
                    f'Detector_config: {{"pixel1": 7.5e-5, "pixel2": 7.5e-5, "max_shape": [{image.shape[0]}, {image.shape[1]}]}}\n'
                    "Distance: 0.2\nPoni1: 0.08\nPoni2: 0.07\nWavelength: 1e-10\n")
    done = annulus("integrate", "-p", poni, "-n", 1000, "-q", "--save-matrix", tmp_path / "matrix.h5", "-o", tmp_path / "out.nxs",
                   tmp_path / "frame.npy")
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "matrix.h5") as matrix, h5py.File(tmp_path / "out.nxs") as output:
        weights = scipy.sparse.csr_matrix((matrix["weight"][()], matrix["indices"][()], matrix["indptr"][()]),
                                          shape=tuple(matrix["shape"][()]))
        pixels = image.astype(numpy.int64).ravel()
        low, high = (weights @ (pixels % 65536)).astype(object), (weights @ (pixels // 65536)).astype(object)
        sums = output["/entry/reduction/accumulators"]
        assert sums["fraction_bits"][0] == 0
        assert list(whole_numbers(sums, "signal", 0)) == list(low + high * 65536)
