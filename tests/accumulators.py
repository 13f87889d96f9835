"""What backends must agree on."""

import h5py
import numpy


def assert_same_accumulators(path, reference):
    """Both files hold the same integers, byte for byte, and the same patterns."""
    with h5py.File(path) as file, h5py.File(reference) as expected:
        ours, theirs = (f["/entry/reduction/accumulators"] for f in (file, expected))
        assert set(ours) == set(theirs) and "signal" in ours
        for name in theirs:
            numpy.testing.assert_array_equal(ours[name][()], theirs[name][()], err_msg=name)
            assert ours[name].dtype == theirs[name].dtype, name
        for name in ("I", "I_errors"):
            if name in expected["/entry/data"]:
                assert file[f"/entry/data/{name}"][()].tobytes() == expected[f"/entry/data/{name}"][()].tobytes(), name


def assert_model_agrees(annulus, args, reference, output):
    """The same command with the model backend gives the same accumulators as in `reference`."""
    done = annulus(*args, "--backend", "model", "-o", output)
    assert done.returncode == 0, done.stderr
    assert_same_accumulators(output, reference)
