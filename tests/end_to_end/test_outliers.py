"""Which pixels a clip leaves out: counts, lists, and images of spots and powder."""

import h5py
import numpy
import pytest

USAGE = 2
SHAPE = (195, 487)
FRAMES = 5


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    """A flat powder, with spots that only some frames have and a hot pixel that all have."""
    folder = tmp_path_factory.mktemp("frames")
    random = numpy.random.default_rng(8)
    spots = []
    for i in range(FRAMES):
        frame = random.poisson(100, SHAPE).astype(numpy.int32)
        mine = random.choice(SHAPE[0] * SHAPE[1], 20, replace=False)
        mine = mine[mine != 7 * SHAPE[1] + 9]
        frame.flat[mine] = 5000
        frame[7, 9] = 1000000
        frame[3, 4] = -5
        numpy.save(folder / f"f_{i}.npy", frame)
        spots.append(numpy.unique([*mine, 7 * SHAPE[1] + 9]))
    return folder, spots


@pytest.fixture(scope="module")
def clip(annulus, scan, frames):
    def run(out, *options, only=range(FRAMES), expect=0):
        done = annulus("integrate", "-p", scan.poni, "-n", 40, "--dummy", -5, "--clip", "sigma", "--clip-threshold", 8,
                       *options, "-o", out, *(frames[0] / f"f_{i}.npy" for i in only))
        assert done.returncode == expect, done.stderr
        return done
    return run


def counts_of(spots):
    counts = numpy.zeros(SHAPE, "uint32")
    for mine in spots:
        counts.flat[mine] += 1
    return counts


@pytest.mark.parametrize("backend", ["cpu", "opencl"])
@pytest.mark.parametrize("split", ["no", "bbox"])
def test_lists_and_counts_are_those_of_the_spots(annulus, clip, frames, tmp_path, backend, split):
    if backend == "opencl" and "pthread" not in annulus("devices").stdout:
        pytest.skip("no OpenCL device")
    out = tmp_path / "out.nxs"
    clip(out, "--outliers", "lists", "--backend", backend, "--split", split)
    with h5py.File(out) as file:
        first, pixels = file["/entry/outliers/first"][()], file["/entry/outliers/pixels"][()]
        counts = file["/entry/outliers/counts"][()]
    assert len(first) == FRAMES + 1
    for i, mine in enumerate(frames[1]):
        assert numpy.array_equal(pixels[first[i]:first[i + 1]], mine)
    assert numpy.array_equal(counts.reshape(SHAPE), counts_of(frames[1]))
    assert annulus("verify", out).returncode == 0


def test_counts_alone_go_on_with_append_and_are_merged(annulus, clip, frames, tmp_path):
    whole, begun = tmp_path / "whole.nxs", tmp_path / "begun.nxs"
    clip(begun, "--outliers", "counts", only=range(2))
    clip(begun, "--outliers", "counts", "--append")
    first, last, merged = (tmp_path / f"{name}.nxs" for name in ("first", "last", "merged"))
    clip(first, "--outliers", "lists", only=range(2))
    clip(last, "--outliers", "lists", only=range(2, FRAMES))
    assert annulus("merge", "--scans", first, last, "-o", merged).returncode == 0
    for path in (begun, merged):
        with h5py.File(path) as file:
            assert numpy.array_equal(file["/entry/outliers/counts"][()].reshape(SHAPE), counts_of(frames[1]))
            assert ("pixels" in file["/entry/outliers"]) == (path == merged)
        assert annulus("verify", path).returncode == 0
    clip(whole)
    with h5py.File(whole) as file:
        assert "outliers" not in file["/entry"], "nobody asked"


@pytest.mark.parametrize("options, word", [
    (["--outliers", "counts"], "clip"), (["--clip", "median", "--clip-threshold", 3], "--clip-threshold"),
    (["--clip", "quantiles"], "--clip-quantiles"), (["--clip-quantiles", 0.1, 0.2], "--clip-quantiles"),
    (["--clip", "sigma", "--clip-threshold", -1], "--clip-threshold"), (["--clip", "sigma", "--clip-cycles", 0], "--clip-cycles"),
    (["--clip", "sigma", "--spottiness"], "--spottiness"), (["--clip", "sometimes"], "--clip"),
    (["--error-model", "azimuthal", "--latency"], "--latency"), (["--clip", "median", "--batch", 4], "--batch"),
    (["--clip", "quantiles", "--clip-quantiles", 0.7, 0.2], "--clip-quantiles"),
    (["--clip", "sigma", "--outliers", "lists", "--format", "xy"], "--outliers")])
def test_what_makes_no_sense_is_refused_by_name(annulus, scan, frames, tmp_path, options, word):
    out = tmp_path / ("no.xy" if "xy" in options else "no.nxs")
    done = annulus("integrate", "-p", scan.poni, *options, "-o", out, frames[0] / "f_0.npy")
    assert done.returncode == USAGE, done.stderr
    assert word in done.stderr
    assert not out.exists()


@pytest.mark.parametrize("options, words", [
    (["--clip", "sigma"], "sigma clipping"), (["--error-model", "azimuthal"], "azimuthal errors"),
    (["--error-model", "hybrid"], "hybrid errors"), (["--clip", "median"], "medians")])
def test_the_kernels_refuse_these_recipes_by_name(annulus, scan, frames, tmp_path, options, words):
    done = annulus("integrate", "-p", scan.poni, "--backend", "model", *options, "-o", tmp_path / "no.nxs", frames[0] / "f_0.npy")
    assert done.returncode != 0 and f"model: it cannot do {words}" in done.stderr
    assert not (tmp_path / "no.nxs").exists()


@pytest.mark.parametrize("count", [1, 2])
def test_spots_are_separated_from_the_powder(annulus, scan, frames, tmp_path, count):
    folder, spots = frames
    out, images = tmp_path / "patterns.nxs", tmp_path / "images.nxs"
    done = annulus("separate", "-p", scan.poni, "-n", 40, "--split", "no", "--dummy", -5, "--clip-threshold", 8, "-o", out,
                   "--images", images, *(folder / f"f_{i}.npy" for i in range(count)))
    assert done.returncode == 0, done.stderr
    with h5py.File(out) as file, h5py.File(images) as made:
        assert "clip" in file["/entry/reduction/accumulators"].attrs, "by sigma, though nobody said so"
        for i in range(count):
            suffix = "" if count == 1 else f"_{i}"
            powder, spot = made[f"/entry/powder{suffix}/data"][()], made[f"/entry/spots{suffix}/data"][()]
            frame = numpy.load(folder / f"f_{i}.npy").astype(float)
            valid = frame != -5
            assert numpy.isnan(powder[~valid]).all() and not numpy.isnan(powder[valid]).any()
            assert numpy.array_equal(numpy.flatnonzero(numpy.nan_to_num(spot)), spots[i])
            at = spot.flat[spots[i]]
            assert numpy.allclose(at, frame.flat[spots[i]] - powder.flat[spots[i]])
            # Without splitting, a pixel's powder is its bin's intensity times its normalisation: the solid angle.
            assert numpy.nanmin(powder) > 95 and numpy.nanmax(powder) < 105
    assert "kind: separation" in annulus("info", images).stdout
    assert annulus("plot", images, "-o", tmp_path / "images.png").returncode == 0


def test_separating_says_what_it_does_not_do(annulus, scan, frames, tmp_path):
    done = annulus("separate", "-p", scan.poni, "-o", tmp_path / "p.nxs", "--images", tmp_path / "i.nxs",
                   *[frames[0] / "f_0.npy"] * 65)
    assert done.returncode == USAGE and "64 frames" in done.stderr
    done = annulus("separate", "-p", scan.poni, "-o", tmp_path / "p.xy", "--images", tmp_path / "i.nxs", frames[0] / "f_0.npy")
    assert done.returncode == USAGE and "--output" in done.stderr
    (tmp_path / "i.nxs").write_text("mine")
    done = annulus("separate", "-p", scan.poni, "-o", tmp_path / "p.nxs", "--images", tmp_path / "i.nxs", frames[0] / "f_0.npy")
    assert done.returncode != 0 and (tmp_path / "i.nxs").read_text() == "mine" and not (tmp_path / "p.nxs").exists()
