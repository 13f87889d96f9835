"""Scans of phantoms: motors and monitor are the same wherever they are written, frames follow from the truth beside
them, and the truth follows from the discs, by NumPy."""

import csv
import re

import h5py
import numpy
import pytest

UNEVEN = ["--zigzag", "--jitter", 0.3, "--missing", 0.1]


@pytest.fixture
def simulate(annulus, tmp_path):
    def run(*args, folder="scan", phantom="inclusions"):
        done = annulus("simulate", "--phantom", phantom, "-o", tmp_path / folder, "-q", *args)
        assert done.returncode == 0, done.stderr
        return tmp_path / folder

    return run


def columns(folder):
    with open(folder / "scan.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["frame", "translation [mm]", "angle [deg]", "monitor", "time [s]"]
    values = numpy.array(rows[1:], dtype=float)
    return {name.split()[0]: values[:, i] for i, name in enumerate(rows[0])}


def truth(folder):
    """Every dataset of the file by its path."""
    found = {}
    with h5py.File(folder / "scan_phantom.nxs") as file:
        file["entry"].visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def phase_at(discs, x, y):
    """Index of the topmost disc at each point, or -1: the later of two discs lies on top."""
    found = numpy.full(numpy.broadcast(x, y).shape, -1)
    for i, (cx, cy, radius) in enumerate(zip(discs["discs/x"], discs["discs/y"], discs["discs/radius"])):
        found[(x - cx) ** 2 + (y - cy) ** 2 < radius**2] = i
    return found


@pytest.mark.parametrize("form", ["hdf5", "eiger"])
def test_columns_are_the_same_in_every_place(simulate, form):
    options = ["--voxels", 7, "--angles", 5, *UNEVEN]
    cbf = simulate(*options, folder="cbf")
    hdf5 = simulate(*options, "--format", form, folder=form)
    expected = columns(cbf)
    assert (hdf5 / "scan.csv").read_bytes() == (cbf / "scan.csv").read_bytes()
    assert (expected["frame"] == numpy.arange(len(expected["frame"]))).all()

    files = sorted(cbf.glob("*.cbf"))
    assert len(files) == len(expected["frame"]) < 35
    for i, path in enumerate(files):
        header = dict(re.findall(r"^# (Phi|Start_position|Flux) (\S+)", path.read_bytes()[:2000].decode("latin-1"), re.M))
        assert [float(header[key]) for key in ("Start_position", "Phi", "Flux")] == \
            [expected[key][i] for key in ("translation", "angle", "monitor")]

    with h5py.File(hdf5 / ("scan.h5" if form == "hdf5" else "scan_master.h5")) as file:
        entry = file["entry"]
        assert entry["sample"].attrs["NX_class"] == b"NXsample" and entry["control"].attrs["NX_class"] == b"NXmonitor"
        for name, column, unit in (("sample/x_translation", "translation", "mm"), ("sample/rotation_angle", "angle", "deg"),
                                   ("instrument/detector/start_time", "time", "s")):
            assert (entry[name][()] == expected[column]).all()
            assert entry[name].attrs["units"] == unit.encode()
        assert (entry["control/data"][()] == expected["monitor"]).all()


def test_lines_run_back_and_forth_and_points_are_missing(simulate):
    folder = simulate("--voxels", 11, "--angles", 6, "--angle-range", 360, "--zigzag", "--missing", 0.2, "--voxel-size", 0.25)
    found = columns(folder)
    point = numpy.rint(found["time"] / 0.01).astype(int)  # a missing point leaves a gap in time
    assert 30 < len(point) < 66 and (numpy.diff(point) > 0).all()
    line, place = point // 11, point % 11
    position = numpy.where(line % 2 == 0, place, 10 - place)
    numpy.testing.assert_allclose(found["translation"], (position - 5) * 0.25, atol=1e-12)
    numpy.testing.assert_allclose(found["angle"], line * 60, atol=1e-12)


@pytest.mark.parametrize("options", [[], ["--absorption"], ["--absorption", "--angle-range", 360, "--axis-offset", 0.0071]],
                         ids=["clear", "absorbing", "shifted"])
def test_paths_are_line_integrals_through_the_discs(simulate, options):
    folder = simulate("--voxels", 24, "--angles", 7, "--jitter", 0.4, *options)
    found, known = columns(folder), truth(folder)
    phases = list(known["paths/phase"])
    of_disc = numpy.array([phases.index(name) if name in phases else -1 for name in known["discs/phase"]])
    attenuation = known.get("paths/attenuation", numpy.zeros(len(phases)))
    assert (attenuation > 0).all() == ("--absorption" in options)

    step = 24 * 0.001 / 20000
    along = numpy.arange(-0.012, 0.012, step) + step / 2
    offset = (found["translation"] - known["discs/axis_offset"])[:, None]
    angle = numpy.deg2rad(found["angle"])[:, None]
    disc = phase_at(known, offset * numpy.cos(angle) + along * numpy.sin(angle),
                    along * numpy.cos(angle) - offset * numpy.sin(angle))
    density = numpy.where(disc < 0, 0, known["discs/density"][disc])
    phase = numpy.where(disc < 0, -1, of_disc[disc])
    fall = density * numpy.where(phase < 0, 0, attenuation[phase]) * step
    depth = numpy.cumsum(fall, axis=1) - fall / 2
    for i in range(len(phases)):
        expected = (density * (phase == i) * numpy.exp(-depth)).sum(axis=1) * step
        numpy.testing.assert_allclose(known["paths/path"][:, i], expected, atol=12 * step)
    numpy.testing.assert_allclose(known["paths/transmission"], numpy.exp(-fall.sum(axis=1)), atol=12 * step * attenuation.max())


def test_integrated_frames_follow_from_the_truth_within_counting_noise(annulus, simulate, tmp_path):
    folder = simulate("--detector", "Pilatus300k", "--voxels", 9, "--angles", 4, "--ring-width", 1.5, "--absorption", *UNEVEN)
    output = tmp_path / "patterns.nxs"
    done = annulus("integrate", "-p", folder / "scan.poni", "-n", 800, "-u", "2th_deg", "--split", "no", "--polarization", 0.99,
                   "--error-model", "poisson", "-o", output, folder)
    assert done.returncode == 0, done.stderr
    known, monitor = truth(folder), columns(folder)["monitor"]
    with h5py.File(output) as file:
        data = file["entry/data"]
        axis, intensity, error = data["radial_axis"][()], data["I"][()], data["I_errors"][()]
    assert len(intensity) == len(monitor)  # nothing but the frames was taken from the folder
    pulls = []
    for frame, path in enumerate(known["paths/path"]):
        pattern = monitor[frame] * (known["patterns/background"] + path @ known["patterns/intensity"])
        expected = numpy.interp(axis, known["patterns/two_theta"], pattern)
        # The error that belongs to the expected counts: that of the counts found would favour low ones.
        used = error[frame] > 0
        sigma = error[frame][used] * numpy.sqrt(expected[used] / intensity[frame][used])
        pulls.append((intensity[frame][used] - expected[used]) / sigma)
    pulls = numpy.concatenate(pulls)
    assert len(pulls) > 20000
    assert abs(pulls.mean()) < 0.04 and numpy.abs(pulls).max() < 6
    assert pulls.std() == pytest.approx(1, abs=0.05)


def back_projection(sinogram, angles, positions, axis_offset):
    """[angle][position] -> [y][x] at the positions, by the definition: a ramp filter in real space, then linear
    interpolation at t = x cos(angle) - y sin(angle) + axis_offset."""
    count = len(positions)
    step = positions[1] - positions[0]
    distance = numpy.arange(-count + 1, count)
    ramp = numpy.where(distance % 2 == 1, -2 / (numpy.pi * numpy.where(distance == 0, 1, distance)) ** 2, 0.0)
    ramp[count - 1] = 0.5
    y, x = numpy.meshgrid(positions, positions, indexing="ij")
    image = numpy.zeros((count, count))
    for line, angle in zip(sinogram, numpy.deg2rad(angles)):
        filtered = numpy.convolve(line, ramp)[count - 1 : 2 * count - 1]
        image += numpy.interp(x * numpy.cos(angle) - y * numpy.sin(angle) + axis_offset, positions, filtered, 0, 0)
    return image * numpy.pi / (2 * len(angles)) / step


@pytest.mark.parametrize("phantom", ["inclusions", "capillary"])
def test_maps_are_what_the_paths_are_projections_of(simulate, phantom):
    folder = simulate("--voxels", 64, "--angles", 64, "--positions", 65, "--axis-offset", 0.0026, "--background", 0,
                      "--ring-counts", 20, phantom=phantom)
    found, known = columns(folder), truth(folder)
    positions, angles = found["translation"].reshape(64, 65), found["angle"].reshape(64, 65)
    assert (numpy.ptp(angles, axis=1) == 0).all() and (numpy.ptp(positions, axis=0) == 0).all()
    # The sum over positions is the whole of the phase, at every angle.
    paths = known["paths/path"].reshape(64, 65, -1)
    whole = known["phantom/density"].sum(axis=(1, 2)) * 0.001**2
    numpy.testing.assert_allclose(paths.sum(axis=1) * 0.001, numpy.broadcast_to(whole, (64, 3)), rtol=0.03)

    images = [back_projection(paths[:, :, i], angles[:, 0], positions[0], 0.0026) for i in range(3)]
    discs = phase_at(known, positions[0][None, :], positions[0][:, None])
    phases = list(known["paths/phase"])
    names = numpy.append(known["discs/phase"], b"")[discs]
    inside = numpy.isin(names, phases)
    dominant = numpy.array(phases)[numpy.argmax(images, axis=0)]
    assert inside.sum() > 300
    assert (dominant == names)[inside].mean() > 0.97  # voxels at an edge belong to two
    # Where all neighbours are of the same disc, the density is that of the disc.
    core = numpy.all([numpy.roll(discs, (dy, dx), (0, 1)) == discs for dy in range(-2, 3) for dx in range(-2, 3)], axis=0)
    compared = 0
    for i, (phase, density) in enumerate(zip(known["discs/phase"], known["discs/density"])):
        voxels = core & (discs == i)
        if phase != b"hole" and voxels.sum() >= 9:
            assert images[phases.index(phase)][voxels].mean() == pytest.approx(density, rel=0.05)
            compared += 1
    assert compared >= 3


def test_maps_are_shares_of_the_area(simulate):
    known = truth(simulate("--voxels", 20, "--angles", 1, phantom="capillary"))
    fraction, density, dominant = (known[f"phantom/{key}"] for key in ("fraction", "density", "dominant"))
    assert fraction.shape == (3, 20, 20)
    fine = (numpy.arange(20 * 50) + 0.5) / 50 * 0.001 - 0.01
    disc = phase_at(known, fine[None, :], fine[:, None])
    for i, phase in enumerate(known["phantom/phase"]):
        for found, weight in ((fraction, numpy.ones(len(known["discs/x"]))), (density, known["discs/density"])):
            points = numpy.where(numpy.append(known["discs/phase"], b"")[disc] == phase, numpy.append(weight, 0)[disc], 0)
            numpy.testing.assert_allclose(found[i], points.reshape(20, 50, 20, 50).mean(axis=(1, 3)), atol=0.03)
    assert (fraction.sum(axis=0) < 1 + 1e-9).all()
    assert (dominant == numpy.where(density.sum(axis=0) > 0, density.argmax(axis=0), -1)).all()


def test_the_truth_has_a_default_plot(simulate):
    with h5py.File(simulate("--voxels", 6, "--angles", 1) / "scan_phantom.nxs") as file:
        entry = file[file.attrs["default"]]
        group = entry[entry.attrs["default"]]
        assert group.attrs["NX_class"] == b"NXdata"
        signal = group[group.attrs["signal"]]
        assert signal.ndim == len(group.attrs["axes"])
        for axis, length in zip(group.attrs["axes"], signal.shape):
            assert group[axis].shape == (length,)


def test_densities_are_images_too(simulate):
    with h5py.File(simulate("--voxels", 6, "--angles", 1) / "scan_phantom.nxs") as file:
        entry = file["entry"]
        phantom = entry["phantom"]
        names = [name.decode() + "_density" for name in phantom["phase"][()]]
        assert [name.decode() for name in entry.attrs["images"]] == names
        for name, density in zip(names, phantom["density"][()]):
            group = entry[name]
            assert (group[group.attrs["signal"]][()] == density).all()
            for axis, known in zip(group.attrs["axes"], ("y", "x")):
                assert (group[axis][()] == phantom[known][()]).all() and group[axis].attrs["units"] == b"mm"


def test_the_same_seed_gives_the_same_bytes_whatever_the_threads(simulate):
    options = ["--voxels", 5, "--angles", 3, *UNEVEN]
    one = simulate(*options, "--threads", 1, folder="one", phantom="random")
    four = simulate(*options, "--threads", 4, folder="four", phantom="random")
    other = simulate(*options, "--seed", 2, folder="other", phantom="random")
    for path in one.iterdir():
        assert path.read_bytes() == (four / path.name).read_bytes(), path.name
    assert (other / "scan.csv").read_bytes() != (one / "scan.csv").read_bytes()
    assert (truth(other)["discs/x"] != truth(one)["discs/x"]).any()


@pytest.mark.parametrize("options, words", [
    (["--angles", 0], ["--angles", "0"]),
    (["--positions", 0], ["--positions"]),
    (["--disc", "Au,0.9,0,0.2"], ["--disc", "Au,0.9,0,0.2", "leaves the field"]),
    (["--disc", "Pb,0,0,0.2"], ["--disc", "Pb", "LaB6"]),
    (["--missing", 1], ["--missing", "no frame"]),
    (["--jitter", 0.7], ["--jitter"]),
    (["--frames", 3], ["--frames", "--phantom"]),
    (["--calibrant", "Si"], ["--calibrant", "--phantom"]),
    (["--absorption", "--energy", 5], ["--absorption", "5 keV", "--energy"]),
])
def test_options_that_make_no_sense_are_named(annulus, tmp_path, options, words):
    done = annulus("simulate", "--phantom", "discs", "-o", tmp_path / "none", *options)
    assert done.returncode == 2
    for word in words:
        assert word in done.stderr
    assert not (tmp_path / "none").exists()


def test_unknown_phantoms_and_scans_without_one_are_refused(annulus, tmp_path):
    done = annulus("simulate", "--phantom", "bear", "-o", tmp_path / "none")
    assert done.returncode == 2 and "'bear'" in done.stderr and "inclusions" in done.stderr
    for option in (["--zigzag"], ["--angles", 100]):  # also with the value that is the default
        done = annulus("simulate", *option, "-o", tmp_path / "none")
        assert done.returncode == 2 and option[0] in done.stderr and "--phantom" in done.stderr
    done = annulus("simulate", "--phantom", "empty", "-o", tmp_path / "none")
    assert done.returncode == 2 and "--disc" in done.stderr
