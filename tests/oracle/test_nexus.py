"""Output files as other programs see them: the NeXus definition, h5py and silx."""

import glob
import shutil

import h5py
import numpy
import pytest
import silx.io
import silx.io.nxdata

from nexus_check import check

FRAMES = 5
BINS = 200
SUMS = "entry/reduction/accumulators"


@pytest.fixture(scope="module")
def scan(annulus, tmp_path_factory):
    """A small simulated scan: its geometry and its frames."""
    folder = tmp_path_factory.mktemp("scan")
    result = annulus("simulate", "-o", folder, "--detector", "Pilatus100k", "--frames", FRAMES, "--seed", 1)
    assert result.returncode == 0, result.stderr
    return glob.glob(f"{folder}/*.poni")[0], sorted(glob.glob(f"{folder}/*.cbf"))


@pytest.fixture(scope="module")
def integrate(annulus, scan):
    def run(output, *options):
        poni, frames = scan
        return annulus("integrate", "-p", poni, "-n", BINS, "-o", output, *options, *frames)
    return run


@pytest.fixture(scope="module")
def output(integrate, tmp_path_factory):
    path = tmp_path_factory.mktemp("nexus") / "out.nxs"
    result = integrate(path, "--error-model", "poisson")
    assert result.returncode == 0, result.stderr
    return path


def test_conforms_to_the_definition(output):
    assert check(output) == []


def test_conforms_without_errors_too(integrate, tmp_path):
    assert integrate(tmp_path / "out.nxs").returncode == 0
    assert check(tmp_path / "out.nxs") == []
    with h5py.File(tmp_path / "out.nxs", "r") as file:
        assert "I_errors" not in file["entry/data"]


def test_silx_finds_the_default_plot_with_its_errors(output):
    with silx.io.open(str(output)) as file:
        plot = silx.io.nxdata.get_default(file)
        assert plot is not None and plot.is_valid, plot and plot.issues
        assert plot.signal_name == "intensity"
        assert plot.interpretation == "spectrum"
        assert plot.axes_dataset_names == [None, "radial_axis"]
        assert plot.errors is not None and plot.errors.shape == plot.signal.shape == (FRAMES, BINS)


def test_h5py_reads_flags_as_booleans_and_texts_as_text(output):
    with h5py.File(output, "r") as file:
        entry = file["entry"]
        assert entry["solid_angle_applied"][()] is numpy.True_
        assert entry["polarization_applied"][()] is numpy.False_
        assert entry["normalization_applied"][()] is numpy.True_
        assert entry["definition"].asstr()[()] == "NXazint1d"
        assert entry["data"].attrs["signal"] == "I"
        assert "Distance" in entry["reduction/input/poni"].asstr()[()]


def test_each_frame_has_its_row_with_its_source(output, scan):
    with h5py.File(output, "r") as file:
        frames = file["entry/frames"]
        assert list(frames["frame_index"]) == list(range(FRAMES))
        assert list(frames["status"]) == [0] * FRAMES
        assert [source.decode() for source in frames["source"][:, 0]] == scan[1]
        assert {frames[name].shape[0] for name in frames} == {FRAMES}
        assert numpy.isfinite(file["entry/data/I"][()]).any(axis=1).all()


def recompute(sums, factors):
    """Intensities and errors, as the file's own description says."""
    attrs = sums.attrs
    weight, variance_bits, norm_bits, dark_bits = (
        int(attrs[name]) for name in ("weight_bits", "variance_bits", "normalization_bits", "dark_bits"))
    fraction = sums["fraction_bits"][()].astype(int)[:, None]
    count = sums["count"][()] - sums["missing_count"][()]
    norm = (sums["normalization"][()] - sums["missing_normalization"][()]).astype(float)
    norm = norm * 2.0 ** -(weight + norm_bits) * factors[:, None]
    signal = sums["signal"][()].astype(float) * 2.0 ** -(weight + fraction)
    if "dark" in sums:
        signal -= (sums["dark"][()] - sums["missing_dark"][()]).astype(float) * 2.0 ** -(weight + dark_bits)
    empty = (count == 0) | (norm == 0)
    with numpy.errstate(all="ignore"):
        intensity = numpy.where(empty, numpy.nan, signal / norm)
        variance = sums["variance"][()].astype(float) * 2.0 ** -(variance_bits + fraction)
        return intensity, numpy.where(empty, numpy.nan, numpy.sqrt(variance) / norm)


def test_patterns_follow_bit_for_bit_from_the_stored_integers(output):
    with h5py.File(output, "r") as file:
        intensity, errors = recompute(file[SUMS], file["entry/frames/normalization_factor"][()])
        numpy.testing.assert_array_equal(file["entry/data/I"][()], intensity)
        numpy.testing.assert_array_equal(file["entry/data/I_errors"][()], errors)


def test_norm_is_the_normalisation_of_the_plan(output):
    with h5py.File(output, "r") as file:
        attrs = file[SUMS].attrs
        unit = 2.0 ** -(int(attrs["weight_bits"]) + int(attrs["normalization_bits"]))
        numpy.testing.assert_array_equal(file["entry/data/norm"][()], file[f"{SUMS}/normalization"][()] * unit)


def test_growing_datasets_suit_swmr(output):
    with h5py.File(output, "r") as file:
        for name in ("entry/data/I", "entry/frames/source", f"{SUMS}/signal"):
            dataset = file[name]
            assert dataset.maxshape[0] is None and dataset.chunks is not None, name
            assert h5py.check_vlen_dtype(dataset.dtype) is None, name
    with h5py.File(output, "r", swmr=True) as file:
        assert file["entry/data/I"].shape == (FRAMES, BINS)


def test_an_existing_file_is_refused_appended_or_replaced(integrate, tmp_path):
    path = tmp_path / "out.nxs"

    def frames():
        with h5py.File(path, "r") as file:
            return list(file["entry/frames/frame_index"])

    assert integrate(path).returncode == 0
    refused = integrate(path)
    assert refused.returncode != 0 and "--overwrite" in refused.stderr and "--append" in refused.stderr
    assert frames() == list(range(FRAMES))
    again = integrate(path, "--append")
    assert again.returncode == 0 and f"{FRAMES} frames were in the output already" in again.stdout
    assert frames() == list(range(FRAMES))
    assert check(path) == []
    assert integrate(path, "--append", "--error-model", "poisson").returncode != 0
    assert frames() == list(range(FRAMES))
    assert integrate(path, "--overwrite").returncode == 0
    assert frames() == list(range(FRAMES))


AZIMUTHS = 24


@pytest.fixture(scope="module")
def cakes(integrate, tmp_path_factory):
    path = tmp_path_factory.mktemp("cakes") / "out.nxs"
    result = integrate(path, "--error-model", "poisson", "--npt-azim", AZIMUTHS)
    assert result.returncode == 0, result.stderr
    return path


def test_cakes_conform_to_their_definition(cakes):
    assert check(cakes) == []
    with h5py.File(cakes, "r") as file:
        assert file["entry/definition"].asstr()[()] == "NXazint2d"
        assert file["entry/data/azimuthal_axis"].attrs["units"] == "degrees"
        assert file["entry/data/norm"].shape == (AZIMUTHS, BINS)


def test_silx_shows_a_cake_as_an_image_with_its_axes(cakes):
    with silx.io.open(str(cakes)) as file:
        plot = silx.io.nxdata.get_default(file)
        assert plot is not None and plot.is_valid, plot and plot.issues
        assert plot.interpretation == "image"
        assert plot.axes_dataset_names == [None, "azimuthal_axis", "radial_axis"]
        assert plot.errors.shape == plot.signal.shape == (FRAMES, AZIMUTHS, BINS)


def test_cakes_follow_bit_for_bit_from_the_stored_integers(annulus, cakes):
    with h5py.File(cakes, "r") as file:
        sums = {name: value[()] for name, value in file[SUMS].items()}
        flat = FlatSums(sums, file[SUMS].attrs)
        intensity, errors = recompute(flat, file["entry/frames/normalization_factor"][()])
        shape = (FRAMES, AZIMUTHS, BINS)
        numpy.testing.assert_array_equal(file["entry/data/I"][()], intensity.reshape(shape))
        numpy.testing.assert_array_equal(file["entry/data/I_errors"][()], errors.reshape(shape))
    verified = annulus("verify", cakes)
    assert verified.returncode == 0, verified.stderr


class FlatSums(dict):
    """The accumulators of cakes as those of patterns with all bins in a row."""

    def __init__(self, sums, attrs):
        super().__init__()
        self.attrs = attrs
        for name, value in sums.items():
            per_frame = value.shape[:1] if value.ndim != 2 else ()
            self[name] = numpy.asarray(value) if value.ndim == 1 else value.reshape(*per_frame, -1)


def test_cakes_are_appended_to_cakes_only(annulus, scan, integrate, tmp_path):
    path = tmp_path / "out.nxs"
    azimuthal = ("--npt-azim", AZIMUTHS)
    assert integrate(path, *azimuthal).returncode == 0
    poni, frames = scan
    copy = shutil.copy(frames[0], tmp_path / "copy.cbf")
    more = annulus("integrate", "-p", poni, "-n", BINS, "-o", path, *azimuthal, "--append", *frames, copy)
    assert more.returncode == 0, more.stderr
    with h5py.File(path, "r") as file:
        assert file["entry/data/I"].shape == (FRAMES + 1, AZIMUTHS, BINS)
        assert file["entry/frames/status"].shape == (FRAMES + 1,)
    assert check(path) == []
    for options, words in (((), "cakes"), (("--npt-azim", AZIMUTHS + 1), "azimuthal bins"),
                           ((*azimuthal, "--chi-discontinuity", 0), "another plan")):
        refused = integrate(path, *options, "--append")
        assert refused.returncode != 0 and words in refused.stderr, refused.stderr


def test_what_makes_no_cake_is_refused_in_words(annulus, integrate, cakes, tmp_path):
    for options, words in ((("--npt-azim", 4, "--format", "xy"), "no cake"), (("--npt-azim", 0), "0 bins"),
                           (("--npt-azim", 4, "--chi-discontinuity", 90), "90 degrees"),
                           (("--chi-discontinuity", 0), "--npt-azim"), (("--npt-azim", 1 << 20), "more than"),
                           (("--npt-azim", 36, "--backend", "model"), f"{BINS} x 36 = {BINS * 36} bins")):
        refused = integrate(tmp_path / "none", *options)
        assert refused.returncode != 0 and words in refused.stderr, refused.stderr
        assert not (tmp_path / "none").exists()
    stack = annulus("plot", cakes, "--stack", "-o", tmp_path / "none.png")
    assert stack.returncode != 0 and "--frame" in stack.stderr, stack.stderr


def test_a_cake_is_drawn(annulus, cakes, tmp_path):
    for name, options in (("mean.png", ()), ("one.svg", ("--frame", 2, "--scale", "log"))):
        drawn = annulus("plot", cakes, "-o", tmp_path / name, *options)
        assert drawn.returncode == 0, drawn.stderr
        assert (tmp_path / name).stat().st_size > 5000


def remove(name):
    def change(file):
        del file[name]
    return change


def set_attribute(name, attribute, value):
    def change(file):
        file[name].attrs[attribute] = value
    return change


def replace(name, value):
    def change(file):
        attrs = dict(file[name].attrs)
        del file[name]
        file[name] = value
        file[name].attrs.update(attrs)
    return change


def cut(name, length):
    return lambda file: replace(name, file[name][:length])(file)


DEFECTS = {
    "no definition": (remove("entry/definition"), "no field definition"),
    "another definition": (replace("entry/definition", "NXmonopd"), "NXmonopd"),
    "no flag": (remove("entry/polarization_applied"), "polarization_applied"),
    "flag is text": (replace("entry/solid_angle_applied", "yes"), "not a boolean"),
    "no instrument": (remove("entry/instrument"), "NXinstrument"),
    "no source": (remove("entry/instrument/source"), "NXsource"),
    "no probe": (remove("entry/instrument/source/probe"), "probe"),
    "no wavelength": (remove("entry/instrument/monochromator/wavelength"), "wavelength"),
    "wavelength in m": (set_attribute("entry/instrument/monochromator/wavelength", "units", "m"), "@units"),
    "energy does not fit": (replace("entry/instrument/monochromator/energy", 1.0), "wavelength * energy"),
    "no reduction": (remove("entry/reduction"), "reduction"),
    "date": (replace("entry/reduction/date", "yesterday"), "ISO 8601"),
    "no parameters": (remove("entry/reduction/input"), "NXparameters"),
    "no data": (remove("entry/data"), "NXdata"),
    "no signal": (remove("entry/data/I"), "no field I"),
    "signal unnamed": (set_attribute("entry/data", "signal", "J"), "@signal"),
    "axes": (set_attribute("entry/data", "axes", ["radial_axis"]), "@axes"),
    "interpretation": (set_attribute("entry/data", "interpretation", "image"), "@interpretation"),
    "no axis": (remove("entry/data/radial_axis"), "radial_axis"),
    "short axis": (cut("entry/data/radial_axis", BINS - 1), "shape"),
    "axis in apples": (set_attribute("entry/data/radial_axis", "units", "apples"), "apples"),
    "short edges": (cut("entry/data/radial_axis_edges", BINS), "shape"),
    "short errors": (cut("entry/data/I_errors", FRAMES - 1), "shape"),
    "no default at the root": (set_attribute("/", "default", "nothing"), "@default"),
    "no default in the entry": (set_attribute("entry", "default", "reduction"), "@default"),
}


CAKE_DEFECTS = {
    "no azimuths": (remove("entry/data/azimuthal_axis"), "azimuthal_axis"),
    "short azimuths": (cut("entry/data/azimuthal_axis", AZIMUTHS - 1), "shape"),
    "azimuths in apples": (set_attribute("entry/data/azimuthal_axis", "units", "apples"), "apples"),
    "another definition": (replace("entry/definition", "NXazint1d"), "@axes"),
    "axes": (set_attribute("entry/data", "axes", [".", "radial_axis", "azimuthal_axis"]), "@axes"),
    "interpretation": (set_attribute("entry/data", "interpretation", "spectrum"), "@interpretation"),
}


@pytest.mark.parametrize("defect", CAKE_DEFECTS)
def test_the_check_complains_of_cakes_with(defect, cakes, tmp_path):
    change, words = CAKE_DEFECTS[defect]
    shutil.copy(cakes, tmp_path / "defect.nxs")
    with h5py.File(tmp_path / "defect.nxs", "r+") as file:
        change(file)
    problems = check(tmp_path / "defect.nxs")
    assert any(words in problem for problem in problems), problems


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_check_complains_of(defect, output, tmp_path):
    change, words = DEFECTS[defect]
    path = tmp_path / "defect.nxs"
    shutil.copy(output, path)
    with h5py.File(path, "r+") as file:
        change(file)
    problems = check(path)
    assert any(words in problem for problem in problems), problems
