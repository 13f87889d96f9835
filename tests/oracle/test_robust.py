"""Robust averages against their definition in Python's unbounded integers: every integer and every double, bit for bit."""

import dataclasses
import os

import h5py
import numpy
import pytest

from robust_definition import Frame, MISSING, Plan, Recipe, Reduction, SUMS

STORED = {"squares": "value_squares"}  # other sums have the names that they have here; `squares` is a total of the plan

RANDOM = int(os.environ.get("ANNULUS_RANDOM_CASES", 24))
BACKENDS = ["cpu"] + ["opencl"] * bool(os.environ.get("ANNULUS_WITH_OPENCL"))
PATTERNS = ("I", "I_errors", "I_deviation", "spottiness")
TYPES = ("uint8", "uint16", "int16", "int32", "uint32", "float32")
CLIPS = ("no", "sigma", "median", "quantiles")
MODELS = ("no", "poisson", "azimuthal", "hybrid")


@dataclasses.dataclass(frozen=True)
class Setting:
    """A plan and what it is for; arrays are made from its seed."""

    seed: int
    shape: tuple
    split: str
    npt: int
    azim: int | None
    unit: str
    tilt: float
    dtype: str
    dark: str | None
    flat: str | None
    mask: bool
    radial: bool  # only a part of the rings

    def __str__(self):
        words = [str(self.seed), "x".join(map(str, self.shape)), self.split, f"{self.npt}x{self.azim or 1}", self.unit, self.dtype]
        words += [f"dark {self.dark}"] if self.dark else []
        words += [f"flat {self.flat}"] if self.flat else []
        return " ".join(words + ["mask"] * self.mask + ["range"] * self.radial)

    def arguments(self, folder):
        """Writes the files of a setting; the words of a command that has them."""
        rng = numpy.random.default_rng([self.seed, 1])
        rows, cols = self.shape
        (folder / "case.poni").write_text(
            f'poni_version: 2\nDetector: Detector\nDetector_config: {{"pixel1": 1e-4, "pixel2": 1.2e-4, "max_shape": [{rows}, {cols}]}}\n'
            f"Distance: {rng.uniform(0.01, 0.1)}\nPoni1: {rng.uniform(-0.2, 1) * rows * 1e-4}\nPoni2: {rng.uniform(0, 1) * cols * 1.2e-4}\n"
            f"Rot1: {self.tilt * rng.uniform(-1, 1)}\nRot2: {self.tilt * rng.uniform(-1, 1)}\nRot3: 0\nWavelength: 1e-10\n")
        words = ["integrate", "-p", folder / "case.poni", "-n", self.npt, "-u", self.unit, "--split", self.split, "-q"]
        words += ["--npt-azim", self.azim] if self.azim else []
        words += ["-P", 0.95] if rng.random() < 0.5 else []
        darks = {"whole": lambda: rng.integers(0, 9, self.shape), "fractions": lambda: rng.normal(4, 2, self.shape),
                 "large": lambda: rng.choice([-1, 1], self.shape) * numpy.exp(rng.uniform(8, 12.5, self.shape))}
        flats = {"even": lambda: rng.normal(1, 0.05, self.shape), "uneven": lambda: numpy.exp(rng.normal(0, 1.5, self.shape))}
        for name, made in (("dark", darks.get(self.dark)), ("flat", flats.get(self.flat))):
            if made:
                numpy.save(folder / f"{name}.npy", made().astype(numpy.float32))
                words += [f"--{name}", folder / f"{name}.npy"]
        if self.mask:
            mask = rng.random(self.shape) < 0.1
            mask[rows // 3:rows // 2, cols // 4:] = True
            numpy.save(folder / "mask.npy", mask.astype(numpy.int8))
            words += ["-m", folder / "mask.npy"]
        if self.radial:
            words += ["--radial-range", 0.5, 2.5]
        return words

    def frames(self, count):
        rng = numpy.random.default_rng([self.seed, 2])
        return numpy.stack([make_image(rng, self.shape, self.dtype, kind) for kind in rng.permutation(
            [KINDS[i % len(KINDS)] for i in range(count)])])


KINDS = ("powder", "hot", "even", "few", "bright", "wild", "zeros", "powder", "invalid")


def make_image(rng, shape, dtype, kind):
    """A powder whose brightness falls outwards, and what spoils it."""
    rows, cols = numpy.indices(shape)
    mean = 3 + 60 * numpy.exp(-numpy.hypot(rows - shape[0] / 2, cols) / 15)
    image = rng.poisson(mean * {"bright": 3, "few": 0.02}.get(kind, 1)).astype(float)
    is_float = dtype.startswith("f")
    limits = None if is_float else numpy.iinfo(dtype)
    top = 1e6 if is_float else float(limits.max - 3 * (limits.min == 0))
    spoilt = rng.random(shape) < 0.02
    if kind == "even":
        image[:] = 7
    elif kind == "zeros":
        image[:] = 0
    elif kind == "hot":
        image[spoilt] = rng.choice([top, top / 3, 100, 120], spoilt.sum())
    elif kind == "wild":
        image = rng.uniform(-top if is_float or limits.min else 0, top, shape)
    if is_float:
        image = image * (1 if kind in ("even", "few") else 0.3 + rng.random())
        image[spoilt & (kind == "invalid")] = numpy.nan
        return numpy.round(image * 1024) / 1024 if kind != "bright" else image.astype(dtype)
    image = image.clip(limits.min, limits.max).astype(dtype)
    if kind == "invalid":  # what no count may be, and a ring or corner without anything
        image[spoilt] = limits.max if limits.min == 0 else limits.min
        image[:shape[0] // 3, :shape[1] // 3] = limits.max if limits.min == 0 else limits.min
    return image


def draw_setting(number):
    rng = numpy.random.default_rng([2026, number])

    def often(probability):
        return bool(rng.random() < probability)

    split = ("no", "bbox", "full")[number % 3]
    azim = int(rng.integers(2, 9)) if often(0.35) else None
    dtype = TYPES[number % len(TYPES)] if number < len(TYPES) * 3 else str(rng.choice(TYPES))
    radial = often(0.2)
    return Setting(
        seed=number, shape=tuple(int(x) for x in rng.integers(24, 60, 2)), split=split,
        npt=int(numpy.exp(rng.uniform(numpy.log(2), numpy.log(30 if azim else 400)))), azim=azim,
        unit="r_mm" if radial else str(rng.choice(["r_mm", "2th_deg", "q_nm^-1"])), tilt=0.0 if radial else float(rng.choice([0, 0.3])), dtype=dtype,
        dark=str(rng.choice(["whole", "fractions", "large"], p=[0.3, 0.5, 0.2])) if often(0.5) else None,
        flat=str(rng.choice(["even", "uneven"])) if often(0.4) else None, mask=often(0.4), radial=radial)


def draw_recipe(rng, clip, model):
    threshold = float(rng.choice([0.3, 1.0, 2.0, 2.5, 3.3, 5.0, 8.0]))
    low = float(rng.choice([0, 0.1, 0.25, 1 / 3, 0.5]))
    return Recipe(error_model=model, clip=clip, threshold=threshold if clip == "sigma" else 5.0,
                  cycles=int(rng.choice([1, 2, 3, 5, 9])) if clip == "sigma" else 5,
                  quantiles=(low, float(rng.choice([low, 0.5, 0.9, 1.0]))) if clip == "quantiles" else None,
                  spottiness=clip == "no" and (model != "azimuthal" or rng.random() < 0.5))


def recipes_of(number):
    """One of each clip, the models taking turns."""
    rng = numpy.random.default_rng([2027, number])
    return [draw_recipe(rng, clip, MODELS[(number + turn) % 4]) for turn, clip in enumerate(CLIPS)]


def read(path):
    """All datasets of sums, with their words put together, and the patterns."""
    with h5py.File(path) as file:
        sums = {name: value[()] for name, value in file["/entry/reduction/accumulators"].items()}
        bits = {name: int(value) for name, value in file["/entry/reduction/accumulators"].attrs.items() if name.endswith(("_bits", "_shift"))}
        data = {name: file[f"/entry/data/{name}"][()] for name in PATTERNS if name in file["/entry/data"]}
        assert not numpy.any(file["/entry/frames/status"][()])
    return sums, bits, data


def whole(sums, name, frame=None):
    """The numbers of a frame with all of their words, or of the plan's totals."""
    def row(dataset):
        return (sums[dataset] if frame is None else sums[dataset][frame]).ravel().astype(object)

    numbers, word = row(name), 1
    while f"{name}_word{word}" in sums:
        numbers = numbers + row(f"{name}_word{word}") * 2 ** (64 * word)
        word += 1
    return numbers


def assert_is_defined(path, matrix, images, recipe):
    """The output is what the definition says. How many entries were clipped, bins emptied and passes taken."""
    sums, bits, data = read(path)
    plan = Plan(matrix)
    for name, value in plan.bits.items():
        if name != "dark" or plan.dark is not None:
            assert bits[f"{name}_bits"] == value
    for name in ("divisor_bits", "square_bits", "dark_shift"):
        assert bits[name] == getattr(plan, name), name
    for name, total in plan.totals.items():
        numpy.testing.assert_array_equal(whole(sums, name), total, err_msg=name)
    clipped = emptied = passes = 0
    for number, image in enumerate(images):
        reduction = Reduction(plan, Frame(plan, image, recipe), recipe)
        if "fraction_bits" in sums:
            assert sums["fraction_bits"][number] == reduction.frame.fraction_bits
        for name in SUMS + MISSING:
            if name in recipe.stored(plan.dark is not None):
                assert_row(sums, name, number, reduction.sums[name])
            else:
                assert STORED.get(name, name) not in sums, f"{name} is stored, which nobody asked for"
        pattern = reduction.pattern()
        assert set(pattern) == set(data)
        for name, expected in pattern.items():
            found = data[name][number].ravel()
            different = numpy.flatnonzero(~((found == expected) | (numpy.isnan(found) & numpy.isnan(expected))))
            assert not len(different), (f"{name} of frame {number}, bin {different[0]}: {expected[different[0]]!r} expected, "
                                        f"{found[different[0]]!r} found; {len(different)} bins differ")
        clipped += sum(reduction.sums["clipped"])
        emptied += sum(reduction.emptied)
        passes = max(passes, reduction.passes)
    return clipped, emptied, passes


def assert_row(sums, name, frame, expected):
    found = whole(sums, STORED.get(name, name), frame)
    different = numpy.flatnonzero(found != expected)
    assert not len(different), (f"{name} of frame {frame}, bin {different[0]}: {expected[different[0]]} expected, "
                                f"{found[different[0]]} found; {len(different)} of {len(expected)} bins differ")


def assert_same_bytes(path, reference, order=None):
    """Sums and patterns; `order` has the frames of the reference."""
    totals = {"count", "normalization", "dark", "squares", "squares_word1"}
    ours, theirs = read(path), read(reference)
    assert ours[1] == theirs[1]
    for found, expected in ((ours[0], theirs[0]), (ours[2], theirs[2])):
        assert set(found) == set(expected)
        for name, values in expected.items():
            if order is not None and name not in totals:
                values = values[order]
            assert found[name].dtype == values.dtype and found[name].tobytes() == values.tobytes(), name


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Of OpenCL: what one test compiles and measures serves the next."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(annulus, cache, monkeypatch):
    """Runs the program, which must succeed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))

    def call(*args):
        done = annulus(*args)
        assert done.returncode == 0, (args, done.stderr)
        return done

    return call


@pytest.mark.parametrize("setting", [draw_setting(number) for number in range(RANDOM)], ids=str)
def test_random_plans_and_recipes_are_what_the_definition_says(run, tmp_path, setting, report):
    arguments = setting.arguments(tmp_path)
    images = setting.frames(len(KINDS))
    numpy.save(tmp_path / "images.npy", images)
    for recipe in recipes_of(setting.seed):
        words = [*arguments, *recipe.arguments(), "--overwrite"]
        run(*words, "--save-matrix", tmp_path / "matrix.h5", "-o", tmp_path / "cpu.nxs", tmp_path / "images.npy")
        found = assert_is_defined(tmp_path / "cpu.nxs", tmp_path / "matrix.h5", images, recipe)
        report.append(f"{found[0]:6} entries clipped, {found[1]:4} bins emptied, {found[2]} passes at most: {setting}; {recipe}")
        for backend in BACKENDS[1:]:
            run(*words, "--backend", backend, "-o", tmp_path / "other.nxs", tmp_path / "images.npy")
            assert_same_bytes(tmp_path / "other.nxs", tmp_path / "cpu.nxs")


ALL_KINDS = [Recipe("azimuthal"), Recipe("no", spottiness=True), Recipe("azimuthal", "sigma", 2.5), Recipe("poisson", "sigma", 3.0),
             Recipe("hybrid", "sigma", 3.0, 3), Recipe("poisson", "median"), Recipe("azimuthal", "quantiles", quantiles=(0.1, 0.8))]


@pytest.mark.parametrize("split", ["no", "full"])
@pytest.mark.parametrize("recipe", ALL_KINDS, ids=lambda recipe: f"{recipe.error_model} {recipe.clip}")
def test_results_do_not_depend_on_how_they_are_computed(run, tmp_path, split, recipe):
    """Threads, batches, instruction sets, backends, what else is in the scan, and the order of files."""
    setting = Setting(seed=77, shape=(41, 53), split=split, npt=40, azim=None, unit="r_mm", tilt=0.1, dtype="int32",
                      dark="fractions", flat="even", mask=True, radial=False)
    words = [*setting.arguments(tmp_path), *recipe.arguments(), "--overwrite"]
    images = setting.frames(21)  # more than are side by side in any backend, and not a multiple of it
    names = []
    for number, image in enumerate(images):
        names.append(tmp_path / f"image_{number:02}.npy")
        numpy.save(names[-1], image)
    reference = tmp_path / "reference.nxs"
    run(*words, "--save-matrix", tmp_path / "matrix.h5", "--threads", 1, "-o", reference, *names)
    assert_is_defined(reference, tmp_path / "matrix.h5", images, recipe)
    batches = [] if recipe.clip in ("median", "quantiles") else [["--batch", 1], ["--batch", 3], ["--batch", 16, "--threads", 2]]
    for more in [["--threads", 2], *batches, *[["--instruction-set", name] for name in instruction_sets(run)]]:
        run(*words, *more, "-o", tmp_path / "other.nxs", *names)
        assert_same_bytes(tmp_path / "other.nxs", reference)
    order = numpy.random.default_rng(1).permutation(len(images))
    for backend in BACKENDS:
        run(*words, "--backend", backend, "-o", tmp_path / "other.nxs", *names)
        assert_same_bytes(tmp_path / "other.nxs", reference)
        run(*words, "--backend", backend, "-o", tmp_path / "other.nxs", *[names[i] for i in order])
        assert_same_bytes(tmp_path / "other.nxs", reference, order)
        for each in (0, 8):  # alone
            run(*words, "--backend", backend, "-o", tmp_path / "other.nxs", names[each])
            alone, together = read(tmp_path / "other.nxs")[2], read(reference)[2]
            for name, rows in together.items():
                assert alone[name][0].tobytes() == rows[each].tobytes(), name


def instruction_sets(run):
    """That this machine has, besides the one that is chosen."""
    import json

    machine = json.loads(run("bench", "--json", "--only", "decode", "--detector", "Pilatus100k", "--frames", 1, "--repetitions", 1,
                             "--codec", "int32").stdout)["machine"]
    return machine["instruction_sets"]


def test_hot_pixels_go_and_nothing_else_does(run, tmp_path):
    """What the definition is for: a powder with hot pixels has the pattern of the powder."""
    rng = numpy.random.default_rng(5)
    setting = Setting(seed=5, shape=(120, 120), split="no", npt=20, azim=None, unit="r_mm", tilt=0, dtype="int32", dark=None,
                      flat=None, mask=False, radial=False)
    clean = rng.poisson(50, setting.shape).astype(numpy.int32)
    spoilt = clean.copy()
    hot = rng.choice(clean.size, 60, replace=False)
    spoilt.ravel()[hot] = rng.integers(5000, 10 ** 6, 60)
    numpy.save(tmp_path / "images.npy", numpy.stack([clean, spoilt]))
    words = [*setting.arguments(tmp_path), "--no-solid-angle", "--overwrite", "-o", tmp_path / "out.nxs", tmp_path / "images.npy"]
    run(*words, *Recipe("azimuthal", "sigma").arguments())
    sums, _, data = read(tmp_path / "out.nxs")
    assert sums["clipped"][0].sum() == 0 and sums["clipped"][1].sum() == 60
    assert numpy.nanmax(numpy.abs(data["I"][1] / data["I"][0] - 1)) < 0.05
    run(*words, *Recipe("no", "median").arguments())
    data = read(tmp_path / "out.nxs")[2]
    assert numpy.nanmax(numpy.abs(data["I"][1] / data["I"][0] - 1)) < 0.05


@pytest.mark.parametrize("recipe, word", [(Recipe("azimuthal"), "azimuthal errors"), (Recipe("hybrid"), "hybrid errors"),
                                          (Recipe("poisson", "sigma"), "sigma clipping"), (Recipe("no", "median"), "medians"),
                                          (Recipe("no", "quantiles", quantiles=(0.2, 0.4)), "quantiles"),
                                          (Recipe("no", spottiness=True), "spottiness")], ids=str)
def test_the_model_refuses_by_name(annulus, tmp_path, recipe, word):
    setting = Setting(seed=5, shape=(30, 30), split="no", npt=10, azim=None, unit="r_mm", tilt=0, dtype="int32", dark=None,
                      flat=None, mask=False, radial=False)
    numpy.save(tmp_path / "image.npy", setting.frames(1)[0])
    done = annulus(*setting.arguments(tmp_path), *recipe.arguments(), "--backend", "model", "-o", tmp_path / "out.nxs",
                   tmp_path / "image.npy")
    assert done.returncode != 0 and "model" in done.stderr and word in done.stderr, done.stderr
    assert not (tmp_path / "out.nxs").exists()
