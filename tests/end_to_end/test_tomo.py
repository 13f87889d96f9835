"""Tomograms of XRD-CT scans, against back-projection in NumPy, analytic discs and simulated phantoms."""

import json
import os
import pathlib
import signal
import subprocess
import time

import h5py
import numpy
import pytest

from xrd_ct_scans import BINS, DISCS, PONI, back_project, integrate, intensities, patterns, raster, write_table

USAGE, INPUT, OUTPUT, INTERRUPTED = 2, 3, 5, 130
COLUMNS = ["--angle", "rot", "--translation", "x"]


class Volume:
    def __init__(self, path):
        with h5py.File(path) as file:
            self.data = file["/entry/data/data"][()]
            self.x, self.y, self.z = (file[f"/entry/data/{name}"][()] for name in "xyz")
            units = {name: file[f"/entry/data/{name}"].attrs.get("units") for name in "xyz"}
            self.units = {name: unit and unit.decode() for name, unit in units.items()}
            self.facts = {name: item[()] for name, item in file["/entry/reconstruction/parameters"].items()}
            self.sinogram = file["/entry/sinogram/data"][()] if "sinogram" in file["/entry"] else None


@pytest.fixture
def tomo(annulus, tmp_path):
    """Runs the command and reads what it wrote."""
    def run(scan, *options, columns=COLUMNS, name="tomo.nxs"):
        done = annulus("tomo", scan, "-o", tmp_path / name, *columns, "--json", *options)
        assert done.returncode == 0, done.stderr
        volume = Volume(tmp_path / name)
        volume.report = json.loads(done.stdout)
        volume.messages = done.stderr
        return volume

    return run


@pytest.fixture(scope="module")
def scan(annulus, tmp_path_factory):
    degrees, places = raster()
    return integrate(annulus, tmp_path_factory.mktemp("scan"), intensities(degrees, places), {"rot [deg]": degrees, "x [mm]": places})


def every_dataset(path):
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: (item.dtype.str, item.shape, item[()].tobytes()
                                                               if isinstance(item[()], (numpy.ndarray, numpy.generic)) else item[()])})
                        if isinstance(item, h5py.Dataset) and not name.endswith("date") else None)
    return found


def assert_close(found, expected, part=1e-5):
    for each in range(expected.shape[2]):
        largest = numpy.abs(expected[:, :, each]).max()
        deviation = numpy.abs(found[:, :, each] - expected[:, :, each]).max()
        assert deviation <= part * largest, f"bin {each}: {deviation / largest:.2e} of the maximum"
    assert numpy.abs(expected).max() > 0


def truth(volume, axis_at=0.0):
    """The pattern at each voxel and whether it lies inside one disc or set of discs, away from edges."""
    step = 0.02
    x, y = numpy.meshgrid(volume.x / step, volume.y / step)
    expected, inner = numpy.zeros(volume.data.shape), numpy.ones(x.shape, bool)
    for (cx, cy, radius, *_), pattern in zip(DISCS, patterns()):
        distance = numpy.hypot(x - cx, y - cy)
        expected[distance < radius] += pattern
        inner &= numpy.abs(distance - radius) > 1.5
    return expected, inner & (expected.sum(axis=2) > 0)


def test_a_volume_is_the_back_projection_of_the_stored_intensities(scan, tomo):
    volume = tomo(scan, "--keep-sinogram", "--centre", 0)
    with h5py.File(scan) as file:
        stored = file["/entry/data/I"][()].reshape(45, 40, BINS)
        radial = file["/entry/data/radial_axis"]
        assert numpy.array_equal(volume.z, radial[()]) and volume.units["z"] == radial.attrs["units"]
        assert volume.facts["plan_hash"] == file["/entry/reduction/input/plan_hash"][()]
    assert volume.data.dtype == numpy.float32 and volume.data.shape == (40, 40, BINS)
    assert numpy.array_equal(volume.sinogram, stored.astype(numpy.float32))
    assert_close(volume.data, back_project(stored, numpy.arange(45) * 4.0, 20))
    numpy.testing.assert_allclose(volume.x, (numpy.arange(40) - 20) * 0.02, atol=1e-12)
    assert numpy.array_equal(volume.x, volume.y) and volume.units["x"] == volume.units["y"] == "mm"
    assert volume.facts["method"] == b"fbp" and volume.facts["way"] == b"direct" and volume.facts["interpolation"] == b"linear"
    assert volume.facts["centre"] == 0 and not volume.facts["centre_found"]
    assert volume.report["seconds"].keys() == {"reading", "cleaning", "reconstructing", "writing"}


def test_patterns_of_voxels_are_those_of_the_discs(scan, tomo):
    volume = tomo(scan, "--air", 3)
    expected, inner = truth(volume)
    assert inner.sum() > 200
    deviation = numpy.abs(volume.data - expected)[inner] / expected.max()
    assert deviation.mean() < 0.02 and numpy.quantile(deviation, 0.99) < 0.15


@pytest.mark.parametrize("order", ["zigzag", "interleaved", "translation first", "shuffled"])
def test_the_order_of_frames_does_not_matter(annulus, scan, tomo, tmp_path, order):
    degrees, places = raster()
    index = numpy.arange(45 * 40).reshape(45, 40)
    if order == "zigzag":
        index[1::2] = index[1::2, ::-1]
    elif order == "interleaved":
        index = numpy.concatenate([index[::2], index[1::2]])
    elif order == "translation first":
        index = index.T
    index = numpy.random.default_rng(4).permutation(index.ravel()) if order == "shuffled" else index.ravel()
    other = integrate(annulus, tmp_path, intensities(degrees, places)[index], {"rot [deg]": degrees[index], "x [mm]": places[index]})
    assert numpy.array_equal(tomo(other).data, tomo(scan, name="b.nxs").data)


@pytest.mark.parametrize("zigzag", ["none", "odd", "even"])
def test_a_shape_instead_of_columns(annulus, scan, tomo, tmp_path, zigzag):
    index = numpy.arange(45 * 40).reshape(45, 40)
    first = {"none": 45, "odd": 1, "even": 0}[zigzag]
    index[first::2] = index[first::2, ::-1]
    other = integrate(annulus, tmp_path, intensities(*raster())[index.ravel()], {})
    shaped = tomo(other, columns=["--shape", "45,40", "--zigzag", zigzag, "--angle-range", 180])
    assert numpy.array_equal(shaped.data, tomo(scan, name="b.nxs").data)
    assert numpy.array_equal(shaped.x, numpy.arange(40) - 20) and shaped.units["x"] is None


def test_blocks_of_bins_change_no_byte(annulus, tomo, tmp_path):
    degrees, places = raster()
    random = numpy.random.default_rng(5)
    values = intensities(degrees, places, centre=0.013, bins=300)
    values[random.random(values.shape) < 0.002] = -1  # invalid pixels
    values[:40 * 3, 17] = -1  # a bin has nothing in three projections
    measured = random.random(len(values)) < 0.95
    scan = integrate(annulus, tmp_path, values[measured], {"rot [deg]": degrees[measured], "x [mm]": places[measured]}, bins=303)
    options = ["--air", 2, "--air-use", "scale", "--stripes", "--keep-sinogram"]
    whole = tomo(scan, *options, "--memory", 512)
    assert whole.report["blocks"] == 1 and whole.report["filled_cells"] > 50 and whole.report["filled_values"] > 500
    assert "of 300 bins have a value in every cell" in whole.messages
    assert whole.report["empty_bins"] == [300, 301, 302] and not whole.data[:, :, 300:].any() and whole.data[:, :, 17].any()
    for memory, threads in ((4, 1), (2, 2)):
        blocks = tomo(scan, *options, "--memory", memory, "--threads", threads, name="blocks.nxs")
        assert blocks.report["blocks"] > 1
        assert every_dataset(tmp_path / "blocks.nxs") == every_dataset(tmp_path / "tomo.nxs")
        os.remove(tmp_path / "blocks.nxs")


@pytest.mark.parametrize("memory", [512, 1])
def test_bins_that_are_missing_in_some_cells_move_no_axis_and_scale_nothing(annulus, tomo, tmp_path, memory):
    """Half of the bins are invalid where the beam meets the left half of the scan at the first angles."""
    degrees, places = raster()
    values = intensities(degrees, places, centre=0.0067, bins=60, air=200.0)
    whole = integrate(annulus, tmp_path, values, {"rot [deg]": degrees, "x [mm]": places}, name="whole")
    holes = (places < 0) & (degrees < 90)
    values[numpy.ix_(holes, numpy.arange(20, 50))] = -1
    scan = integrate(annulus, tmp_path, values, {"rot [deg]": degrees, "x [mm]": places}, name="holes")
    expected = tomo(whole, "--air", 3, "--air-use", "scale", "--keep-sinogram", name="whole_tomo.nxs")
    found = tomo(scan, "--air", 3, "--air-use", "scale", "--keep-sinogram", "--memory", memory)
    assert found.report["centre"] == pytest.approx(expected.report["centre"], abs=0.001)
    numpy.testing.assert_allclose(found.sinogram[:, :, :20], expected.sinogram[:, :, :20], rtol=1e-5)


def test_without_a_bin_that_all_cells_have_the_axis_is_still_found(annulus, tomo, tmp_path):
    degrees, places = raster()
    values = intensities(degrees, places, centre=0.0067, bins=60)
    values[numpy.arange(len(values)), numpy.arange(len(values)) % 60] = -1
    scan = integrate(annulus, tmp_path, values, {"rot [deg]": degrees, "x [mm]": places})
    found = tomo(scan)
    assert "no bin has a value in every cell" in found.messages
    assert found.report["centre"] == pytest.approx(0.0067, abs=0.002)


def test_a_sample_that_leaves_the_scan_is_told(annulus, scan, tomo, tmp_path):
    words = "the sample leaves the scan"
    random = numpy.random.default_rng(9)
    degrees, places = raster()
    noisy = integrate(annulus, tmp_path, random.poisson(intensities(degrees, places)), {"rot [deg]": degrees, "x [mm]": places}, name="noisy")
    assert words not in tomo(scan).messages and words not in tomo(noisy, name="noisy_tomo.nxs").messages
    degrees, places = raster(positions=24, first=-0.2)
    narrow = integrate(annulus, tmp_path, random.poisson(intensities(degrees, places)), {"rot [deg]": degrees, "x [mm]": places}, name="narrow")
    found = tomo(narrow, "--air", 2, name="narrow_tomo.nxs")
    assert words in found.messages and "--centre" in found.messages and any(words in each for each in found.report["warnings"])
    given = tomo(narrow, "--centre", 0, name="given.nxs")
    assert words in given.messages and "--centre" not in given.messages


def test_frames_and_angles_that_are_left_out_are_told(annulus, tmp_path):
    degrees, places = raster(angles=20)
    row = numpy.repeat(numpy.arange(20), 40)
    values, turned = intensities(degrees, places), degrees.copy()
    turned[5] = numpy.nan
    monitor = numpy.where(row == 7, numpy.nan, 1.0)  # makes frames bad
    scan = integrate(annulus, tmp_path, values, {"rot [deg]": turned, "x [mm]": places, "I0": monitor},
                     options=["--keep-going", "--monitor", f"beam={tmp_path / 'scan.csv'}#I0"])
    done = annulus("tomo", scan, "-o", tmp_path / "tomo.nxs", *COLUMNS, "--centre", 0)
    assert done.returncode == 0, done.stderr
    assert "41 frames left out: bad or without a position" in done.stdout
    assert "1 angle has no good frame and is left out: 63 degrees" in done.stderr


def test_a_rotation_through_several_turns(annulus, tomo, tmp_path):
    """Helical: the rotation goes on, and the translation makes a step per turn."""
    for unit, factor in (("deg", 1.0), ("rad", numpy.pi / 180)):
        turns, angles = 5, 40
        degrees = numpy.arange(turns * angles) * 360.0 / angles
        places = numpy.repeat(-0.2 + 0.1 * numpy.arange(turns), angles)
        values = intensities(degrees, places)
        helical = integrate(annulus, tmp_path, values, {f"rot [{unit}]": degrees * factor, "x [mm]": places}, name=f"helical_{unit}")
        turned = integrate(annulus, tmp_path, values, {f"rot [{unit}]": degrees % 360 * factor, "x [mm]": places}, name=f"turned_{unit}")
        found = tomo(helical, "--centre", 0, name=f"a_{unit}.nxs")
        assert found.data.shape == (5, 5, BINS) and found.report["angles"] == angles and found.report["filled_cells"] == 0
        assert_close(found.data, tomo(turned, "--centre", 0, name=f"b_{unit}.nxs").data.astype(float), 1e-6)


def test_missing_points_are_interpolated_and_doubled_points_averaged(annulus, tomo, tmp_path):
    degrees, places = raster()
    values = intensities(degrees, places)
    random = numpy.random.default_rng(6)
    measured = random.random(len(values)) < 0.9
    measured[3 * 40:4 * 40] = False  # a whole angle
    measured[7 * 40 + 5:8 * 40] = False  # and most of another
    kept = numpy.flatnonzero(measured)
    twice = kept[::50]
    index = numpy.concatenate([kept, twice])
    scan = integrate(annulus, tmp_path, values[index], {"rot [deg]": degrees[index], "x [mm]": places[index]})
    volume = tomo(scan, "--centre", 0, "--keep-sinogram")
    rows = [row for row in range(45) if row not in (3, 7)]
    expected = numpy.stack([[numpy.interp(numpy.arange(40), numpy.flatnonzero(measured[row * 40:row * 40 + 40]),
                                          values[row * 40:row * 40 + 40, bin][measured[row * 40:row * 40 + 40]])
                             for bin in range(BINS)] for row in rows]).transpose(0, 2, 1)
    numpy.testing.assert_allclose(volume.sinogram, expected, rtol=1e-6)
    assert_close(volume.data, back_project(expected, numpy.array(rows) * 4.0, 20))
    assert volume.report["left_out_projections"] == 1 and "1 of 44 projections" in volume.messages
    assert volume.report["doubled_cells"] == len(twice)
    assert volume.report["filled_cells"] == 43 * 40 - measured.reshape(45, 40)[rows].sum()


def test_bad_frames_have_no_say_in_where_the_scan_went(annulus, scan, tomo, tmp_path):
    """Parked while the monitor counted nothing, in the middle of the scan and at its end."""
    degrees, places = raster()
    values = intensities(degrees, places)
    parked = {"rot [deg]": numpy.concatenate([degrees[:900], [170.5], degrees[900:], [400.0]]),
              "x [mm]": numpy.concatenate([places[:900], [0.411], places[900:], [0.6]]),
              "I0": numpy.concatenate([numpy.ones(900), [0.0], numpy.ones(900), [0.0]])}
    values = numpy.concatenate([values[:900], values[:1], values[900:], values[:1]])
    path = integrate(annulus, tmp_path, values, parked, options=["--keep-going", "--monitor", "I0"])
    found, expected = tomo(path), tomo(scan, name="b.nxs")
    assert numpy.array_equal(found.data, expected.data) and numpy.array_equal(found.x, expected.x)
    assert found.report["frames_without_cell"] == 2 and not found.report["resampled"] and found.report["filled_cells"] == 0
    done = annulus("map", path, "-o", tmp_path / "map.nxs", "--y", "rot", "--x", "x", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["columns"] == 40 and json.loads(done.stdout)["rows"] == 45, done.stderr


@pytest.mark.parametrize("stray", [0.5, -0.411, 0.011])
def test_a_stray_frame_is_no_position(annulus, scan, tomo, tmp_path, stray):
    degrees, places = raster()
    values = intensities(degrees, places)
    columns = {"rot [deg]": numpy.append(degrees, degrees[900]), "x [mm]": numpy.append(places, stray)}
    found = tomo(integrate(annulus, tmp_path, numpy.vstack([values, values[900:901]]), columns))
    expected = tomo(scan, name="b.nxs")
    assert numpy.array_equal(found.data, expected.data) and numpy.allclose(found.x, expected.x, atol=1e-12)
    assert f"column x has 1 position that hardly any angle has, left out with 1 frame: {stray:g} mm" in found.messages
    assert not found.report["resampled"]


@pytest.mark.parametrize("method", ["fbp", "sirt"])
def test_a_position_that_no_angle_has_is_missing_in_all(annulus, tomo, tmp_path, method):
    degrees, places = raster()
    kept = numpy.repeat([[False if column in (17, 30, 31) else True for column in range(40)]], 45, axis=0).ravel()
    values = intensities(degrees, places)
    path = integrate(annulus, tmp_path, values[kept], {"rot [deg]": degrees[kept], "x [mm]": places[kept]})
    found = tomo(path, "--centre", 0, "--keep-sinogram", *([] if method == "fbp" else ["--method", "sirt", "--iterations", 5]))
    assert found.report["positions"] == 40 and not found.report["resampled"] and found.report["step"] == pytest.approx(0.02)
    assert "3 of 40 positions of column x, one step apart, have no frame at any angle: -0.06, 0.2, 0.22 mm" in found.messages
    whole = values.reshape(45, 40, BINS)
    measured = kept.reshape(45, 40)[0]
    assert numpy.array_equal(found.sinogram[:, measured], whole[:, measured].astype(numpy.float32))
    if method == "sirt":
        assert numpy.isnan(found.sinogram[:, ~measured]).all()
        return
    expected = whole.copy()
    expected[:, 17] = (whole[:, 16] + whole[:, 18]) / 2
    for column, part in ((30, 1 / 3), (31, 2 / 3)):
        expected[:, column] = whole[:, 29] + part * (whole[:, 32] - whole[:, 29])
    assert_close(found.data, back_project(expected, numpy.arange(45) * 4.0, 20))


def test_dense_beside_sparse_angles_are_not_averaged_without_a_word(annulus, tomo, tmp_path):
    places = -0.4 + 0.02 * numpy.arange(40)
    for name, dense, refused in (("many", 100, True), ("few", 9, False)):
        angles = numpy.concatenate([numpy.arange(dense) * 0.5, dense * 0.5 + numpy.arange(22) * 6.0])
        degrees, at = numpy.repeat(angles, 40), numpy.tile(places, len(angles))
        path = integrate(annulus, tmp_path, intensities(degrees, at, air=0), {"rot [deg]": degrees, "x [mm]": at}, name=name)
        done = annulus("tomo", path, "-o", tmp_path / f"{name}_tomo.nxs", *COLUMNS, "--centre", 0)
        assert done.returncode == (INPUT if refused else 0) and "--angle-tolerance" in done.stderr and "column rot" in done.stderr
        if refused:
            assert "values that differ by 50 would count as the same" in done.stderr
            done = annulus("map", path, "-o", tmp_path / "map.nxs", "--y", "rot", "--x", "x")
            assert done.returncode == INPUT and "--y-tolerance" in done.stderr
        else:
            assert "frames of one cell are up to 4.5 deg apart" in done.stderr and "40 cells have several frames" in done.stdout
        found = tomo(path, "--centre", 0, "--angle-tolerance", 0.1, name=f"{name}_right.nxs")
        assert found.report["angles"] == len(angles) and "apart" not in found.messages


def test_a_scan_that_was_made_twice_is_averaged_without_a_warning(annulus, tomo, tmp_path):
    degrees, places = (numpy.tile(each, 2) for each in raster())
    noise = numpy.random.default_rng(12).normal(0, 2e-3, len(degrees))
    path = integrate(annulus, tmp_path, intensities(degrees, places), {"rot [deg]": degrees + noise, "x [mm]": places})
    found = tomo(path)
    assert found.report["doubled_cells"] == 45 * 40 and found.report["warnings"] == []


def test_uneven_steps_are_resampled(annulus, tomo, tmp_path):
    degrees, _ = raster()
    places = numpy.tile(numpy.sort(numpy.concatenate([numpy.linspace(-0.4, 0.4, 29), numpy.linspace(-0.1, 0.1, 11) + 0.003])), 45)
    values = intensities(degrees, places)
    scan = integrate(annulus, tmp_path, values, {"rot [deg]": degrees, "x [mm]": places})
    volume = tomo(scan, "--centre", 0, "--keep-sinogram", "--translation-tolerance", 1e-6)
    even = numpy.linspace(-0.4, 0.4, 40)
    expected = numpy.stack([[numpy.interp(even, places[:40], row[:, bin]) for bin in range(BINS)]
                            for row in values.reshape(45, 40, BINS)]).transpose(0, 2, 1)
    numpy.testing.assert_allclose(volume.sinogram, expected, rtol=2e-6)
    assert volume.report["resampled"] and volume.report["unevenness"] > 1
    assert "positions are off even ones by up to" in volume.messages and "smooths" in volume.messages
    assert_close(volume.data, back_project(expected, numpy.arange(45) * 4.0, 19.5))


def test_jitter_is_resampled_projection_by_projection(annulus, tomo, tmp_path):
    degrees, places = raster(angles=90)
    places = places + numpy.random.default_rng(7).uniform(-0.008, 0.008, len(places))  # 0.4 steps
    scan = integrate(annulus, tmp_path, intensities(degrees, places), {"rot [deg]": degrees, "x [mm]": places})
    volume = tomo(scan, "--air", 2, "--translation-step", 0.02, "--angle-tolerance", 0.1)
    assert volume.report["resampled"] and volume.report["angles"] == 90
    expected, inner = truth(volume)
    found, wanted = volume.data[inner].ravel(), expected[inner].ravel()
    assert numpy.corrcoef(found, wanted)[0, 1] > 0.985
    assert numpy.abs(volume.report["centre"]) < 0.01


def test_small_noise_of_motors_is_not_resampled(annulus, scan, tomo, tmp_path):
    degrees, places = raster()
    noise = numpy.random.default_rng(8).normal(0, 1e-5, (2, len(places)))
    noisy = integrate(annulus, tmp_path, intensities(degrees, places), {"rot [deg]": degrees + noise[0], "x [mm]": places + noise[1]})
    volume = tomo(noisy)
    assert not volume.report["resampled"]
    assert_close(volume.data, tomo(scan, name="b.nxs").data.astype(float), 2e-3)


@pytest.mark.parametrize("turn", [180.0, 360.0])
@pytest.mark.parametrize("centre", [0.0, 0.031, -0.0467])
def test_the_axis_is_found(annulus, tomo, tmp_path, turn, centre):
    degrees, places = raster(angles=60, positions=48, angle_range=turn, first=-0.48)
    scan = integrate(annulus, tmp_path, intensities(degrees, places, centre), {"rot [deg]": degrees, "x [mm]": places})
    volume = tomo(scan, "--air", 2)
    assert volume.report["centre"] == pytest.approx(centre, abs=0.002) and volume.report["centre_found"]
    assert abs(volume.report["centre"] - centre) < 5 * volume.report["centre_uncertainty"] + 0.001
    expected, inner = truth(volume)
    assert numpy.corrcoef(volume.data[inner].ravel(), expected[inner].ravel())[0, 1] > 0.985
    given = tomo(scan, "--air", 2, "--centre", repr(volume.report["centre"]), name="given.nxs")
    assert_close(given.data, volume.data.astype(float), 1e-5)


NOISE = numpy.random.default_rng(1).uniform(-0.005, 0.005, 72)
UNEVEN_ANGLES = {
    "steps that do not divide a turn": (numpy.arange(50) * 7.19, []),
    "a full turn with noise": (numpy.arange(60) * 6.0 + NOISE[:60], []),
    "steps of 5 degrees with noise": (numpy.arange(72) * 5.0 + NOISE, []),
    "361 degrees": (numpy.arange(60) * 361 / 60, []),
    "two passes": (numpy.concatenate([numpy.arange(30) * 6.0, numpy.arange(30) * 6.0 + 0.3]), ["--angle-tolerance", 0.05]),
    "dense, then sparse": (numpy.concatenate([numpy.arange(100) * 0.5, 50 + numpy.arange(22) * 6.0]), ["--angle-tolerance", 0.01]),
    "very dense, then sparse": (numpy.concatenate([numpy.arange(200) * 0.25, 50 + numpy.arange(13) * 10.0]), ["--angle-tolerance", 0.01]),
}


@pytest.mark.parametrize("name", UNEVEN_ANGLES)
def test_densities_of_complete_scans_are_right_however_angles_are_spaced(annulus, tomo, tmp_path, name):
    angles, options = UNEVEN_ANGLES[name]
    degrees, places = numpy.repeat(angles, 40), numpy.tile(-0.4 + 0.02 * numpy.arange(40), len(angles))
    path = integrate(annulus, tmp_path, intensities(degrees, places, air=0), {"rot [deg]": degrees, "x [mm]": places})
    found = tomo(path, "--centre", 0, *options)
    assert found.report["angles"] == len(angles)
    x, y = numpy.meshgrid(found.x / 0.02, found.y / 0.02)
    host = (numpy.hypot(x - 0.5, y + 1) < 11) & (numpy.hypot(x + 6, y - 4) > 4.5) & (numpy.hypot(x - 5, y - 3) > 5.5)
    assert found.data[host][:, 2].mean() == pytest.approx(patterns()[0][2], rel=0.03)


def test_radians(annulus, scan, tomo, tmp_path):
    degrees, places = raster()
    radians = integrate(annulus, tmp_path, intensities(degrees, places), {"rot [rad]": numpy.deg2rad(degrees), "x [mm]": places})
    assert_close(tomo(radians).data, tomo(scan, name="b.nxs").data.astype(float), 1e-6)
    bare = integrate(annulus, tmp_path, intensities(degrees, places), {"rot": degrees, "x": places}, name="bare")
    volume = tomo(bare, name="c.nxs")
    assert "column rot has no unit: its values are taken as degrees" in volume.messages
    assert numpy.array_equal(volume.data, Volume(tmp_path / "b.nxs").data)


def test_air(annulus, tomo, tmp_path):
    """A beam that fades is made up for by the air beside the sample."""
    degrees, places = raster()
    strength = 1 - 0.5 * degrees / 180
    values = numpy.rint(1000 * intensities(degrees, places, air=2000.0) * strength[:, None])
    scan = integrate(annulus, tmp_path, values, {"rot [deg]": degrees, "x [mm]": places})
    plain = integrate(annulus, tmp_path, 1000 * intensities(degrees, places, air=2000.0), {"rot [deg]": degrees, "x [mm]": places}, name="plain")
    scaled, steady = tomo(scan, "--air", 3, "--air-use", "scale", "--centre", 0), tomo(plain, "--centre", 0, name="b.nxs")
    ratio = scaled.data[steady.data > steady.data.max() / 10] / steady.data[steady.data > steady.data.max() / 10]
    assert ratio == pytest.approx(ratio.mean(), rel=1e-3) and ratio.mean() == pytest.approx(strength.mean(), rel=0.1)
    subtracted = tomo(plain, "--air", 3, "--centre", 0, name="c.nxs")
    assert subtracted.data.sum() < steady.data.sum()
    numpy.testing.assert_allclose(subtracted.facts["filled_cells"], 0)


def test_stripes_are_suppressed(annulus, tomo, tmp_path):
    degrees, places = raster(angles=90)
    values = intensities(degrees, places)
    values.reshape(90, 40, BINS)[:, 26] += 3000
    scan = integrate(annulus, tmp_path, values, {"rot [deg]": degrees, "x [mm]": places})
    clean, rough = tomo(scan, "--stripes", "--centre", 0), tomo(scan, "--centre", 0, name="b.nxs")
    expected, inner = truth(clean)
    assert clean.report["stripes_suppressed"] >= BINS
    assert numpy.abs(clean.data - expected)[inner].mean() < 0.3 * numpy.abs(rough.data - expected)[inner].mean()


def test_sirt_of_few_angles(annulus, tomo, tmp_path):
    degrees, places = raster(angles=12)
    scan = integrate(annulus, tmp_path, intensities(degrees, places, air=0), {"rot [deg]": degrees, "x [mm]": places})
    sirt = tomo(scan, "--method", "sirt", "--iterations", 150, "--centre", 0)
    fbp = tomo(scan, "--centre", 0, name="b.nxs")
    expected, _ = truth(sirt)
    assert sirt.facts["method"] == b"sirt" and "filter" not in sirt.facts and 1 < sirt.facts["iterations"] <= 150
    assert sirt.facts["misfit"] < 0.05 and sirt.data.min() >= 0
    assert numpy.abs(sirt.data - expected).mean() < 0.7 * numpy.abs(fbp.data - expected).mean()


def masked_sirt(values, known, degrees, positions, iterations):
    """[angle * position][bin] -> [y][x][bin] as docs/tomography.md says, with a matrix of all lines and pixels."""
    angles = len(degrees)
    y, x = numpy.mgrid[:positions, :positions] - positions // 2
    inside = x**2 + y**2 <= (positions // 2) ** 2
    matrix = numpy.zeros((angles, positions, positions * positions))
    for angle, a in enumerate(numpy.deg2rad(degrees)):
        t = x * numpy.cos(a) - y * numpy.sin(a) + positions // 2
        height = 1 / max(abs(numpy.cos(a)), abs(numpy.sin(a)))
        low = numpy.floor(t).astype(int)
        for k, away in ((low, t - low), (low + 1, low + 1 - t)):
            share = numpy.maximum(0, height - away * height**2)
            seen = inside & (k >= 0) & (k < positions)
            numpy.add.at(matrix[angle], (k[seen], numpy.flatnonzero(seen)), share[seen])
    matrix = matrix.reshape(-1, positions * positions)[known]
    rows, columns = matrix.sum(axis=1, keepdims=True), matrix.sum(axis=0)[:, None]
    image = numpy.zeros((positions * positions, values.shape[1]))
    for _ in range(iterations):
        lacking = (values[known] - matrix @ image) / numpy.where(rows > 0, rows, 1)
        image = numpy.maximum(0, image + matrix.T @ lacking / numpy.where(columns > 0, columns, numpy.inf))
    return image.reshape(positions, positions, -1)


def test_sirt_does_without_missing_cells(annulus, tomo, tmp_path):
    degrees, places = raster(angles=20)
    values = intensities(degrees, places, air=0)
    random, known = numpy.random.default_rng(3), numpy.ones((20, 40), bool)
    for row in known:
        first = random.integers(8, 24)
        row[first:first + 8] = False
    known = known.ravel()
    invalid = values.copy()
    invalid[known.nonzero()[0][::9], 4] = -1  # and single bins
    scan = integrate(annulus, tmp_path, invalid[known], {"rot [deg]": degrees[known], "x [mm]": places[known]})
    found = tomo(scan, "--method", "sirt", "--centre", 0, "--keep-sinogram")
    expected = numpy.zeros(found.data.shape)
    y, x = numpy.mgrid[:40, :40] - 20
    for (cx, cy, radius, *_), pattern in zip(DISCS, patterns()):
        expected[numpy.hypot(x - cx, y - cy) < radius] += pattern
    masked = masked_sirt(values, known, degrees[::40], 40, 300)
    error = {name: numpy.sqrt(((image - expected) ** 2).mean() / (expected**2).mean()) for name, image in (("found", found.data), ("masked", masked))}
    assert error["found"] < 1.05 * error["masked"], error
    assert found.report["missing_cells"] == 160 and found.report["filled_cells"] == 0 and found.report["filled_values"] == 0
    assert found.report["missing_values"] == 160 * BINS + (invalid[known] < 0).sum()
    assert numpy.isnan(found.sinogram).sum() == found.report["missing_values"]
    assert numpy.array_equal(numpy.isnan(found.sinogram[:, :, 0]).ravel(), ~known)


@pytest.mark.parametrize("options", [[], ["--interpolation", "band-limited", "--way", "fourier"]])
def test_a_full_turn_about_an_axis_near_the_edge(annulus, tomo, tmp_path, options):
    """Lines of the longer side are measured once only; they count as much as others."""
    found = {}
    for name, first in (("wide", -0.4), ("near", -0.2)):
        degrees, places = raster(angles=120, angle_range=360.0, first=first)
        path = integrate(annulus, tmp_path, intensities(degrees, places, air=0), {"rot [deg]": degrees, "x [mm]": places}, name=name)
        found[name] = tomo(path, "--centre", 0, "--keep-sinogram", *options, name=f"{name}_tomo.nxs")
    wide, near = found["wide"], found["near"]
    assert_close(near.data, wide.data.astype(float), 0.01)
    assert "the scan reaches 0.58 mm from the axis of rotation, the tomogram 0.4 mm" in near.messages and "59 for --size" in near.messages
    assert "from the axis" not in wide.messages and "leaves the scan" not in near.messages
    assert "--size" not in tomo(path, "--centre", 0, "--size", 59, name="large.nxs").messages
    sirt = ["--centre", 0, "--method", "sirt", "--iterations", 2]
    assert "makes values wrong; give 59 for --size" in tomo(path, *sirt, name="sirt.nxs").messages
    assert "--size" not in tomo(path, *sirt, "--size", 59, name="large_sirt.nxs").messages
    with h5py.File(path) as file:  # the sinogram is stored as it was measured
        assert numpy.array_equal(near.sinogram.reshape(-1, BINS), file["/entry/data/I"][()].astype(numpy.float32))


def test_three_quarters_of_a_turn_about_an_axis_near_the_edge(annulus, tomo, tmp_path):
    degrees, places = raster(angles=90, angle_range=270.0, first=-0.2)
    path = integrate(annulus, tmp_path, intensities(degrees, places, air=0), {"rot [deg]": degrees, "x [mm]": places})
    words = "voxels further than 0.2 mm from the axis of rotation are seen from one side only"
    messages = tomo(path, "--centre", 0).messages
    assert words in messages and "--method sirt" in messages
    assert words not in tomo(path, "--centre", 0, "--method", "sirt", "--size", 59, "--iterations", 3, name="b.nxs").messages


def test_an_input_that_nobody_closed_is_told(annulus, scan, tomo, tmp_path):
    words = "was ended or goes on"
    assert words not in tomo(scan).messages
    degrees, places = raster(angles=6, positions=30, first=-0.3)
    frames, output = tmp_path / "frames", tmp_path / "open.nxs"
    frames.mkdir()
    for i, values in enumerate(intensities(degrees, places)):
        numpy.save(frames / f"frame_{i:05d}.npy", values.astype(numpy.int32)[None, :])
    (tmp_path / "line.poni").write_text(PONI.format(bins=BINS))
    table = write_table(tmp_path / "scan.csv", {"rot [deg]": degrees, "x [mm]": places})
    running = subprocess.Popen(
        [os.environ["ANNULUS"], "integrate", "-p", tmp_path / "line.poni", "-n", str(BINS), "-u", "r_mm", "--radial-range", "0", "1", "--split",
         "no", "--no-solid-angle", "--column", f"rot={table}#rot", "--column", f"x={table}#x", "-o", output, "-q", "--follow", frames])
    try:
        for _ in range(400):
            time.sleep(0.05)
            if output.exists() and '"frames": 180' in annulus("info", "--json", output).stdout:
                break
        options = ["--centre", 0, *WINDOWS]
        done = annulus("tomo", output, "-o", tmp_path / "a.nxs", *COLUMNS, *options)
        assert done.returncode == 0 and words in done.stderr and "180 frames" in done.stderr, done.stderr
        done = annulus("tomo", output, "-o", tmp_path / "b.nxs", *COLUMNS, *options, "--follow", "--follow-timeout", 0.5)
        assert done.returncode == 0 and words in done.stderr, done.stderr
    finally:
        running.kill()
        running.wait()


def test_size_filter_and_way(scan, tomo):
    with h5py.File(scan) as file:
        stored = file["/entry/data/I"][()].reshape(45, 40, BINS)
    small = tomo(scan, "--size", 25, "--centre", 0)
    assert_close(small.data, back_project(stored, numpy.arange(45) * 4.0, 20, 25))
    assert numpy.array_equal(small.x, (numpy.arange(25) - 12) * 0.02) or numpy.allclose(small.x, (numpy.arange(25) - 12) * 0.02)
    direct = tomo(scan, "--interpolation", "band-limited", "--way", "direct", name="d.nxs")
    fourier = tomo(scan, "--interpolation", "band-limited", "--way", "fourier", name="f.nxs")
    assert direct.facts["way"] == b"direct" and fourier.facts["way"] == b"fourier"
    assert_close(fourier.data, direct.data.astype(float), 2e-5)
    hann = tomo(scan, "--filter", "hann", name="h.nxs")
    assert hann.facts["filter"] == b"hann" and numpy.diff(hann.data, axis=0).std() < 0.9 * numpy.diff(direct.data, axis=0).std()


def test_opencl_gives_the_bytes_of_the_cpu(annulus, scan, tomo):
    if "opencl   yes" not in annulus("devices").stdout:
        pytest.skip("no OpenCL device")
    device = tomo(scan, "--backend", "opencl", "--device", "0")
    assert device.facts["way"] == b"opencl" and numpy.array_equal(device.data, tomo(scan, name="cpu.nxs").data)


def test_a_tomogram_of_many_empty_bins_is_described(annulus, tomo, tmp_path):
    degrees, places = raster(angles=6, positions=20, first=-0.2)
    path = integrate(annulus, tmp_path, intensities(degrees, places, step=0.04), {"rot [deg]": degrees, "x [mm]": places}, bins=6000)
    found = tomo(path, "--centre", 0)
    assert len(found.report["empty_bins"]) == 5990 and len(found.facts["empty_bins"]) == 5990
    done = annulus("info", tmp_path / "tomo.nxs", "--json")
    assert done.returncode == 0, done.stderr
    assert annulus("info", tmp_path / "tomo.nxs").returncode == 0
    assert annulus("plot", tmp_path / "tomo.nxs", "--voxel", "10,10", "-o", tmp_path / "voxel.png").returncode == 0


def test_many_positions_are_reconstructed_by_fourier_transforms(annulus, tomo, tmp_path):
    for positions, way, interpolation in ((399, b"direct", b"linear"), (400, b"fourier", b"band-limited")):
        degrees, places = raster(angles=4, positions=positions, first=-4)
        scan = integrate(annulus, tmp_path, intensities(degrees, places)[:, :2], {"rot [deg]": degrees, "x [mm]": places},
                         name=str(positions))
        facts = tomo(scan, "--centre", 0, name=f"{positions}_tomo.nxs").facts
        assert (facts["way"], facts["interpolation"]) == (way, interpolation)


@pytest.fixture(scope="module")
def odd_inputs(annulus, tmp_path_factory):
    """Inputs that make no tomogram."""
    folder = tmp_path_factory.mktemp("odd")
    degrees, places = raster(angles=6, positions=8)
    values = intensities(degrees, places, step=0.1)
    still = numpy.zeros(len(values))
    made = {
        "good": integrate(annulus, folder, values, {"rot [deg]": degrees, "x [mm]": places, "still [mm]": still}, name="good"),
        "mrad": integrate(annulus, folder, values, {"rot [mrad]": degrees, "x [mm]": places}, name="mrad"),
        "turns": integrate(annulus, folder, values, {"rot [deg]": degrees // 90 * 360, "x [mm]": places}, name="turns"),
        "invalid": integrate(annulus, folder, numpy.full(values.shape, -1), {"rot [deg]": degrees, "x [mm]": places}, name="invalid"),
        "sparse": integrate(annulus, folder, values[::3], {"rot [deg]": degrees[::3], "x [mm]": places[::3]}, name="sparse"),
        "flat": integrate(annulus, folder, numpy.full(values.shape, 7), {"rot [deg]": degrees, "x [mm]": places}, name="flat"),
        "cakes": integrate(annulus, folder, values, {"rot [deg]": degrees, "x [mm]": places}, name="cakes", options=["--npt-azim", 4, "--azimuth-range", -10, 10]),
    }
    made["bad"] = integrate(annulus, folder, values, {"rot [deg]": degrees, "x [mm]": places, "I0": still}, name="bad",
                            options=["--keep-going", "--monitor", "I0"])
    made["text"] = folder / "text.nxs"
    made["text"].write_text("no output")
    made["missing"] = folder / "missing.nxs"
    made["other"] = folder / "other.nxs"
    with h5py.File(made["other"], "w") as file:
        file["data"] = 1
    return made


REFUSED = [
    ("good", ["--angle", "phi", "--translation", "x"], USAGE, ["has no column 'phi'", "rot, still, x"]),
    ("good", ["--angle", "rot"], USAGE, ["--translation"]),
    ("good", ["--angle", "rot", "--translation", "rot"], USAGE, ["both are column rot"]),
    ("good", ["--angle", "rot", "--translation", "still"], INPUT, ["column still"]),
    ("good", ["--angle", "still", "--translation", "x"], INPUT, ["column still"]),
    ("good", ["--shape", "5,8", "--angle-range", 180], INPUT, ["48 frames do not fit 5 x 8 cells"]),
    ("good", ["--shape", "1,48", "--angle-range", 180], INPUT, ["1 x 48 (angles x positions) makes no tomogram"]),
    ("good", ["--shape", "6,8"], USAGE, ["--angle-range"]),
    ("good", [*COLUMNS, "--angle-range", 180], USAGE, ["--angle-range", "--angle"]),
    ("good", [*COLUMNS, "--centre", 5], USAGE, ["--centre: 5 mm lies outside the scan", "from -0.4 mm to -0.26 mm"]),
    ("good", [*COLUMNS, "--centre", "nan"], USAGE, ["--centre"]),
    ("good", [*COLUMNS, "--air", 4], USAGE, ["--air", "4 outermost positions", "give 3 or fewer"]),
    ("good", [*COLUMNS, "--air", 4, "--air-use", "scale"], USAGE, ["--air", "4 outermost positions", "give 3 or fewer"]),
    ("good", [*COLUMNS, "--air-use", "scale"], USAGE, ["--air-use", "--air"]),
    ("good", [*COLUMNS, "--method", "art"], USAGE, ["--method", "'art'", "fbp, sirt"]),
    ("good", [*COLUMNS, "--filter", "ram"], USAGE, ["--filter", "ramp, shepp-logan"]),
    ("good", [*COLUMNS, "--method", "sirt", "--filter", "hann"], USAGE, ["--filter", "SIRT"]),
    ("good", [*COLUMNS, "--way", "fourier", "--interpolation", "linear"], USAGE, ["--way", "band-limited"]),
    ("good", [*COLUMNS, "--backend", "opencl", "--way", "fourier"], USAGE, ["--way", "OpenCL"]),
    ("good", [*COLUMNS, "--backend", "opencl", "--method", "sirt"], USAGE, ["--backend", "SIRT"]),
    ("good", [*COLUMNS, "--device", "0"], USAGE, ["--device", "--backend opencl"]),
    ("good", [*COLUMNS, "--device-memory", 0], USAGE, ["--device-memory", "--backend opencl"]),
    ("good", [*COLUMNS, "--method", "sirt", "--filter", "ramp"], USAGE, ["--filter", "SIRT"]),
    ("good", [*COLUMNS, "--iterations", 300], USAGE, ["--iterations", "SIRT", "--method"]),
    ("good", [*COLUMNS, "--tolerance", 1e-4], USAGE, ["--tolerance", "SIRT", "--method"]),
    ("good", [*COLUMNS, "--air-use", "subtract"], USAGE, ["--air-use", "--air"]),
    ("good", [*COLUMNS, "--threads", 100000], USAGE, ["--threads", "1024"]),
    ("good", ["--shape", "6,8", "--angle-range", 1e6], USAGE, ["--angle-range", "3600"]),
    ("good", [*COLUMNS, "--size", 33], USAGE, ["--size", "33 voxels are too many for 8 positions", "32 or fewer"]),
    ("good", [*COLUMNS, "--size", 60000, "--method", "sirt"], USAGE, ["--size", "32 or fewer"]),
    ("good", [*COLUMNS, "--size", 7, "--method", "sirt"], USAGE, ["--size", "SIRT needs room", "8 or more", "--method fbp"]),
    ("good", [*COLUMNS, "--stripes", "--stripe-width", 0], USAGE, ["--stripe-width"]),
    ("good", [*COLUMNS, "--stripes", "--stripe-width", 9], USAGE, ["--stripe-width", "9 positions are more than the 8 of the scan"]),
    ("good", [*COLUMNS, "--stripes", "--stripe-threshold=-3"], USAGE, ["--stripe-threshold", "-3 is no number of standard deviations"]),
    ("good", [*COLUMNS, "--stripe-width", 2], USAGE, ["--stripe-width", "give --stripes too"]),
    ("good", [*COLUMNS, "--stripe-threshold", 4], USAGE, ["--stripe-threshold", "give --stripes too"]),
    ("good", [*COLUMNS, "--size", 1], USAGE, ["--size"]),
    ("good", [*COLUMNS, "--memory", 0], USAGE, ["--memory"]),
    ("mrad", COLUMNS, INPUT, ["column rot", "'mrad'", "--angle"]),
    ("turns", COLUMNS, INPUT, ["a single direction"]),
    ("bad", COLUMNS, INPUT, ["none of its 48 frames is good", "why it is bad"]),
    ("invalid", COLUMNS, INPUT, ["0 of its 6 projections"]),
    ("sparse", COLUMNS, INPUT, ["0 of its 6 projections"]),
    ("flat", COLUMNS, INPUT, ["axis of rotation cannot be found", "--centre", "-0.4 mm"]),
    ("cakes", COLUMNS, USAGE, ["cakes"]),
    ("text", COLUMNS, INPUT, ["is not an HDF5 file"]),
    ("missing", COLUMNS, INPUT, ["does not exist"]),
    ("other", COLUMNS, INPUT, ["is not an output of annulus"]),
]


@pytest.mark.parametrize("name, options, code, words", REFUSED, ids=[f"{row[0]}-{i}" for i, row in enumerate(REFUSED)])
def test_what_makes_no_tomogram_is_refused_with_the_reason(annulus, odd_inputs, tmp_path, name, options, code, words):
    done = annulus("tomo", odd_inputs[name], "-o", tmp_path / "tomo.nxs", *options)
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr
    assert "`" not in done.stderr and done.stderr.count("\n") <= 2
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_are_not_touched(annulus, scan, tmp_path):
    output = tmp_path / "tomo.nxs"
    for content in (b"mine", pathlib.Path(scan).read_bytes()):
        output.write_bytes(content)
        for options, words in (([], "exists already"), (["--overwrite"], "it is not touched")):
            done = annulus("tomo", scan, "-o", output, *COLUMNS, *options)
            assert done.returncode == OUTPUT and words in done.stderr
            assert output.read_bytes() == content
    output.unlink()
    assert annulus("tomo", scan, "-o", scan, *COLUMNS, "--overwrite").returncode == OUTPUT
    assert annulus("tomo", scan, "-o", output, *COLUMNS).returncode == 0
    assert annulus("tomo", scan, "-o", output, *COLUMNS).returncode == OUTPUT
    assert annulus("tomo", scan, "-o", output, *COLUMNS, "--overwrite", "--size", 20).returncode == 0
    assert Volume(output).data.shape == (20, 20, BINS)
    done = annulus("tomo", scan, "-o", tmp_path / "nowhere" / "tomo.nxs", *COLUMNS)
    assert done.returncode == OUTPUT and [path.name for path in tmp_path.iterdir()] == ["tomo.nxs"]


def test_an_interrupted_run_leaves_nothing(annulus, scan, tmp_path):
    run = subprocess.Popen([os.environ["ANNULUS"], "tomo", str(scan), "-o", str(tmp_path / "tomo.nxs"), *COLUMNS, "--method", "sirt",
                            "--iterations", "1000000", "--tolerance", "0", "--size", "150"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not list(tmp_path.iterdir()):
        assert run.poll() is None, run.stderr.read()
        time.sleep(0.01)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    try:
        run.communicate(timeout=30)
    finally:
        run.kill()
    assert run.returncode == INTERRUPTED and list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def images_of():
    """The images of a file, by name, as (values, rows, columns), and what else it says."""
    def read(path):
        found = {}
        with h5py.File(path) as file:
            for name, group in file["/entry"].items():
                if name.endswith(("_sinogram", "_tomogram")):
                    rows, columns = (group[axis] for axis in group.attrs["axes"])
                    found[name] = group[group.attrs["signal"]][()], rows[()], columns[()]
        return found

    return read


WINDOWS = ["--window", "host=0.12:0.38", "--window", "grain=0.62:0.88,0.32:0.48,0.88:0.98"]


def test_windows(annulus, scan, tmp_path, images_of):
    done = annulus("tomo", scan, "-o", tmp_path / "windows.nxs", *COLUMNS, *WINDOWS, "--centre", 0, "--json")
    assert done.returncode == 0, done.stderr
    found = images_of(tmp_path / "windows.nxs")
    assert list(found) == ["grain_sinogram", "grain_tomogram", "host_sinogram", "host_tomogram"]
    with h5py.File(scan) as file:
        stored = file["/entry/data/I"][()].reshape(45, 40, BINS)
    # Bins have their centres at 0.05, 0.15, ... and equal weights.
    host = stored[:, :, 1:4].mean(axis=2)
    grain = stored[:, :, 6:9].mean(axis=2)
    left, right = stored[:, :, 3:5].mean(axis=2), stored[:, :, 9]
    grain = grain - (left + (right - left) * (0.75 - 0.40) / (0.95 - 0.40))
    for name, expected in (("host", host), ("grain", grain)):
        values, rows, columns = found[f"{name}_sinogram"]
        numpy.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-5 * numpy.abs(expected).max())
        numpy.testing.assert_allclose(rows, numpy.arange(45) * 4.0)
        numpy.testing.assert_allclose(columns, -0.4 + 0.02 * numpy.arange(40), atol=1e-12)
        values, rows, columns = found[f"{name}_tomogram"]
        assert_close(values[:, :, None], back_project(expected[:, :, None], numpy.arange(45) * 4.0, 20), 2e-5)
        numpy.testing.assert_allclose(rows, (numpy.arange(40) - 20) * 0.02, atol=1e-12)
    table = write_table(tmp_path / "windows.csv", {"from": numpy.array([0.12]), "to": numpy.array([0.38])})
    table.write_text(table.read_text().replace("from", "name,from").replace("0.12", "host,0.12"))
    done = annulus("tomo", scan, "-o", tmp_path / "table.nxs", *COLUMNS, "--windows", table, "--centre", 0)
    assert done.returncode == 0, done.stderr
    assert numpy.array_equal(images_of(tmp_path / "table.nxs")["host_tomogram"][0], found["host_tomogram"][0])


def test_angles_that_descend(annulus, scan, tmp_path, images_of):
    """A shape and -180 degrees: as columns with these angles."""
    degrees, places = raster()
    turned = integrate(annulus, tmp_path, intensities(-degrees, places), {"rot [deg]": -degrees, "x [mm]": places}, name="turned")
    common = [*WINDOWS, "--picture", tmp_path / "tomo.png", "--overwrite"]
    for name, options in (("shape", ["--shape", "45,40", "--angle-range=-180", "--centre", 20]), ("columns", [*COLUMNS, "--centre", 0])):
        done = annulus("tomo", turned, "-o", tmp_path / f"{name}.nxs", *options, *common)
        assert done.returncode == 0, done.stderr
    shape, columns = images_of(tmp_path / "shape.nxs"), images_of(tmp_path / "columns.nxs")
    assert list(shape) == list(columns)
    for name, (values, rows, _) in shape.items():
        numpy.testing.assert_allclose(values, columns[name][0], rtol=1e-5, atol=1e-5 * numpy.abs(values).max())
        if name.endswith("sinogram"):
            numpy.testing.assert_allclose(rows, columns[name][1], atol=1e-9)
    options = ["--shape", "45,40", "--angle-range=-180", "--centre", 20, *WINDOWS, "--follow", "--follow-timeout", 1]
    done = annulus("tomo", turned, "-o", tmp_path / "follow.nxs", *options)
    assert done.returncode == 0, done.stderr
    assert every_dataset(tmp_path / "follow.nxs") == every_dataset(tmp_path / "shape.nxs")


def test_a_picture_of_windows(annulus, scan, tmp_path):
    for name, start in (("tomo.png", b"\x89PNG"), ("tomo.svg", b"<?xml")):
        done = annulus("tomo", scan, "-o", tmp_path / "windows.nxs", *COLUMNS, *WINDOWS, "--picture", tmp_path / name, "--overwrite")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).read_bytes().startswith(start) and f"drawn: {tmp_path / name}" in done.stdout
    (tmp_path / "mine.png").write_text("mine")
    done = annulus("tomo", scan, "-o", tmp_path / "other.nxs", *COLUMNS, *WINDOWS, "--picture", tmp_path / "mine.png")
    assert done.returncode == OUTPUT and "--picture" in done.stderr and (tmp_path / "mine.png").read_text() == "mine"
    assert not (tmp_path / "other.nxs").exists()


def test_picture_and_output_are_two_files(annulus, scan, tmp_path):
    (tmp_path / "a").mkdir()
    done = annulus("tomo", scan, "-o", tmp_path / "tomo.png", *COLUMNS, *WINDOWS, "--picture", tmp_path / "a" / ".." / "tomo.png")
    assert done.returncode == USAGE and "--picture" in done.stderr and "is the name of the output too" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_windows_have_the_axis_of_all_bins(annulus, scan, tomo, tmp_path):
    done = annulus("tomo", scan, "-o", tmp_path / "windows.nxs", *COLUMNS, *WINDOWS, "--json")
    assert json.loads(done.stdout)["centre"] == tomo(scan).report["centre"]


@pytest.mark.parametrize("options, words", [
    (["--window", "a=5:6"], ["a", "has no bin"]),
    (["--window", "a=0.1:0.3", "--window", "a=0.3:0.5"], ["a"]),
    (["--window", "0.1"], ["--window"]),
    (["--follow"], ["--follow", "--window"]),
    (["--window", "a=0.1:0.3", "--keep-sinogram"], ["--keep-sinogram"]),
    (["--window", "a=0.1:0.3", "--picture", "tomo.jpg"], ["--picture", ".png or .svg"]),
    (["--picture", "tomo.png"], ["--picture", "--window"]),
    (["--window", "a=0.1:0.3", "--follow-timeout", 3], ["--follow-timeout", "--follow"]),
    (["--window", "a=0.1:0.3", "--follow", "--follow-timeout", "nan"], ["--follow-timeout"]),
    (["--window", "a=0.1:0.3", "--follow", "--follow-timeout=-1"], ["--follow-timeout"]),
    (["--window", "a=0.1:0.3", "--size", 160, "--memory", 1], ["--memory", "a single window", "or more"]),
    (["--size", 160, "--memory", 1], ["--memory", "1 MiB are not enough to reconstruct a single bin", "or more"]),
    (["--size", 160, "--memory", 8, "--method", "sirt"], ["--memory", "8 MiB are not enough to reconstruct a single bin", "or more"]),
])
def test_windows_that_make_no_sense(annulus, scan, tmp_path, options, words):
    done = annulus("tomo", scan, "-o", tmp_path / "tomo.nxs", *COLUMNS, *options)
    assert done.returncode == USAGE and all(word in done.stderr for word in words), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_following_ends_with_what_the_finished_file_gives(annulus, tmp_path, images_of):
    """Frames appear in a folder angle by angle; integrate and tomo follow at the same time. What is shown meanwhile is the
    tomogram of the angles that are complete."""
    degrees, places = raster(angles=12, positions=24, first=-0.24, step=0.02)
    values = intensities(degrees, places, step=0.015)
    frames = tmp_path / "frames"
    frames.mkdir()
    (tmp_path / "line.poni").write_text(PONI.format(bins=BINS))
    table = write_table(tmp_path / "scan.csv", {"rot [deg]": degrees, "x [mm]": places})
    program, patterns_file, output = os.environ["ANNULUS"], tmp_path / "scan.nxs", tmp_path / "follow.nxs"
    integrating = subprocess.Popen(
        [program, "integrate", "-p", tmp_path / "line.poni", "-n", str(BINS), "-u", "r_mm", "--radial-range", "0", "1", "--split", "no",
         "--no-solid-angle", "--column", f"rot={table}#rot", "--column", f"x={table}#x", "-o", patterns_file, "-q", "--follow",
         "--follow-timeout", "3", frames])
    following = subprocess.Popen([program, "tomo", patterns_file, "-o", output, *COLUMNS, *WINDOWS, "--follow", "--follow-timeout", "60",
                                  "--air", "1", "--picture", tmp_path / "follow.png"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    shown, states = [], {}
    for angle in range(13):  # pauses are in the middle of an angle: three quarters of it are there
        for frame in range(max(0, angle * 24 - 6), min(12 * 24, angle * 24 + 18)):
            numpy.save(tmp_path / "next.npy", values[frame].astype(numpy.int32)[None, :])
            (tmp_path / "next.npy").rename(frames / f"frame_{frame:05d}.npy")
        time.sleep(0.6)
        if output.exists() and angle < 12:
            images = images_of(output)
            rows = len(images["host_sinogram"][1])
            shown.append((angle, rows))
            states[rows] = images
    assert integrating.wait(60) == 0
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    assert len({rows for _, rows in shown}) >= 2 and all(rows <= angle for angle, rows in shown), shown
    assert "waiting" in err and "degrees" in err
    done = annulus("tomo", patterns_file, "-o", tmp_path / "finished.nxs", *COLUMNS, *WINDOWS, "--air", 1)
    assert done.returncode == 0, done.stderr
    assert every_dataset(output) == every_dataset(tmp_path / "finished.nxs")
    assert (tmp_path / "follow.png").read_bytes().startswith(b"\x89PNG")
    for angles, images in states.items():
        part = slice(0, angles * 24)
        path = integrate(annulus, tmp_path, values[part], {"rot [deg]": degrees[part], "x [mm]": places[part]}, name=f"first_{angles}")
        done = annulus("tomo", path, "-o", tmp_path / f"of_{angles}.nxs", *COLUMNS, *WINDOWS, "--air", 1)
        assert done.returncode == 0, done.stderr
        for name, (expected, rows, columns) in images_of(tmp_path / f"of_{angles}.nxs").items():
            numpy.testing.assert_allclose(images[name][0], expected, rtol=1e-5, atol=1e-5 * numpy.abs(expected).max(), err_msg=name)
            numpy.testing.assert_allclose(images[name][1], rows, atol=1e-9)
            numpy.testing.assert_allclose(images[name][2], columns, atol=1e-9)


@pytest.mark.release_only
@pytest.mark.parametrize("phantom, edge", [("discs", 0), ("inclusions", 1)])
def test_phantom(annulus, tmp_path, phantom, edge):
    """From frames to voxels: which phase is where, and what a voxel's pattern is.

    Of discs in air every voxel inside counts. Where a weak matrix surrounds dense grains, voxels at an edge are mixtures in
    which the grain scatters more, and do not count.
    """
    folder = tmp_path / "scan"
    done = annulus("simulate", "--phantom", phantom, "-o", folder, "--voxels", 64, "--angles", 60, "--format", "hdf5", "--zigzag",
                   "--axis-offset", 0.0012, "-q")
    assert done.returncode == 0, done.stderr
    table = folder / "scan.csv"
    done = annulus("integrate", "-p", folder / "scan.poni", "-n", 250, "-u", "2th_deg", "-o", tmp_path / "patterns.nxs", "-q",
                   "--polarization", 0.99, "--column", f"rot={table}#angle", "--column", f"x={table}#translation",
                   "--monitor", f"I0={table}#monitor", folder / "scan.h5")
    assert done.returncode == 0, done.stderr
    done = annulus("tomo", tmp_path / "patterns.nxs", "-o", tmp_path / "tomo.nxs", *COLUMNS, "--air", 2, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["centre"] == pytest.approx(0.0012, abs=2e-4)
    volume = Volume(tmp_path / "tomo.nxs")
    with h5py.File(folder / "scan_phantom.nxs") as file:
        known = {}
        file["entry"].visititems(lambda name, item: known.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    phases = list(known["paths/phase"])
    pure = numpy.array([numpy.interp(volume.z, known["patterns/two_theta"], pattern) for pattern in known["patterns/intensity"]])
    x, y = numpy.meshgrid(volume.x, volume.y)
    step = 0.001
    phase, inner = numpy.full(x.shape, -1), numpy.zeros(x.shape, bool)
    density, far_inside = numpy.zeros(x.shape), numpy.ones(x.shape, bool)
    for cx, cy, radius, name, filled in zip(*(known[f"discs/{what}"] for what in ("x", "y", "radius", "phase", "density"))):
        distance = numpy.hypot(x - cx, y - cy)
        density[distance < radius] = filled
        far_inside &= numpy.abs(distance - radius) >= 3 * step
        inner &= numpy.abs(distance - radius) >= edge * step
        inner |= distance < radius - edge * step
        phase[distance < radius] = phases.index(name) if name in phases else -1
    inner &= phase >= 0
    # Least squares: how much of each phase a voxel has.
    shares = numpy.linalg.lstsq(pure.T, volume.data.reshape(-1, len(volume.z)).T, rcond=None)[0].reshape(len(phases), *x.shape)
    right = shares.argmax(axis=0)[inner] == phase[inner]
    assert inner.sum() > 900 and right.mean() >= 0.99, right.mean()
    for each in range(len(phases)):
        where = inner & (phase == each)
        if where.sum() < 20:
            continue
        mean = volume.data[where].mean(axis=0) / step
        assert numpy.corrcoef(mean, pure[each])[0, 1] > 0.98
    # Single voxels, three steps or more from every edge: the pattern of each, and what all of a phase scatter together.
    far_inside &= phase >= 0
    found, wanted = volume.data[far_inside] / step, density[far_inside, None] * pure[phase[far_inside]]
    alike = numpy.array([numpy.corrcoef(*pair)[0, 1] for pair in zip(found, wanted)])
    assert len(alike) > 400 and alike.min() >= 0.9 and numpy.median(alike) >= 0.99, (alike.min(), numpy.median(alike))
    for each in range(len(phases)):
        where = phase[far_inside] == each
        assert where.any() and found[where].sum() == pytest.approx(wanted[where].sum(), rel=0.02), phases[each]
