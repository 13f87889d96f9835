"""Frames that are not integers of up to 32 bits, and what they must give: exactly, in Python's unbounded integers."""

import fractions

import h5py
import numpy

SHAPE = (40, 52)


def write_stack(path, frames, dtype):
    numpy.save(path, numpy.asarray(frames, dtype).reshape(len(frames), *SHAPE))
    return path


def write_poni(path):
    path.write_text(
        "poni_version: 2\nDetector: Detector\n"
        f'Detector_config: {{"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [{SHAPE[0]}, {SHAPE[1]}]}}\n'
        "Distance: 0.02\nPoni1: 0.0019\nPoni2: 0.0025\nRot1: 0.02\nRot2: -0.01\nRot3: 0\nWavelength: 1e-10\n")
    return path


def background(value, *outliers):
    """A frame of one value, but for some pixels."""
    frame = numpy.full(SHAPE, value)
    for row, column, outlier in outliers:
        frame[row, column] = outlier
    return frame


def float_frames():
    """Of float32, by name."""
    random = numpy.random.default_rng(3)
    frames = {f"one of {large:g}": background(0.1, (3, 5, large)) for large in (1e6, 1e8, 1e9, 1e30, -1e30)}
    frames["integers"] = random.poisson(20, SHAPE)
    frames["large integers"] = background(7, (0, 0, 2.0**32), (20, 20, 2.0**58), (20, 21, 2.0**29))
    frames["noise"] = random.normal(0, 1, SHAPE)
    frames["steps"] = numpy.round(random.normal(0, 3, SHAPE), 3)
    frames["counts with a flat"] = random.poisson(1000, SHAPE) / random.normal(1, 0.1, SHAPE)
    frames["a wide range"] = random.normal(0, 1, SHAPE) * 10.0 ** random.integers(-30, 30, SHAPE)
    frames["all there is"] = background(1.0, (1, 1, 3.4028234e38), (1, 9, -3.4028234e38), (30, 30, 1e-45), (2, 2, -1e-40))
    frames["not a number"] = background(0.3, (4, 4, numpy.nan), (5, 5, numpy.inf), (6, 6, 1e12), (7, 7, -numpy.inf))
    frames["zeros"] = background(0.0)
    return frames


def double_frames():
    random = numpy.random.default_rng(4)
    frames = {name: frame for name, frame in float_frames().items() if name != "all there is"}
    frames["left over"] = background(0.1 + 0.2 - 0.3, (9, 9, 12345.678))
    frames["all bits"] = random.normal(0, 1, SHAPE) * 10.0 ** random.integers(-20, 20, SHAPE)
    return frames


def wide_integers(dtype):
    random = numpy.random.default_rng(5)
    limits = numpy.iinfo(dtype)
    frames = [random.integers(0, 100, SHAPE), random.integers(max(limits.min, -2**60), 2**62, SHAPE)]
    frames[0][3, 5] = 2**40
    frames[1][7, 7] = limits.min
    return [frame.astype(dtype) for frame in frames]


def whole_numbers(sums, name, frame):
    """The sums of a frame with all of their words, in Python's integers."""
    numbers = sums[name][frame].astype(object)
    word = 1
    while f"{name}_word{word}" in sums:
        numbers = numbers + sums[f"{name}_word{word}"][frame].astype(object) * 2**(64 * word)
        word += 1
    return numbers


def as_integers(values):
    """Integers, and by which power of two they were multiplied to become that."""
    ratios = [value.as_integer_ratio() for value in values]
    bits = max(denominator.bit_length() - 1 for _, denominator in ratios)
    return [numerator * (2**bits // denominator) for numerator, denominator in ratios], bits


def assert_exact(output, matrix, frames, max_count=None):
    """Every stored sum is the exact one, and every intensity and error is that of the exact sums, to the last few bits."""
    with h5py.File(matrix) as plan, h5py.File(output) as file:
        sums = file["/entry/reduction/accumulators"]
        bits = {name: int(sums.attrs[name]) for name in ("weight_bits", "variance_bits", "normalization_bits")}
        indptr, indices, weight = (plan[name][()] for name in ("indptr", "indices", "weight"))
        normalization = plan["normalization"][()]
        shift = 2 * bits["weight_bits"] - bits["variance_bits"]
        squares = [max((int(w) ** 2 + (1 << shift >> 1)) >> shift, 1) for w in weight]
        has_errors = "variance" in sums
        for number, frame in enumerate(frames):
            pixels = frame.ravel().tolist()
            valid = [bool(numpy.isfinite(v)) and (max_count is None or abs(v) <= max_count) for v in pixels]
            values, scale = as_integers([v if ok else 0 for v, ok in zip(pixels, valid)])
            signal, variance = (whole_numbers(sums, name, number) if name in sums else None for name in ("signal", "variance"))
            fraction = int(sums["fraction_bits"][number])
            for i in range(len(indptr) - 1):
                entries = [k for k in range(indptr[i], indptr[i + 1]) if valid[indices[k]]]
                exact = sum(int(weight[k]) * values[indices[k]] for k in entries)
                unit = fractions.Fraction(2) ** -(bits["weight_bits"] + fraction)
                sum_of_bin = fractions.Fraction(exact, 2**(bits["weight_bits"] + scale))
                assert int(signal[i]) * unit == sum_of_bin, (number, i)
                norm = fractions.Fraction(sum(int(weight[k]) * int(normalization[indices[k]]) for k in entries),
                                          2**(bits["weight_bits"] + bits["normalization_bits"]))
                stored = file["/entry/data/I"][number, i]
                if not entries:
                    assert numpy.isnan(stored)
                    continue
                assert stored == 0 if exact == 0 else abs(stored / (sum_of_bin / norm) - 1) < 1e-15, (number, i)
                if has_errors:
                    exact = sum(squares[k] * max(values[indices[k]], 2**scale) for k in entries)
                    unit = fractions.Fraction(2) ** -(bits["variance_bits"] + fraction)
                    assert int(variance[i]) * unit == fractions.Fraction(exact, 2**(bits["variance_bits"] + scale)), (number, i)
