"""Outputs of clips and of errors by the spread of pixels: what they store verifies, renormalises and merges."""

import fractions
import math
import shutil

import h5py
import numpy
import pytest

USAGE, INPUT, OUTPUT = 2, 3, 5
SUMS = "/entry/reduction/accumulators"
SHAPE = (195, 487)
FRAMES = 6
BINS = 40

RECIPES = {
    "azimuthal": ["--error-model", "azimuthal"],
    "spotty": ["--error-model", "azimuthal", "--spottiness"],
    "sigma": ["--error-model", "azimuthal", "--clip", "sigma", "--clip-threshold", 3, "--clip-cycles", 4],
    "poisson sigma": ["--error-model", "poisson", "--clip", "sigma"],
    "hybrid": ["--error-model", "hybrid", "--clip", "sigma"],
    "median": ["--error-model", "poisson", "--clip", "median"],
    "quantiles": ["--error-model", "azimuthal", "--clip", "quantiles", "--clip-quantiles", 0.1, 0.9],
}


def good(done):
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Frames with hot pixels, pixels that are off, and a dark in fractions of counts."""
    folder = tmp_path_factory.mktemp("inputs")
    random = numpy.random.default_rng(5)
    for i in range(FRAMES):
        frame = random.poisson(40 + 10 * i, SHAPE).astype(numpy.int32)
        frame[random.random(SHAPE) < 0.002] = 50000
        if i != 3:  # one of them has all of its pixels
            frame[random.random(SHAPE) < 0.01] = -5
        numpy.save(folder / f"f_{i}.npy", frame)
    numpy.save(folder / "dark.npy", numpy.full(SHAPE, 0.25))
    return folder


@pytest.fixture(scope="module")
def integrate(annulus, scan, inputs):
    def run(out, *options, frames=range(FRAMES), expect=0):
        done = annulus("integrate", "-p", scan.poni, "-n", BINS, "--dummy", -5, "--dark", inputs / "dark.npy",
                       *options, "-o", out, *(inputs / f"f_{i}.npy" for i in frames))
        assert done.returncode == expect, done.stderr
        return done
    return run


@pytest.fixture(scope="module")
def outputs(integrate, tmp_path_factory):
    """One of each recipe."""
    folder = tmp_path_factory.mktemp("outputs")
    for name, options in RECIPES.items():
        integrate(folder / f"{name}.nxs", *options)
    return {name: folder / f"{name}.nxs" for name in RECIPES}


def curves(path):
    with h5py.File(path) as file:
        return {name: file["entry/data"][name][()] for name in ("I", "I_errors", "I_deviation", "spottiness")
                if name in file["entry/data"]}


def assert_same(path, other):
    """The same numbers, byte for byte."""
    with h5py.File(path) as file, h5py.File(other) as expected:
        for group in ("entry/data", SUMS):
            assert set(file[group]) == set(expected[group])
            for name in expected[group]:
                assert file[group][name][()].tobytes() == expected[group][name][()].tobytes(), name
            assert {k: v for k, v in file[group].attrs.items() if k != "axes"}.keys() == expected[group].attrs.keys() - {"axes"}


def whole(sums, name, frame=None):
    """Of all words, as unbounded integers."""
    def at(key):
        values = sums[key][()] if frame is None else sums[key][frame]
        return [int(value) for value in values]
    numbers = at(name)
    for word in range(1, 6):
        if f"{name}_word{word}" in sums:
            numbers = [a + b * 2 ** (64 * word) for a, b in zip(numbers, at(f"{name}_word{word}"))]
    return numbers


def valid(sums, name, frame):
    return [a - b for a, b in zip(whole(sums, name), whole(sums, f"missing_{name}", frame))]


class Frame:
    """The sums of a frame, as fractions."""

    def __init__(self, file, frame):
        sums, bits = file[SUMS], {name: int(value) for name, value in file[SUMS].attrs.items() if name.endswith(("bits", "shift"))}
        fraction = int(sums["fraction_bits"][frame])
        value = fraction + bits["dark_shift"]

        def scaled(numbers, exponent):
            return [fractions.Fraction(number, 2 ** exponent) for number in numbers]
        signal = scaled(whole(sums, "signal", frame), bits["weight_bits"] + fraction)
        dark = scaled(valid(sums, "dark", frame), bits["weight_bits"] + bits["dark_bits"])
        self.signal = [a - b for a, b in zip(signal, dark)]
        self.norm = scaled(valid(sums, "normalization", frame), bits["weight_bits"] + bits["normalization_bits"])
        self.squares = scaled(valid(sums, "squares", frame), bits["square_bits"] + 2 * bits["divisor_bits"])
        if "products" in sums:
            self.a = scaled(whole(sums, "value_squares", frame), bits["square_bits"] + 2 * value)
            self.b = scaled(whole(sums, "products", frame), bits["square_bits"] + value + bits["divisor_bits"])
        if "variance" in sums:
            self.variance = scaled(whole(sums, "variance", frame), bits["variance_bits"] + fraction)
        self.factor = fractions.Fraction(float(file["entry/frames/normalization_factor"][frame]))


def merged_exactly(frames, model):
    """Mean, its standard error and the standard deviation of a pixel, of the pixels of all frames."""
    found = {"I": [], "I_errors": [], "I_deviation": []}
    for i in range(BINS):
        norm = sum(f.norm[i] * f.factor for f in frames)
        mean = sum(f.signal[i] for f in frames) / norm
        squares = sum(f.squares[i] * f.factor ** 2 for f in frames)
        if model == "azimuthal":
            variance = (sum(f.a[i] for f in frames) - 2 * mean * sum(f.b[i] * f.factor for f in frames) + mean ** 2 * squares)
        else:
            variance = sum(f.variance[i] for f in frames)
        found["I"].append(float(mean))
        found["I_errors"].append(math.sqrt(variance) / float(norm))
        found["I_deviation"].append(math.sqrt(variance / squares))
    return found


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_stored_verifies_and_says_how_it_was_made(annulus, outputs, recipe):
    path, options = outputs[recipe], RECIPES[recipe]
    good(annulus("verify", path))
    text = good(annulus("info", path)).stdout
    with h5py.File(path) as file:
        attributes = file[SUMS].attrs
        model = options[options.index("--error-model") + 1]
        clip = options[options.index("--clip") + 1] if "--clip" in options else "no"
        assert attributes["error_model"] == model.encode() and attributes["clip"] == clip.encode()
        assert f"error_model: {model}" in text and f"method: {clip}" in text
        assert ("clipped" in file[SUMS]) == (clip != "no")
        assert ("spottiness" in file["entry/data"]) == ("--spottiness" in options)
        if clip != "no":
            assert file[SUMS]["clipped"][()].sum(axis=1).min() > 0
        assert numpy.isfinite(file["entry/data/I_deviation"][()]).all()
        # Errors are of means: they are smaller than deviations by the root of the number of pixels.
        ratio = file["entry/data/I_deviation"][0] / file["entry/data/I_errors"][0]
        frame = Frame(file, 0)
        expected = [float(norm) / math.sqrt(square) for norm, square in zip(frame.norm, frame.squares)]
        assert numpy.allclose(ratio, expected, rtol=1e-12)


@pytest.mark.parametrize("name, value, words", [
    ("value_squares", 7, "the error of bin"), ("products", 7, "the error of bin"), ("missing_squares", 1 << 40, "the error of bin"),
    ("clipped", -1, "clipped of bin"), ("emptied", 2, "emptied of bin"), ("missing_count", 1 << 60, "clipped ones are stated")])
def test_changed_integers_are_noticed(annulus, outputs, tmp_path, name, value, words):
    path = tmp_path / "changed.nxs"
    shutil.copy(outputs["sigma"], path)
    with h5py.File(path, "r+") as file:
        file[SUMS][name][1, 5] = value
    done = annulus("verify", path)
    assert done.returncode != 0 and words in done.stdout + done.stderr
    assert "frame 1" in done.stdout + done.stderr


@pytest.mark.parametrize("recipe", RECIPES)
def test_renormalising_equals_reducing_again(annulus, integrate, outputs, tmp_path, recipe):
    renormalised, reduced = tmp_path / "renormalised.nxs", tmp_path / "reduced.nxs"
    good(annulus("renormalise", outputs[recipe], "-o", renormalised, "--normalization-factor", 7))
    integrate(reduced, *RECIPES[recipe], "--normalization-factor", 7)
    assert_same(renormalised, reduced)
    good(annulus("verify", renormalised))
    old, new = curves(outputs[recipe]), curves(reduced)
    for name, values in old.items():
        assert numpy.allclose(new[name], values / (1 if name == "spottiness" else 7), rtol=1e-14), name


def test_frames_of_another_recipe_are_not_appended(annulus, integrate, outputs, tmp_path):
    path = tmp_path / "out.nxs"
    shutil.copy(outputs["sigma"], path)
    before = path.read_bytes()
    for other in (["--error-model", "azimuthal"], RECIPES["hybrid"], ["--error-model", "no"],
                  ["--error-model", "azimuthal", "--clip", "sigma", "--clip-threshold", 3.5, "--clip-cycles", 4],
                  ["--error-model", "azimuthal", "--clip", "sigma", "--clip-threshold", 3, "--clip-cycles", 5]):
        done = integrate(path, *other, "--append", expect=OUTPUT)
        assert "this run makes them with" in done.stderr, done.stderr
        assert path.read_bytes() == before
    shutil.copy(outputs["quantiles"], path)
    integrate(path, *RECIPES["quantiles"][:-1], 0.8, "--append", expect=OUTPUT)
    done = annulus("merge", outputs["sigma"], outputs["hybrid"], "-o", tmp_path / "x.nxs", "--scans")
    assert done.returncode == INPUT and "their recipes" in done.stderr


@pytest.mark.parametrize("recipe", ["spotty", "sigma", "hybrid"])
def test_appended_runs_and_merged_parts_are_as_one_run(annulus, integrate, outputs, tmp_path, recipe):
    appended = tmp_path / "appended.nxs"
    for frames in (range(2), range(FRAMES)):
        integrate(appended, *RECIPES[recipe], "--append", frames=frames)
    assert_same(appended, outputs[recipe])
    parts = [tmp_path / f"part_{i}.nxs" for i in (1, 2)]
    for i, part in enumerate(parts):
        integrate(part, *RECIPES[recipe], "--part", f"{i + 1}/2")
    merged, master = tmp_path / "merged.nxs", tmp_path / "master.nxs"
    good(annulus("merge", *parts, "-o", merged))
    good(annulus("merge", *parts, "-o", master, "--virtual"))
    for path in (merged, master):
        assert_same(path, outputs[recipe])
        good(annulus("verify", path))


@pytest.mark.parametrize("factors", [[1.0] * FRAMES, [1.0, 2.5, 0.75, 3.0, 1.125, 10.0]], ids=["equal", "unequal"])
@pytest.mark.parametrize("recipe", ["spotty", "sigma", "hybrid", "poisson sigma"])
def test_means_of_frames_follow_from_the_integers(annulus, outputs, tmp_path, recipe, factors):
    table = tmp_path / "m.csv"
    table.write_text("I0\n" + "".join(f"{factor}\n" for factor in factors))
    scan, mean = tmp_path / "scan.nxs", tmp_path / "mean.nxs"
    good(annulus("renormalise", outputs[recipe], "-o", scan, "--monitor", f"I0={table}#I0"))
    good(annulus("merge", scan, "-o", mean, "--mean"))
    good(annulus("verify", mean))
    with h5py.File(scan) as file:
        expected = merged_exactly([Frame(file, i) for i in range(FRAMES)], "azimuthal" if recipe in ("spotty", "sigma") else "poisson")
        clipped = file[SUMS]["clipped"][()].sum(axis=0) if "clipped" in file[SUMS] else None
    found = curves(mean)
    for name, values in expected.items():
        assert numpy.allclose(found[name][0], values, rtol=1e-10, atol=0), name
    with h5py.File(mean) as file:
        if clipped is not None:
            assert numpy.array_equal(file[SUMS]["clipped"][0], clipped)
