"""Output files as importers of other programs read them, which take more for granted than viewers do."""

import h5py
import numpy
import pytest

FRAMES = 4


@pytest.fixture(scope="module", params=["patterns.h5", "patterns.hdf", "cakes.h5", "bad.h5"])
def output(request, annulus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("importers")
    done = annulus("simulate", "-o", folder / "scan", "--detector", "Pilatus100k", "--frames", FRAMES, "--seed", 2)
    assert done.returncode == 0, done.stderr
    options = ["--npt-azim", 6] if request.param == "cakes.h5" else []
    if request.param == "bad.h5":
        options.append("--keep-going")
        damaged = sorted((folder / "scan").glob("*.cbf"))[2]
        damaged.write_bytes(damaged.read_bytes()[:10000])
    path = folder / request.param
    done = annulus("integrate", "-p", next((folder / "scan").glob("*.poni")), "-n", 100, "-u", "2th_deg", "-P", 0.95,
                   "--error-model", "poisson", "-o", path, *options, folder / "scan")
    assert done.returncode in (0, 7), done.stderr
    return path


def columns(file):
    """What GSAS-II looks at: every dataset of one dimension, as long as there are frames."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and item.shape and len(item) == FRAMES and len(item[()].shape) == 1:
            found[name] = item
    file.visititems(visit)
    return found


def test_every_column_can_be_compared_with_its_first_value(output):
    with h5py.File(output, "r") as file:
        found = columns(file)
        assert {"entry/frames/status", "entry/frames/frame_index", "entry/frames/normalization_factor"} <= set(found)
        for name, obj in found.items():
            assert all(obj[0] == obj) in (True, False), name


def test_texts_of_frames_are_read_with_one_more_index(output):
    with h5py.File(output, "r") as file:
        frames = file["entry/frames"]
        assert frames["source"].shape == frames["fault"].shape == (FRAMES, 1)
        assert frames["source"][1, 0].decode().endswith(".cbf")
        assert (frames["fault"][2, 0] != b"") == (output.name == "bad.h5")


def test_gsas_ii_finds_what_it_asks_for(output):
    """Unit, wavelength, axis and intensities, as its importer of NXazint1d and NXazint2d reads them."""
    with h5py.File(output, "r") as file:
        entry = next(key for key in file if file[key].attrs["NX_class"] == "NXentry")
        classes = {}

        def visit(_, item):
            classes[item.attrs.get("NX_class")] = item
        file[entry].visititems(visit)
        parameters = classes["NXparameters"]
        assert file[entry]["definition"][()].decode() in ("NXazint1d", "NXazint2d")
        assert parameters["unit"][()].decode() == "2th"
        assert parameters["unit_option"][()].decode() == "2th_deg"
        assert float(parameters["polarization_factor"][()]) == 0.95
        assert float(classes["NXmonochromator"]["wavelength"][()]) > 0
        assert classes["NXinstrument"]["name"][()].decode() and classes["NXsource"]["name"][()].decode()
        data = classes["NXdata"]
        axis, intensity, errors = (numpy.array(data[name]) for name in ("radial_axis", "I", "I_errors"))
        assert len(intensity) == FRAMES and intensity.shape == errors.shape and intensity.shape[-1] == len(axis)
        if output.name == "cakes.h5":
            assert int(parameters["azimuth_bins"][()]) == len(data["azimuthal_axis"]) == intensity.shape[1]
        else:
            assert "azimuth_bins" not in parameters
