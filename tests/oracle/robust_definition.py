"""What robust averages are, once more and differently: from the matrix of a plan, in Python's unbounded integers.

Every pass adds up anew what lies in its windows, entry by entry. Doubles come in where docs/numerics.md says, in its order.
"""

import dataclasses
import math

import h5py
import numpy

DIVISOR_BITS = 22
MOST_SQUARE_BITS = 30
SQUARE_SUM_BITS = 41
DARK_FRACTION_BITS = 6
VALUE_BITS = 39
WINDOW_BITS = 30
MOST_WINDOW_SHIFT = 42
QUANTILE_BITS = 30

# Sums that a frame has, and those of a frame some of whose pixels do not count.
SUMS = ("signal", "variance", "squares", "products")
MISSING = ("missing_normalization", "missing_dark", "missing_count", "missing_squares", "clipped", "emptied")


@dataclasses.dataclass(frozen=True)
class Recipe:
    error_model: str = "no"
    clip: str = "no"
    threshold: float = 5.0
    cycles: int = 5
    quantiles: tuple | None = None
    spottiness: bool = False

    def arguments(self):
        words = ["--error-model", self.error_model, "--clip", self.clip]
        if self.clip == "sigma":
            words += ["--clip-threshold", repr(self.threshold), "--clip-cycles", self.cycles]
        if self.clip == "quantiles":
            words += ["--clip-quantiles", *map(repr, self.quantiles)]
        return words + ["--spottiness"] * self.spottiness

    @property
    def has_clip(self):
        return self.clip != "no"

    @property
    def has_variance(self):
        return self.error_model in ("poisson", "hybrid") or self.spottiness

    @property
    def has_spread(self):
        return self.error_model == "azimuthal" or self.spottiness

    @property
    def has_deviation(self):
        return self.error_model in ("azimuthal", "hybrid") or (self.error_model != "no" and self.has_clip)

    def stored(self, has_dark):
        """Names of what is stored of each frame."""
        squares = self.has_spread or self.has_deviation
        wanted = {"signal": True, "variance": self.has_variance, "squares": self.has_spread, "products": self.has_spread,
                  "missing_normalization": True, "missing_dark": has_dark, "missing_count": True, "missing_squares": squares,
                  "clipped": self.has_clip, "emptied": self.clip == "sigma"}
        return [name for name, is_wanted in wanted.items() if is_wanted]


def integers(values):
    """An array of Python's integers."""
    return numpy.array([int(value) for value in values], dtype=object)


def squared_weight(weight, weight_bits, bits):
    shift = 2 * weight_bits - bits
    return max(1, (weight * weight + (1 << shift >> 1)) >> shift)


def number(value, exponent):
    """An integer x 2^exponent, rounded once."""
    return math.ldexp(float(value), exponent)


class Plan:
    """A matrix that was written by --save-matrix, and what sums of squares add to it."""

    def __init__(self, path):
        with h5py.File(path) as file:
            self.bits = {name: int(file.attrs[f"{name}_bits"]) for name in ("weight", "variance", "normalization", "dark")}
            indptr, self.pixel, weight = (file[name][()] for name in ("indptr", "indices", "weight"))
            self.bins, self.pixels = map(int, file["shape"][()])
            self.normalization = integers(file["normalization"][()])
            self.dark = integers(file["dark"][()]) if "dark" in file else None
        self.bin = numpy.repeat(numpy.arange(self.bins), numpy.diff(indptr))
        self.weight = integers(weight)
        self.used = numpy.zeros(self.pixels, bool)
        self.used[self.pixel] = True
        self.variance_weight = self.squares_of_weights(self.bits["variance"])
        self.make_divisors()
        self.make_squares()
        fraction = (1 << min(max(self.bits["dark"], 0), 31)) - 1
        self.dark_shift = DARK_FRACTION_BITS if self.dark is not None and any(dark & fraction for dark in self.dark) else 0
        everything = numpy.ones(len(self.pixel), bool)
        self.totals = {"count": self.weight, "normalization": self.weight * self.normalization[self.pixel],
                       "squares": self.square * self.divisor[self.pixel] ** 2}
        if self.dark is not None:
            self.totals["dark"] = self.weight * self.dark[self.pixel]
        self.totals = {name: self.add(terms, everything) for name, terms in self.totals.items()}

    def add(self, terms, kept):
        """Of each bin the sum over its entries that are kept."""
        sums = [0] * self.bins
        for i, term in zip(self.bin[kept].tolist(), terms[kept]):
            sums[i] += term
        return numpy.array(sums, dtype=object)

    def squares_of_weights(self, bits):
        known = {weight: squared_weight(weight, self.bits["weight"], bits) for weight in set(self.weight)}
        return numpy.array([known[weight] for weight in self.weight], dtype=object)

    def make_divisors(self):
        largest = max(self.normalization[self.used])
        right = largest.bit_length() - DIVISOR_BITS
        self.divisor_bits = self.bits["normalization"] - right

        def divisor(normalization):
            if right <= 0:
                return normalization << -right
            nearest = (normalization + (1 << right - 1)) >> right
            return min(max(nearest, 1), (1 << DIVISOR_BITS) - 1)

        self.divisor = numpy.array([divisor(n) if used else 0 for n, used in zip(self.normalization, self.used)], dtype=object)

    def make_squares(self):
        if set(self.weight) == {1 << self.bits["weight"]}:
            bits = 0
        else:
            bits = min(MOST_SQUARE_BITS, 2 * self.bits["weight"])
            while bits > 0:
                sums = self.add(self.squares_of_weights(bits), numpy.ones(len(self.pixel), bool))
                excess = max(sums).bit_length() - SQUARE_SUM_BITS
                if excess <= 0:
                    break
                bits = max(0, bits - excess)
        self.square_bits = bits
        self.square = self.squares_of_weights(bits)

    def darks(self, fraction_bits):
        """Of each pixel, in the units of a frame's values."""
        finer = fraction_bits + self.dark_shift - self.bits["dark"]
        if finer < 0:
            coarser = min(-finer, VALUE_BITS)
            return numpy.array([(dark + (1 << coarser - 1)) >> coarser for dark in self.dark], dtype=object)
        finer = min(finer, VALUE_BITS)
        most = (1 << VALUE_BITS - 1) >> finer
        return numpy.array([min(max(dark, -most), most) << finer for dark in self.dark], dtype=object)


def round_frame(image, used, with_variance, largest_dark):
    """Integers, which pixels are valid, and the fraction bits of an image of floats."""
    valid = numpy.isfinite(image) & used
    values = [float(value) for value in image[valid]]
    exact, high = 0, 0
    for value in values:
        if value == 0:
            continue
        exact = max(exact, value.as_integer_ratio()[1].bit_length() - 1)
        high = max(high, math.frexp(value)[1])
    if largest_dark > 0:
        high = max(high, math.frexp(largest_dark)[1])
    bits = min(exact, 30 - high, 29 if with_variance else 200)
    raw = numpy.zeros(len(image), dtype=object)
    raw[valid] = [round(math.ldexp(value, bits)) for value in values]  # halves to even
    return raw, valid, bits


class Frame:
    """An image, ready to be reduced."""

    def __init__(self, plan, image, recipe, max_count=None):
        image = image.ravel()
        if image.dtype.kind == "f":
            largest_dark = 0.0
            if plan.dark is not None:
                largest_dark = max(abs(number(dark, -plan.bits["dark"])) for dark in plan.dark)
            self.raw, self.valid, self.fraction_bits = round_frame(image, plan.used, recipe.has_variance, largest_dark)
        else:
            top = numpy.iinfo(image.dtype).max
            limit = top - 1 if image.dtype.kind == "u" else top
            limit = limit if max_count is None else min(limit, max_count)
            self.raw, self.fraction_bits = integers(image), 0
            self.valid = numpy.array([-limit <= value <= limit for value in self.raw])
        self.value_bits = self.fraction_bits + plan.dark_shift
        self.value = self.raw * (1 << plan.dark_shift)
        if plan.dark is not None:
            self.value = self.value - plan.darks(self.fraction_bits)


class BinValues:
    """What the sums of a frame say, by bin, as doubles."""

    def __init__(self, plan, frame, sums):
        self.plan, self.frame, self.sums = plan, frame, sums

    def left(self, name, i):
        return self.plan.totals[name][i] - self.sums[f"missing_{name}"][i]

    def count(self, i):
        return number(self.left("count", i), -self.plan.bits["weight"])

    def signal(self, i):
        bits = self.plan.bits
        signal = number(self.sums["signal"][i], -(bits["weight"] + self.frame.fraction_bits))
        if self.plan.dark is None:
            return signal
        return signal - number(self.left("dark", i), -(bits["weight"] + bits["dark"]))

    def normalization(self, i):
        return number(self.left("normalization", i), -(self.plan.bits["weight"] + self.plan.bits["normalization"]))

    def variance(self, i):
        return number(self.sums["variance"][i], -(self.plan.bits["variance"] + self.frame.fraction_bits))

    def squares(self, i):
        return number(self.left("squares", i), -(self.plan.square_bits + 2 * self.plan.divisor_bits))

    def spread(self, i):
        plan, value_bits = self.plan, self.frame.value_bits
        mean = self.signal(i) / self.normalization(i)
        squared = number(self.sums["squares"][i], -(plan.square_bits + 2 * value_bits))
        product = number(self.sums["products"][i], -(plan.square_bits + value_bits + plan.divisor_bits))
        return max(0.0, squared - 2 * mean * product + mean * mean * self.squares(i))

    def spottiness(self, i):
        norm = self.normalization(i)
        expected = self.variance(i) * (1 - self.squares(i) / (norm * norm))
        return self.spread(i) / expected - 1 if expected > 0 else math.nan


class Reduction:
    """The sums of a frame, with all the passes that they take."""

    def __init__(self, plan, frame, recipe):
        self.plan, self.frame, self.recipe = plan, frame, recipe
        pixel = plan.pixel
        self.value, self.divisor = frame.value[pixel], plan.divisor[pixel]
        self.valid = frame.valid[pixel]
        one = 1 << frame.fraction_bits
        raw = frame.raw[pixel]
        self.terms = {"signal": plan.weight * raw, "variance": plan.variance_weight * numpy.maximum(raw, one),
                      "squares": plan.square * self.value ** 2, "products": plan.square * self.value * self.divisor}
        self.left_out = {"count": plan.weight, "normalization": plan.weight * plan.normalization[pixel],
                         "squares": plan.square * self.divisor ** 2}
        if plan.dark is not None:
            self.left_out["dark"] = plan.weight * plan.dark[pixel]
        self.emptied = numpy.zeros(plan.bins, dtype=object)
        self.passes = 0
        if recipe.clip == "sigma":
            self.kept = self.clip_by_sigma()
        elif recipe.has_clip:
            self.kept = self.clip_by_rank()
        else:
            self.kept = self.valid
        self.sums = self.sums_of(self.kept)
        self.sums["emptied"] = self.emptied

    def sums_of(self, kept):
        self.passes += 1
        plan = self.plan
        sums = {name: plan.add(terms, kept) for name, terms in self.terms.items()}
        for name, terms in self.left_out.items():
            sums[f"missing_{name}"] = plan.totals[name] - plan.add(terms, kept)
        sums["clipped"] = plan.add(integers(numpy.ones(len(plan.pixel), int)), self.valid & ~kept)
        return sums

    def clip_by_sigma(self):
        """Which entries are left. A window is (low, high, shift); None holds everything."""
        plan = self.plan
        windows, before = [None] * plan.bins, [None] * plan.bins
        clipped, undone = [None] * plan.bins, set(range(plan.bins))
        for step in range(self.recipe.cycles + 2):
            kept = self.valid & self.inside(windows)
            sums = self.sums_of(kept)
            values = BinValues(plan, self.frame, sums)
            for i in sorted(undone):
                if values.left("count", i) == 0:
                    undone.remove(i)
                    if clipped[i] is not None:
                        windows[i] = before[i]
                        self.emptied[i] = 1
                elif clipped[i] == sums["clipped"][i] or step >= self.recipe.cycles:
                    undone.remove(i)
                else:
                    clipped[i] = sums["clipped"][i]
                    before[i] = windows[i]
                    windows[i] = self.window(values, i, windows[i])
            if not undone:
                return self.valid & self.inside(windows)
        raise AssertionError("the clip does not end")

    def inside(self, windows):
        found = numpy.ones(len(self.value), bool)
        for entry, (i, s, n) in enumerate(zip(self.plan.bin.tolist(), self.value, self.divisor)):
            if windows[i] is not None:
                low, high, shift = windows[i]
                found[entry] = low * n <= s << shift <= high * n
        return found

    def window(self, values, i, last):
        by_spread = self.recipe.error_model != "poisson"
        variance = values.spread(i) if by_spread else values.variance(i)
        deviation = math.sqrt(variance / values.squares(i))
        mean = values.signal(i) / values.normalization(i)
        reach = max(self.recipe.threshold, chance(values.count(i))) * deviation
        scale = math.ldexp(1.0, self.frame.value_bits - self.plan.divisor_bits)
        low, high = (mean - reach) * scale, (mean + reach) * scale
        if last is not None:
            low, high = max(low, math.ldexp(last[0], -last[2])), min(high, math.ldexp(last[1], -last[2]))
        exponent = math.frexp(max(abs(low), abs(high)))[1]
        shift = min(max(WINDOW_BITS - exponent, 0), MOST_WINDOW_SHIFT)
        most = 1 << WINDOW_BITS
        return (min(max(math.ceil(math.ldexp(low, shift)), -most), most),
                min(max(math.floor(math.ldexp(high, shift)), -most), most), shift)

    def clip_by_rank(self):
        plan = self.plan
        parts = (0.5, 0.5) if self.recipe.clip == "median" else self.recipe.quantiles
        parts = [math.floor(math.ldexp(part, QUANTILE_BITS) + 0.5) for part in parts]
        x = numpy.array([float(s) / float(n) for s, n in zip(self.value, self.divisor)])
        weight = plan.weight * self.divisor
        kept = self.valid.copy()
        for i in range(plan.bins):
            entries = numpy.flatnonzero((plan.bin == i) & self.valid)
            if not len(entries):
                continue
            order = entries[numpy.argsort(x[entries], kind="stable")]
            upto = {}  # the weight of all entries up to a value
            total = 0
            for entry in order:
                total += weight[entry]
                upto[x[entry]] = total
            low, high = (next(value for value, sum_of_weights in upto.items()
                              if sum_of_weights >= 1 and sum_of_weights << QUANTILE_BITS >= part * total) for part in parts)
            kept[entries] = (x[entries] >= low) & (x[entries] <= high)
        return kept

    def outliers(self):
        """Pixels that were left out of one of their bins at least."""
        return numpy.unique(self.plan.pixel[self.valid & ~self.kept])

    def pattern(self, factor=1.0):
        """I, I_errors, I_deviation and spottiness, as far as the recipe has them."""
        plan, recipe = self.plan, self.recipe
        values = BinValues(plan, self.frame, self.sums)
        names = ["I"] + ["I_errors"] * (recipe.error_model != "no") + ["I_deviation"] * recipe.has_deviation
        names += ["spottiness"] * recipe.spottiness
        found = {name: numpy.full(plan.bins, math.nan) for name in names}
        for i in range(plan.bins):
            if values.left("count", i) == 0:
                continue
            denominator = values.normalization(i) * factor
            found["I"][i] = values.signal(i) / denominator
            if recipe.spottiness:
                found["spottiness"][i] = values.spottiness(i)
            if recipe.error_model == "no":
                continue
            variance = values.spread(i) if recipe.error_model == "azimuthal" else values.variance(i)
            found["I_errors"][i] = math.sqrt(variance) / denominator
            if recipe.has_deviation:
                found["I_deviation"][i] = math.sqrt(variance / values.squares(i)) / factor
        return found


PI = numpy.longdouble("3.14159265358979323846264338327950288")


def chance(count):
    """How many standard deviations the worst of so many pixels is off."""
    pixels = numpy.longdouble(max(3.0, count))
    return float(numpy.sqrt(2 * numpy.log(pixels / numpy.sqrt(2 * PI))))
