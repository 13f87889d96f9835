"""Which pixels count, against NumPy: marks of the detector, the top of unsigned types, and dummies that a user gives."""

import json

import h5py
import numpy
import pytest

FEW_BINS = ["--split", "no", "-n", 7, "-u", "r_mm"]


def write_poni(path, pixel, shape, detector_config=""):
    path.write_text(f"poni_version: 2\nDetector: Detector\nDetector_config: {{\"pixel1\": {pixel}, \"pixel2\": {pixel}"
                    f"{detector_config}}}\nDistance: 0.1\nPoni1: {0.45 * pixel * shape[0]}\nPoni2: {0.52 * pixel * shape[1]}\n"
                    "Rot1: 0\nRot2: 0\nRot3: 0\nWavelength: 1e-10\n")
    return path


def sums_of(annulus, folder, poni, frame, *options):
    """The sum of all valid pixels, how many are invalid, and the summary."""
    output = folder / "out.nxs"
    done = annulus("integrate", "-p", poni, *FEW_BINS, "--overwrite", "--json", "-o", output, *options, frame)
    assert done.returncode == 0, done.stderr
    with h5py.File(output) as file:
        sums = file["entry/reduction/accumulators"]
        total, rest = divmod(int(sums["signal"][()].sum()), 1 << int(sums.attrs["weight_bits"]))
        assert rest == 0
        return total, int(sums["invalid_pixels"][0]), json.loads(done.stdout)


def expected(image, valid):
    return int(image[valid].astype(object).sum()), int((~valid).sum())


@pytest.mark.parametrize("name,shape_said", [("dxtbx/omega_scan.cbf", "Pilatus300k"),
                                             ("gisaxs/jg_gisaxs_4nm_old_3ml_insitu_ds03_00001_00006.cbf", "Pilatus2M")])
def test_marks_of_a_pilatus_are_known_without_its_name(annulus, shared_data, tmp_path, name, shape_said):
    import fabio

    frame = fabio.open(str(shared_data / name))
    image = frame.data
    assert image.min() < 0
    poni = write_poni(tmp_path / "generic.poni", 172e-6, image.shape)
    total, invalid, summary = sums_of(annulus, tmp_path, poni, shared_data / name)
    cutoff = summary["plan"]["max_count"]
    assert (total, invalid) == expected(image, (image >= 0) & (image <= cutoff))
    assert shape_said in summary["from_file"]["dummy"] and "-3 to -1" in summary["from_file"]["dummy"]
    with h5py.File(tmp_path / "out.nxs") as file:
        assert shape_said in file["entry/reduction/input/dummy_from_file"][()].decode()


def test_a_user_has_the_last_word_on_marks(annulus, shared_data, tmp_path):
    import fabio

    name = "dxtbx/omega_scan.cbf"
    image = fabio.open(str(shared_data / name)).data
    poni = write_poni(tmp_path / "generic.poni", 172e-6, image.shape)
    total, invalid, summary = sums_of(annulus, tmp_path, poni, shared_data / name, "--dummy", 5)
    assert (total, invalid) == expected(image, (image != 5) & (abs(image) <= summary["plan"]["max_count"]))
    assert "from_file" not in summary


def test_other_generic_detectors_have_no_marks(annulus, tmp_path):
    image = numpy.arange(-3, 1043 * 981 - 3, dtype="int32").reshape(1043, 981) % 100 - 3
    numpy.save(tmp_path / "frame.npy", image)
    poni = write_poni(tmp_path / "generic.poni", 100e-6, image.shape)
    total, invalid, summary = sums_of(annulus, tmp_path, poni, tmp_path / "frame.npy")
    assert (total, invalid) == expected(image, numpy.ones(image.shape, bool))
    assert "from_file" not in summary


def frame_around(dtype):
    """Small counts, and the values at both ends of the type."""
    info = numpy.iinfo(dtype)
    image = numpy.random.default_rng(5).integers(0, 100, (40, 30)).astype(dtype)
    ends = [info.max - numpy.array(i).astype(dtype) for i in range(4)] + [info.min, 0, 1, 2, 3]
    if numpy.dtype(dtype).itemsize == 8:
        ends = [info.max, 0, 1, 2, 3]  # other large values are refused: they are no 32-bit integers
    image.reshape(-1)[:5 * len(ends)] = numpy.array(ends * 5, dtype)
    return image


@pytest.mark.parametrize("backend", ["cpu", "model", pytest.param("opencl", marks=pytest.mark.release_only)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_the_top_value_of_an_unsigned_type_is_never_a_count(annulus, tmp_path, dtype, backend):
    if backend not in annulus("devices").stdout:
        pytest.skip(f"this build has no {backend}")
    image = frame_around(dtype)
    numpy.save(tmp_path / "frame.npy", image)
    poni = write_poni(tmp_path / "generic.poni", 1e-4, image.shape)
    top = numpy.iinfo(dtype).max
    for options in ([], ["--max-count", top]) if top < 2**63 else ([],):
        total, invalid, _ = sums_of(annulus, tmp_path, poni, tmp_path / "frame.npy", "--backend", backend, *options)
        assert (total, invalid) == expected(image, image != top), options


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"])
@pytest.mark.parametrize("dummy,delta", [
    (-2, 3), (1.5, 0.5), (-70, 70), *(pytest.param(*pair, marks=pytest.mark.release_only) for pair in ((-2, 1.5), (-1, 0), (2, 1)))])
def test_a_dummy_is_compared_by_value_whatever_the_type(annulus, tmp_path, dtype, dummy, delta):
    image = frame_around(dtype)
    if dtype == "int64":
        image = image.clip(-50, 100)
    image.reshape(-1)[-40:-20] = [max(value, numpy.iinfo(dtype).min) for value in range(-10, 10)]
    numpy.save(tmp_path / "frame.npy", image)
    poni = write_poni(tmp_path / "generic.poni", 1e-4, image.shape)
    total, invalid, summary = sums_of(annulus, tmp_path, poni, tmp_path / "frame.npy", "--dummy", dummy, "--delta-dummy", delta)
    values = image.astype(object)
    near = abs(values.astype(float) - dummy) <= delta
    limit = numpy.iinfo(dtype).max - dtype.startswith("u")
    countable = numpy.array([-limit <= value <= limit for value in values.reshape(-1)]).reshape(image.shape)
    assert (total, invalid) == expected(image, countable & ~near.astype(bool)), summary


@pytest.mark.parametrize("dtype", ["float32", "float64"])
# The last is how the largest float32 is printed.
@pytest.mark.parametrize("dummy", [0.1, -1e-3, 1e30, 3.4028235e38, -3.4028235e38])
def test_a_dummy_means_the_pixels_that_hold_it_as_nearly_as_they_can(annulus, tmp_path, dtype, dummy):
    image = numpy.random.default_rng(6).integers(0, 100, (40, 30)).astype(dtype)
    image.reshape(-1)[5:25] = numpy.array(dummy, dtype)
    numpy.save(tmp_path / "frame.npy", image)
    poni = write_poni(tmp_path / "generic.poni", 1e-4, image.shape)
    total, invalid, _ = sums_of(annulus, tmp_path, poni, tmp_path / "frame.npy", "--dummy", dummy)
    assert (total, invalid) == expected(image.clip(-1, 100).astype("int64"), image != numpy.array(dummy, dtype))


@pytest.mark.parametrize("dtype", ["uint64", "int64"])
@pytest.mark.parametrize("options", [["--dummy", 2**53], ["--dummy", 2**53, "--delta-dummy", 1], ["--max-count", 2**53],
                                     ["--max-count", 2**53 + 1]])
def test_large_64_bit_values_are_told_apart(annulus, tmp_path, dtype, options):
    big = 2**53
    image = numpy.zeros((40, 30), dtype)
    image.reshape(-1)[:5] = [big - 1, big, big + 1, big + 2, 7]
    numpy.save(tmp_path / "frame.npy", image)
    poni = write_poni(tmp_path / "generic.poni", 1e-4, image.shape)
    _, invalid, _ = sums_of(annulus, tmp_path, poni, tmp_path / "frame.npy", *options)
    given = dict(zip(options[::2], options[1::2]))
    judged = [value for value in (big - 1, big, big + 1, big + 2, 7)
              if value > given.get("--max-count", big + 2)
              or "--dummy" in given and abs(value - big) <= given.get("--delta-dummy", 0)]
    assert invalid == len(judged)
