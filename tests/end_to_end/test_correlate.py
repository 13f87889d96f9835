"""annulus correlate: the sums are those of NumPy's integers, whatever the input, the threads, and how often it was ended."""

import json
import os
import signal
import subprocess
import sys
import time

import h5py
import numpy
import pytest

USAGE, INPUT, OUTPUT, SOME_BAD, INTERRUPTED = 2, 3, 5, 7, 130
SIGNAL, MASK, C2 = (f"/entry/correlation/{name}" for name in ("signal", "mask", "c2"))
# What says when and how a file was made.
APART = {"/entry/process/date", "/entry/process/configuration", "/entry/checksums/header"}


def integers(images, scale=None, subtract_mean=True):
    """Images [image][q][phi] with NaN where masked, as the integers that are correlated, their masks, and the scale."""
    images = images.astype("f8")
    masks = ~numpy.isnan(images)
    values = numpy.where(masks, images, 0)
    counts = numpy.maximum(masks.sum(axis=2), 1)
    # cumsum adds one value after the other; sum does not.
    levels = values.cumsum(axis=2)[:, :, -1] / counts if subtract_mean else numpy.zeros(images.shape[:2])
    differences = (values - levels[:, :, None]) * masks
    if scale is None:
        first = differences[masks.any(axis=(1, 2))][:100]
        scale = 40
        while numpy.rint(first * 2.0 ** scale).max() > 2047 or numpy.rint(first * 2.0 ** scale).min() < -2048:
            scale -= 1
    return numpy.rint(differences * 2.0 ** scale).astype("i8"), masks.astype("i8"), scale


def direct_sums(images):
    """[pair][d], in integers."""
    upper = numpy.triu_indices(images.shape[1])
    turns = [numpy.einsum("jqp,jrp->qr", images, numpy.roll(images, -d, axis=2))[upper] for d in range(images.shape[2])]
    return numpy.stack(turns, axis=1)


def assert_correlates(path, images, scale=None, subtract_mean=True):
    """The file holds what these images give."""
    values, masks, scale = integers(images, scale, subtract_mean)
    signal_, mask = direct_sums(values), direct_sums(masks)
    with h5py.File(path, "r") as file:
        assert file["/entry/process/scale"][()] == scale
        assert (file[SIGNAL][()] == signal_).all()
        assert (file[MASK][()] == mask).all()
        with numpy.errstate(invalid="ignore", divide="ignore"):
            expected = numpy.where(mask == 0, numpy.nan, signal_ / mask) * 2.0 ** (-2 * scale)
        assert numpy.array_equal(file[C2][()], expected, equal_nan=True)
        rings = images.shape[1]
        full = numpy.empty((rings, rings, images.shape[2]))
        full[numpy.triu_indices(rings)] = expected
        assert numpy.array_equal(file["/entry/c2_on_ring/data"][()], full[numpy.arange(rings), numpy.arange(rings)], equal_nan=True)
        zero = numpy.triu(full[:, :, 0]) if not numpy.isnan(expected[:, 0]).any() else None
        if zero is not None:
            assert numpy.array_equal(numpy.triu(file["/entry/c2_at_zero/data"][()]), zero)
            assert numpy.array_equal(file["/entry/c2_at_zero/data"][()], file["/entry/c2_at_zero/data"][()].T)


def contents(path):
    found = {}

    def visit(name, item):
        name = "/" + name
        if isinstance(item, h5py.Dataset) and name not in APART and not name.startswith("/entry/process/options/"):
            found[name] = (item.shape, str(item.dtype), numpy.asarray(item[()]).tobytes())
    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def snapshots(number, rings, angles, seed=1, masked=0.0):
    random = numpy.random.default_rng(seed)
    images = random.normal(100, 10, (number, rings, angles))
    images[random.random(images.shape) < masked] = numpy.nan
    return images


@pytest.fixture
def correlate(annulus, tmp_path):
    def run(*args, output="c2.nxs", code=0, **kwargs):
        done = annulus("correlate", "-o", tmp_path / output, *args, "--json", **kwargs)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if done.stdout else done.stderr
    return run


def test_sums_are_those_of_the_cakes_of_integrate(annulus, scan, tmp_path, correlate):
    options = ["-p", scan.poni, "-n", 20, "--npt-azim", 16, "--unit", "q_A^-1", scan.folder]
    done = annulus("integrate", "-o", tmp_path / "cakes.nxs", "--azimuth-range", -180, 180, *options, "-q")
    assert done.returncode == 0, done.stderr
    report = correlate(*options, "--legendre", 4)
    with h5py.File(tmp_path / "cakes.nxs", "r") as cakes, h5py.File(tmp_path / "c2.nxs", "r") as file:
        assert_correlates(tmp_path / "c2.nxs", cakes["/entry/data/I"][()].transpose(0, 2, 1))
        assert numpy.array_equal(file["/entry/c2_on_ring/q"][()], cakes["/entry/data/radial_axis"][()])
        assert file["/entry/process/plan_hash"][()] == cakes["/entry/reduction/input/plan_hash"][()]
        rows = file["/entry/snapshots"]
        assert (rows["status"][()] == 0).all() and (rows["frame_index"][()] == range(24)).all()
        assert [rows["sources"][i].decode() for i in rows["source"]] == [str(name) for name in scan.files]
        assert (rows["source_id"][()] == cakes["/entry/frames/source_id"][()]).all()
        assert file["/entry/legendre/order"][()].tolist() == [0, 2, 4]
        # Angstrom, as q is 1/angstrom.
        assert 0.1 < file["/entry/legendre/wavelength"][()] < 10
    assert report["counted"] == 24 and report["finished"]
    done = annulus("verify", tmp_path / "c2.nxs")
    assert done.returncode == 0 and "24 frames verified, 0 bad" in done.stdout, done.stderr


@pytest.mark.release_only
def test_backends_give_the_same(annulus, scan, tmp_path, correlate):
    options = ["-p", scan.poni, "-n", 20, "--npt-azim", 16, *scan.files[:3]]
    correlate(*options)
    correlate(*options, "--backend", "model", output="model.nxs")
    expected = contents(tmp_path / "c2.nxs")
    found = contents(tmp_path / "model.nxs")
    assert [name for name in expected if found[name] != expected[name]] == ["/entry/process/backend"]


@pytest.mark.parametrize("kind", ["f4", "f8", "i2", "u4", "hdf5"])
def test_polar_images_of_all_kinds(tmp_path, correlate, kind):
    images = snapshots(130, 5, 12, masked=0.1 if kind[0] == "f" else 0)
    if kind == "hdf5":
        with h5py.File(tmp_path / "images.h5", "w") as file:
            file["polar"] = images
        source = f"{tmp_path / 'images.h5'}::/polar"
    else:
        images = images.astype(kind)
        numpy.save(tmp_path / "images.npy", images)
        source = tmp_path / "images.npy"
    correlate("--polar", source)
    assert_correlates(tmp_path / "c2.nxs", images)


def test_threads_blocks_and_files_change_nothing(tmp_path, correlate):
    images = snapshots(60, 9, 20, masked=0.05)
    images[20:40, 3] = numpy.nan  # a ring of some; one mask for all of the rest
    images[40:, 2:5, 4:9] = numpy.nan
    numpy.save(tmp_path / "all.npy", images)
    correlate("--polar", tmp_path / "all.npy")
    assert_correlates(tmp_path / "c2.nxs", images)
    expected = contents(tmp_path / "c2.nxs")
    for threads, block in ((1, 1), (2, 7), (3, 64)):
        correlate("--polar", tmp_path / "all.npy", "--threads", threads, "--block", block, output="other.nxs")
        assert contents(tmp_path / "other.nxs") == expected
        (tmp_path / "other.nxs").unlink()
    names = [tmp_path / f"part_{i}.npy" for i in range(4)]
    for i, name in enumerate(names):
        numpy.save(name, images[15 * i:15 * i + 15])
    correlate("--polar", *names, output="other.nxs")
    found = contents(tmp_path / "other.nxs")
    assert [found[name] == expected[name] for name in (SIGNAL, MASK, C2)] == [True] * 3


def test_options_of_the_integers(tmp_path, correlate):
    images = snapshots(12, 4, 10, masked=0.1)
    images[3] *= 3
    images[5] = 1000
    numpy.save(tmp_path / "images.npy", images)
    report = correlate("--polar", tmp_path / "images.npy", "--scale", 2, "--keep-mean")
    assert_correlates(tmp_path / "c2.nxs", images, 2, subtract_mean=False)
    assert report["scale"] == 2
    report = correlate("--polar", tmp_path / "images.npy", "--least-mean", 50, "--most-mean", 200, output="limited.nxs")
    assert (report["counted"], report["rejected"]) == (10, 2)
    assert_correlates(tmp_path / "limited.nxs", images[[0, 1, 2, 4, 6, 7, 8, 9, 10, 11]])
    with h5py.File(tmp_path / "limited.nxs", "r") as file:
        rows = file["/entry/snapshots"]
        assert rows["status"][()].tolist() == [0, 0, 0, 1, 0, 1] + [0] * 6
        assert rows["mean"][5] == 1000
        assert b"above `most_mean`" in rows["reasons"][rows["reason"][5] - 1]
    # Values that leave 16 bits reject their image.
    report = correlate("--polar", tmp_path / "images.npy", "--scale", 9, "--keep-mean", output="large.nxs")
    assert report["rejected"] == 12 and report["counted"] == 0


def test_cosines_have_their_analytic_correlation(tmp_path, correlate):
    angles, m, a, b = 90, 3, 7.0, 2.0
    phi = numpy.arange(angles) * 2 * numpy.pi / angles
    random = numpy.random.default_rng(4)
    turns = random.integers(0, angles, 50) * 2 * numpy.pi / angles
    images = a + b * numpy.cos(m * (phi[None, None, :] + turns[:, None, None]) + numpy.array([0, 0.4])[None, :, None])
    numpy.save(tmp_path / "images.npy", images)
    correlate("--polar", tmp_path / "images.npy", "--keep-mean", "--scale", 11)
    with h5py.File(tmp_path / "c2.nxs", "r") as file:
        c2 = file[C2][()]
        d = numpy.deg2rad(file["/entry/c2_on_ring/angle"][()])
    for row, shift in ((0, 0.0), (1, 0.4), (2, 0.0)):
        assert numpy.abs(c2[row] - (a * a + b * b / 2 * numpy.cos(m * d + shift))).max() < 0.01


def test_rings_and_legendre_of_polar_images(tmp_path, correlate):
    angles = 64
    cosine = numpy.cos(numpy.arange(angles) * 2 * numpy.pi / angles)
    images = numpy.stack([numpy.stack([cosine * 100, cosine * 50])] * 3)
    numpy.save(tmp_path / "images.npy", images)
    correlate("--polar", tmp_path / "images.npy", "--legendre", 2, "--radial-range", 0.1, 0.5, "--unit", "q_nm^-1", "--wavelength", 1.5)
    with h5py.File(tmp_path / "c2.nxs", "r") as file:
        assert numpy.allclose(file["/entry/c2_on_ring/q"][()], [0.2, 0.4])
        assert file["/entry/c2_on_ring/q"].attrs["units"] == b"1/nm" or file["/entry/c2_on_ring/q"].attrs["units"] == "1/nm"
        assert file["/entry/legendre/wavelength"][()] == 0.15
        assert file["/entry/legendre/data"].shape == (3, 2) and file["/entry/legendre/condition"].shape == (3,)
        # C2(q, q', d) by least squares over P_0 and P_2, with the curved sphere's angles.
        q = numpy.array([0.2, 0.4])
        up = q * 0.15 / (4 * numpy.pi)
        for row, (one, other) in enumerate(((0, 0), (0, 1), (1, 1))):
            psi = up[one] * up[other] + numpy.sqrt((1 - up[one] ** 2) * (1 - up[other] ** 2)) * cosine
            basis = numpy.stack([numpy.ones(angles), (3 * psi ** 2 - 1) / 2], axis=1) / (4 * numpy.pi)
            expected = numpy.linalg.lstsq(basis, file[C2][row], rcond=None)[0]
            assert numpy.allclose(file["/entry/legendre/data"][row], expected, rtol=1e-8, atol=1e-6)


def number_of(path):
    return path.stat().st_ino if path.exists() else None


def wait_for_another(path, before, process):
    end = time.monotonic() + 60
    while number_of(path) in (None, before):
        assert process.poll() is None and time.monotonic() < end, "no checkpoint was written"
        time.sleep(0.002)


def test_a_killed_run_is_resumed(annulus, tmp_path):
    images = snapshots(6000, 12, 64, masked=0.02).astype("f4")
    numpy.save(tmp_path / "images.npy", images)
    command = [os.environ["ANNULUS"], "correlate", "--polar", "images.npy", "--append", "--checkpoint", "0.001", "-q", "-o"]
    done = subprocess.run([*command, "whole.nxs"], cwd=tmp_path, check=False)
    assert done.returncode == 0
    expected = contents(tmp_path / "whole.nxs")
    output = tmp_path / "c2.nxs"
    for number in (signal.SIGKILL, signal.SIGINT):
        before = number_of(output)
        with subprocess.Popen([*command, "c2.nxs"], cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
            wait_for_another(output, before, process)
            process.send_signal(number)
            assert process.wait() == (-number if number == signal.SIGKILL else INTERRUPTED)
        # The last checkpoint is a whole file, of what came until then.
        with h5py.File(output, "r") as file:
            stored = len(file["/entry/snapshots/status"])
            assert not file["/entry/process/finished"][()]
        assert 0 < stored < 6000
    assert_correlates(output, images[:stored], scale=int(numpy.frombuffer(expected["/entry/process/scale"][2], "i8")[0]))
    done = annulus("verify", output)
    assert done.returncode == 0 and "not finished" in done.stderr
    done = subprocess.run([*command, "c2.nxs"], cwd=tmp_path, check=False)
    assert done.returncode == 0
    found = contents(output)
    assert [name for name in expected if found[name] != expected[name]] == []
    assert [name.name for name in tmp_path.iterdir() if "partial" in name.name or name.name.endswith("~")] == []
    # Nothing is left to do.
    done = annulus("correlate", "--polar", "images.npy", "--append", "--json", "-o", "c2.nxs", cwd=tmp_path)
    assert json.loads(done.stdout)["already_stored"] == 6000
    assert contents(output) == found


def test_append_takes_new_images_only(tmp_path, correlate):
    images = snapshots(150, 4, 16)
    numpy.save(tmp_path / "a.npy", images[:120])
    numpy.save(tmp_path / "b.npy", images[120:])
    correlate("--polar", tmp_path / "a.npy", "--append")
    report = correlate("--polar", tmp_path / "a.npy", tmp_path / "b.npy", "--append")
    assert (report["already_stored"], report["images"], report["counted"]) == (120, 30, 150)
    correlate("--polar", tmp_path / "a.npy", tmp_path / "b.npy", output="whole.nxs")
    assert contents(tmp_path / "c2.nxs") == contents(tmp_path / "whole.nxs")
    for other in (["--scale", 1], ["--keep-mean"], ["--least-mean", 1], ["--most-mean", 1], ["--radial-range", 1, 2],
                  ["--legendre", 2, "--flat-ewald"]):
        text = correlate("--polar", tmp_path / "a.npy", "--append", *other, code=OUTPUT)
        assert "cannot be continued" in text and other[0] in text.replace("rings", "--radial-range"), text
    numpy.save(tmp_path / "c.npy", images[:, :3])
    assert "shape: 3 rings x 16 angles here, 4 x 16 there" in correlate("--polar", tmp_path / "c.npy", "--append", code=OUTPUT)
    assert "exists already" in correlate("--polar", tmp_path / "a.npy", code=OUTPUT)


def test_parts_add_up_to_the_whole(tmp_path, correlate):
    images = snapshots(120, 4, 16, masked=0.1)
    images[:110] /= 4  # the scale is that of the first 100 images of the scan, whoever has them
    numpy.save(tmp_path / "images.npy", images)
    correlate("--polar", tmp_path / "images.npy")
    sums, places = 0, []
    for part in (1, 2, 3):
        report = correlate("--polar", tmp_path / "images.npy", "--part", f"{part}/3", output=f"part_{part}.nxs")
        assert report["already_stored"] == 0
        with h5py.File(tmp_path / f"part_{part}.nxs", "r") as file:
            sums = sums + numpy.stack([file[SIGNAL][()], file[MASK][()]])
            places += file["/entry/snapshots/frame_index"][()].tolist()
    assert sorted(places) == list(range(120)) and places != sorted(places)
    with h5py.File(tmp_path / "c2.nxs", "r") as file:
        assert (sums == numpy.stack([file[SIGNAL][()], file[MASK][()]])).all()
    report = correlate("--polar", tmp_path / "images.npy", "--part", "2/3", "--append", output="part_2.nxs")
    assert report["images"] == 0 and report["already_stored"] == report["counted"]


def test_previews_are_marked_and_end_there(annulus, tmp_path, correlate):
    images = snapshots(80, 6, 32, masked=0.1)
    numpy.save(tmp_path / "images.npy", images)
    report = correlate("--polar", tmp_path / "images.npy", "--fast")
    assert report["preview"]
    correlate("--polar", tmp_path / "images.npy", output="exact.nxs")
    with h5py.File(tmp_path / "c2.nxs", "r") as fast, h5py.File(tmp_path / "exact.nxs", "r") as exact:
        assert fast["/entry/process/preview"][()] and not exact["/entry/process/preview"][()]
        assert "preview" in fast["/entry/title"][()].decode() and "preview" in fast["/entry/c2_on_ring/title"][()].decode()
        assert fast[SIGNAL].dtype == "f4"
        assert numpy.array_equal(fast[MASK][()], exact[MASK][()])
        assert numpy.abs(fast[C2][()] - exact[C2][()]).max() < 1e-5 * numpy.abs(exact[C2][()]).max()
    assert annulus("verify", tmp_path / "c2.nxs").returncode == 0
    assert "preview" in correlate("--polar", tmp_path / "images.npy", "--append", code=INPUT)
    assert "--fast" in correlate("--polar", tmp_path / "images.npy", "--append", "--fast", code=USAGE)


def test_bad_images(tmp_path, correlate):
    images = snapshots(3, 4, 8)
    for i in range(3):
        numpy.save(tmp_path / f"image_{i}.npy", images[i])
    (tmp_path / "image_1.npy").write_bytes((tmp_path / "image_1.npy").read_bytes()[:200])
    numpy.save(tmp_path / "image_3.npy", snapshots(1, 4, 9)[0])
    names = [tmp_path / f"image_{i}.npy" for i in range(4)]
    assert "image_1.npy" in correlate("--polar", *names, "--scale", 3, code=INPUT)["first_fault"]
    with h5py.File(tmp_path / "c2.nxs", "r") as file:
        assert len(file["/entry/snapshots/status"]) == 1 and not file["/entry/process/finished"][()]
    correlate("--polar", *names, "--keep-going", "--append", code=SOME_BAD)
    with h5py.File(tmp_path / "c2.nxs", "r") as file:
        assert file["/entry/snapshots/status"][()].tolist() == [0, 2, 0, 2]
        assert b"4 x 9" in file["/entry/snapshots/reasons"][-1]
    assert_correlates(tmp_path / "c2.nxs", images[[0, 2]], 3)


def test_a_scale_that_few_images_decide_is_not_kept(tmp_path, correlate):
    """The run that goes on has the result of one that was never disturbed."""
    images = snapshots(150, 4, 16)
    images[:30] /= 100  # too few to know how bright the others are
    (tmp_path / "images").mkdir()
    names = [tmp_path / f"images/{i:03d}.npy" for i in range(150)]
    for name, image in zip(names, images):
        numpy.save(name, image)
    whole = names[20].read_bytes()
    names[20].write_bytes(whole[:100])
    report = correlate("--polar", "--append", tmp_path / "images", code=INPUT)
    assert "nothing is written: 20 images are too few to find the scale" in report["warnings"][0]
    assert not (tmp_path / "c2.nxs").exists()
    # Parts neither: they would take the scale of other images.
    assert "020.npy" in correlate("--polar", "--part", "2/3", tmp_path / "images", output="part.nxs", code=INPUT)
    assert not (tmp_path / "part.nxs").exists()
    names[20].write_bytes(whole)
    correlate("--polar", "--append", tmp_path / "images")
    assert_correlates(tmp_path / "c2.nxs", images)


def test_rejected_images_do_not_wait_for_the_scale(tmp_path, correlate):
    """Their rows are where they would have been, and many share a reason."""
    images = snapshots(200, 4, 16)
    images[::2] -= 100 + numpy.arange(100)[:, None, None] / 100
    images[7] = numpy.nan
    numpy.save(tmp_path / "images.npy", images)
    found = correlate("--polar", "--least-mean", 50, tmp_path / "images.npy")
    assert (found["counted"], found["rejected"]) == (99, 101)
    correlate("--polar", "--least-mean", 50, "--scale", found["scale"], tmp_path / "images.npy", output="given.nxs")
    assert contents(tmp_path / "c2.nxs") == contents(tmp_path / "given.nxs")
    assert_correlates(tmp_path / "given.nxs", images[numpy.nanmean(images, axis=(1, 2)) > 50], found["scale"])
    with h5py.File(tmp_path / "c2.nxs") as file:
        assert file["/entry/snapshots/reasons"][()].tolist() == [b"its mean is below `least_mean`, 50", b"all its values are masked"]
        assert numpy.allclose(file["/entry/snapshots/mean"][()], images.mean(axis=(1, 2)), equal_nan=True)


@pytest.mark.release_only
def test_rejected_images_take_no_memory(tmp_path):
    with h5py.File(tmp_path / "blank.h5", "w") as file:
        file.create_dataset("polar", data=numpy.zeros((4000, 100, 64), "f4"), chunks=(1, 100, 64), compression="gzip")
    command = [os.environ["ANNULUS"], "correlate", "--polar", f"{tmp_path / 'blank.h5'}::/polar", "--least-mean", 1, "--overwrite", "-q",
               "--memory", 16, "-o", tmp_path / "c2.nxs"]
    given, found = memory_of([*command, "--scale", 3]), memory_of(command)
    assert found - given < 20, f"{given}, {found} MB"  # all of them take 205 MB


def test_two_runs_do_not_overwrite_each_other(annulus, tmp_path, correlate):
    images = snapshots(120, 4, 16)
    (tmp_path / "slow").mkdir()
    for name, part in (("a", images[:100]), ("slow/b", images[100:110]), ("c", images[110:])):
        numpy.save(tmp_path / f"{name}.npy", part)
    correlate("--polar", tmp_path / "a.npy")
    command = [os.environ["ANNULUS"], "correlate", "--polar", "--append", "--follow", "--follow-timeout", "3", "-q", "-o",
               tmp_path / "c2.nxs", tmp_path / "slow"]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True) as waiting:
        time.sleep(1.5)  # it has read what there is
        assert correlate("--polar", "--append", tmp_path / "c.npy")["counted"] == 110
        text = waiting.communicate(timeout=60)[1]
    assert waiting.returncode == OUTPUT and "another program wrote this file meanwhile" in text, text
    with h5py.File(tmp_path / "c2.nxs", "r") as file:
        scale = file["/entry/process/scale"][()]
    assert_correlates(tmp_path / "c2.nxs", images[[*range(100), *range(110, 120)]], scale)
    assert annulus("verify", tmp_path / "c2.nxs").returncode == 0


def test_images_count_once(tmp_path, correlate):
    numpy.save(tmp_path / "images.npy", snapshots(5, 4, 8))
    for other in ("images.npy", "./images.npy", f"../{tmp_path.name}/images.npy"):
        assert "is named twice" in correlate("--polar", "images.npy", other, code=USAGE, cwd=tmp_path)
    # A file that leads to it names its images, too.
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["polar"] = snapshots(5, 4, 8)
    with h5py.File(tmp_path / "master.h5", "w") as file:
        file["polar"] = h5py.ExternalLink("data.h5", "/polar")
    for inputs in (["data.h5::/polar", "master.h5::/polar"], ["master.h5::/polar", "data.h5::/polar"]):
        text = correlate("--polar", *inputs, "--scale", 3, code=INPUT, cwd=tmp_path)
        assert "was correlated twice" in text, text
    assert not (tmp_path / "c2.nxs").exists()


def test_what_came_before_a_fault_is_kept(tmp_path, correlate):
    """A stack that cannot be opened ends a part: nobody knows the places of what follows."""
    images = snapshots(30, 4, 8)
    for i in range(3):
        numpy.save(tmp_path / f"s{i}.npy", images[10 * i:10 * i + 10])
    (tmp_path / "s1.npy").write_bytes(b"no stack")
    names = [tmp_path / f"s{i}.npy" for i in range(3)]
    correlate("--polar", "--part", "1/2", "--keep-going", "--scale", 3, *names, code=INPUT)
    with h5py.File(tmp_path / "c2.nxs", "r") as file:
        assert not file["/entry/process/finished"][()]
    assert_correlates(tmp_path / "c2.nxs", images[:8], 3)


def test_another_monitor_is_refused(tmp_path, scan, correlate):
    (tmp_path / "m.csv").write_text("a,b\n" + "".join(f"{100 + i},{200 - i}\n" for i in range(24)))
    options = ["-p", scan.poni, "-n", 20, "--npt-azim", 16, "--append", scan.folder]
    correlate("--monitor", f"I0={tmp_path / 'm.csv'}#a", *options)
    (tmp_path / "other.csv").write_bytes((tmp_path / "m.csv").read_bytes())
    assert correlate("--monitor", f"{tmp_path / 'other.csv'}#a", *options)["already_stored"] == 24
    text = correlate("--monitor", f"I0={tmp_path / 'm.csv'}#b", *options, code=OUTPUT)
    assert "cannot be continued: --monitor: b here, a there" in text
    assert "--monitor: not given here, a there" in correlate(*options, code=OUTPUT)


def test_names_of_sources_say_where_they_are(annulus, tmp_path, correlate):
    for i, folder in enumerate((tmp_path / "one", tmp_path / "two")):
        folder.mkdir()
        numpy.save(folder / "x.npy", snapshots(10, 4, 8, seed=i))
        correlate("--polar", "--scale", 3, "x.npy", output=f"{folder.name}.nxs", cwd=folder)
    done = annulus("merge", tmp_path / "one.nxs", tmp_path / "two.nxs", "-o", tmp_path / "merged.nxs")
    assert done.returncode == 0, done.stderr
    correlate("--polar", "--append", "x.npy", output="one.nxs", cwd=tmp_path / "two")
    for name in ("merged.nxs", "one.nxs"):
        with h5py.File(tmp_path / name, "r") as file:
            assert file["/entry/process/working_directory"][()].decode() == str(tmp_path / "one")
            assert [text.decode() for text in file["/entry/snapshots/sources"]] == ["x.npy", str(tmp_path / "two/x.npy")]
    done = annulus("merge", "--overwrite", tmp_path / "one.nxs", tmp_path / "two.nxs", "-o", tmp_path / "two.nxs")
    assert done.returncode == USAGE and "is one of the inputs" in done.stderr


def test_integers_that_doubles_round_are_bad(tmp_path, correlate):
    images = numpy.arange(2 * 4 * 8).reshape(2, 4, 8)
    images[1, 2, 3] = 2 ** 53 + 1
    numpy.save(tmp_path / "images.npy", images)
    assert "2^53" in correlate("--polar", "--scale", 3, tmp_path / "images.npy", code=INPUT)["first_fault"]
    assert_correlates(tmp_path / "c2.nxs", images[:1], 3)


@pytest.mark.parametrize("options, text", [
    (["images.npy"], "if these are polar images [q][phi], give --polar"),
    (["--polar", "images.npy", "--poni", "x.poni"], "--poni: it means nothing to polar images"),
    (["--polar", "images.npy", "-n", 7], "--npt: it means nothing"),
    (["--polar", "images.npy", "--legendre", 4], "--legendre: nobody says how curved"),
    (["--polar", "images.npy", "--legendre", 4, "--wavelength", 1], "--legendre: the rings have no q"),
    (["--polar", "images.npy", "--legendre", 40, "--flat-ewald"], "--legendre: 16 angles determine no"),
    (["--polar", "images.npy", "--legendre", 10, "--flat-ewald"], "they determine at most 5 of them"),
    (["--polar", "images.npy", "--legendre", 4, "--unit", "2th_deg", "--radial-range", 0, 400, "--wavelength", 1],
     "more than half a turn"),
    (["--polar", "images.npy", "--unit", "2th_deg"], "--unit: it is that of --radial-range"),
    (["--polar", "images.npy", "--flat-ewald"], "--flat-ewald: it means nothing without --legendre"),
    (["--polar", "images.npy", "--scale", 500], "--scale: 500 is not between"),
    (["--polar", "images.npy", "--checkpoint", -1], "--checkpoint"),
    (["--polar", "images.npy", "--least-mean", 3, "--most-mean", 2], "no image would be taken"),
    (["--polar", "images.npy", "--column", "a=b.csv#c"], "--column"),
    (["--polar", "images.npy", "--radial-range", 2, 1], "--radial-range: 2 to 1 has no width"),
    (["--polar", "huge.npy"], "this machine has"),
])
def test_refuses_what_makes_no_sense(annulus, tmp_path, options, text):
    numpy.save(tmp_path / "images.npy", snapshots(2, 4, 16))
    numpy.save(tmp_path / "huge.npy", numpy.zeros((30000, 16), "u1"))
    done = annulus("correlate", *options, "-o", "out.nxs", cwd=tmp_path)
    assert done.returncode in (USAGE, INPUT, 4), done.stderr
    assert text in done.stderr
    assert not (tmp_path / "out.nxs").exists()


def test_names_of_outputs(annulus, tmp_path):
    numpy.save(tmp_path / "images.npy", snapshots(2, 4, 16))
    (tmp_path / "link.nxs").symlink_to("nowhere.nxs")
    (tmp_path / "there.nxs").touch()
    for name, code, words in (("out.txt", USAGE, "out.txt is no name of a NeXus file (choose one, for example with .nxs)"),
                              ("link.nxs", OUTPUT, "is a link to a file that does not exist"),
                              ("there.nxs", OUTPUT, "exists already (--append goes on with it, --overwrite replaces it")):
        done = annulus("correlate", "--polar", "images.npy", "-o", name, cwd=tmp_path)
        assert done.returncode == code and words in done.stderr, done.stderr


def test_verify_finds_changes(annulus, tmp_path, correlate):
    numpy.save(tmp_path / "images.npy", snapshots(20, 4, 8, masked=0.1))
    correlate("--polar", tmp_path / "images.npy", "--legendre", 2, "--flat-ewald")
    whole = (tmp_path / "c2.nxs").read_bytes()

    def change(path, value):
        def edit(file):
            file[path][...] = value(file[path][()])
        return edit

    def one_more(values):
        values.flat[5] += 1
        return values
    for path in (SIGNAL, MASK, C2, "/entry/c2_on_ring/data", "/entry/c2_at_zero/data", "/entry/legendre/data", "/entry/snapshots/mean",
                 "/entry/snapshots/status", "/entry/c2_on_ring/q"):
        if path.endswith("/q"):
            edit = change(path, lambda values: values * 1.01)
        else:
            edit = change(path, one_more)
        (tmp_path / "c2.nxs").write_bytes(whole)
        with h5py.File(tmp_path / "c2.nxs", "r+") as file:
            edit(file)
        done = annulus("verify", tmp_path / "c2.nxs")
        assert done.returncode == INPUT, path
        if path in (SIGNAL, MASK, "/entry/snapshots/status"):
            assert "does not have its checksum" in correlate("--polar", tmp_path / "images.npy", "--append", "--legendre", 2, "--flat-ewald",
                                                            code=INPUT)
    (tmp_path / "c2.nxs").write_bytes(whole)
    assert annulus("verify", tmp_path / "c2.nxs").returncode == 0


def test_info_describes_it(annulus, tmp_path, correlate):
    images = snapshots(20, 4, 8)
    images[2] = numpy.nan
    numpy.save(tmp_path / "images.npy", images)
    correlate("--polar", tmp_path / "images.npy", "--legendre", 2, "--flat-ewald")
    found = json.loads(annulus("info", "--json", tmp_path / "c2.nxs").stdout)
    assert found["kind"] == "correlation of snapshots" and found["precision"] == "exact integers" and found["finished"]
    assert (found["rings"], found["angles"]) == (4, 8)
    assert found["snapshots"] == {"counted": 19, "rejected": 1, "bad": 0, "reasons": {"all its values are masked": 1}}
    assert found["legendre"]["orders"] == [0, 2] and found["legendre"]["worst_condition"] >= 1
    assert "kind: correlation of snapshots" in annulus("info", tmp_path / "c2.nxs").stdout
    for command in (["integrate", tmp_path / "c2.nxs"], ["renormalise", tmp_path / "c2.nxs", "-o", tmp_path / "x.nxs"],
                    ["map", tmp_path / "c2.nxs", "--x", "a", "--y", "b", "-o", tmp_path / "x.nxs"]):
        done = annulus(*command)
        assert done.returncode != 0 and "correlation of snapshots" in done.stderr, done.stderr


def memory_of(command):
    """The most memory that a process had, in MB. It is not started from here: its copy of this one would count."""
    measure = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", measure, *map(str, command)], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1000


@pytest.mark.release_only
def test_memory_does_not_grow_with_images(tmp_path):
    random = numpy.random.default_rng(2)
    found = []
    for number in (10000, 100000):
        with h5py.File(tmp_path / "images.h5", "w") as file:
            file["polar"] = random.normal(0, 1, (number, 8, 16)).astype("f4")
        found.append(memory_of([os.environ["ANNULUS"], "correlate", "--polar", f"{tmp_path / 'images.h5'}::/polar", "--overwrite", "-q",
                                "-o", tmp_path / "c2.nxs", "--memory", 16]))
    # A row per image, and copies of its columns while they are written: all images take 512 bytes each.
    assert found[1] - found[0] < 90000 * 250 / 1e6, f"{found} MB"


def test_what_ranks_left_enters_no_other_sums(annulus, tmp_path, correlate):
    """Parts of a job that was killed, beside the output of another scan."""
    old, new = tmp_path / "old.npy", tmp_path / "new.npy"
    numpy.save(old, snapshots(130, 5, 12, seed=1))
    numpy.save(new, snapshots(130, 5, 12, seed=2))
    words = ["--polar", "--scale", 4, new]
    correlate(*words, output="alone.nxs")
    folder = tmp_path / "c2.nxs.parts"
    folder.mkdir()
    correlate("--polar", "--scale", 4, old, output="c2.nxs.parts/part_001.nxs")
    for more in ([], ["--part", "1/2"], ["--part", "1/2", "--append"]):
        assert "c2.nxs.parts: holds parts of an earlier run" in correlate(*words, *more, code=OUTPUT)
    assert not (tmp_path / "c2.nxs").exists()
    (folder / "notes.txt").write_text("mine")
    (folder / "part_001.nxs.4tz1.part").write_text("half")
    correlate(*words, "--overwrite")
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert correlate(*words, "--append")["counted"] == 130
    assert contents(tmp_path / "c2.nxs") == contents(tmp_path / "alone.nxs")
    # Where nobody names the output, it is the same.
    default = tmp_path / "new_correlation.nxs.parts"
    default.mkdir()
    correlate("--polar", "--scale", 4, old, output=f"{default.name}/part_000.nxs")
    for more in ([], ["--append"]):
        done = annulus("correlate", *words, *more, cwd=tmp_path)
        assert done.returncode == OUTPUT and "holds parts" in done.stderr
    assert annulus("correlate", *words, "--overwrite", cwd=tmp_path).returncode == 0 and not default.exists()
