"""Sigma clips, azimuthal errors and medians beside the newest release of pyFAI, and both beside two passes in NumPy."""

import json
import logging
import os
import pathlib
import subprocess
import sys
import warnings

import h5py
import numpy
import pyFAI
import pytest

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

NEAR = 1e-3  # of a threshold: which side a pixel is on depends on how exact a standard deviation is
SAME_INTENSITY = 1e-6
SAME_ERROR = 1e-3
OUR_SPREAD = 1e-5  # of a standard deviation, beside two passes in double precision
NPT = {"Pilatus300k": 300, "Pilatus2M": 1000}
HOT = {"Pilatus300k": 400, "Pilatus2M": 3000}
CYTHON = ("no", "csr", "cython")


class Powder:
    """An image with hot pixels and spots, what Annulus reduces it to, and its plan."""

    def __init__(self, annulus, folder, detector, split="no"):
        self.annulus, self.folder, self.detector, self.npt, self.split = annulus, folder, detector, NPT[detector], split
        rng = numpy.random.default_rng(16)
        self.integrator = self.make_integrator()
        (folder / "case.poni").unlink(missing_ok=True)
        self.integrator.save(str(folder / "case.poni"))
        self.mask = self.integrator.detector.mask.astype(bool)
        # Of an object of its own: radii that are asked for stay, and are not those that pyFAI integrates with.
        other, shape = self.make_integrator(), self.integrator.detector.max_shape
        radius = other.qArray(shape)
        mean = 20 + 200 * numpy.sin(4 * radius) ** 8 + 300 * numpy.exp(-radius)
        image = rng.poisson(mean * other.solidAngleArray(shape)).astype(numpy.int32)
        used = numpy.flatnonzero(~self.mask)
        self.hot = rng.choice(used, HOT[detector], replace=False)
        image.ravel()[self.hot] = numpy.exp(rng.uniform(numpy.log(2e3), numpy.log(1e6), len(self.hot)))
        self.image = image
        numpy.save(folder / "image.npy", image)

    def make_integrator(self):
        from pyFAI.detectors import detector_factory
        from pyFAI.integrator.azimuthal import AzimuthalIntegrator

        detector = detector_factory(self.detector)
        rows, cols = detector.max_shape
        return AzimuthalIntegrator(dist=0.2, poni1=0.53 * rows * detector.pixel1, poni2=0.47 * cols * detector.pixel2, rot1=0.02,
                                   rot2=-0.01, detector=detector, wavelength=1e-10)

    def ours(self, *recipe):
        output, matrix = self.folder / "out.nxs", self.folder / "matrix.h5"
        done = self.annulus("integrate", "-p", self.folder / "case.poni", "-n", self.npt, "-u", "q_nm^-1", "--split", self.split,
                            "-q", "--overwrite", "--save-matrix", matrix, "-o", output, *recipe, self.folder / "image.npy")
        assert done.returncode == 0, done.stderr
        with h5py.File(output) as file:
            sums = file["/entry/reduction/accumulators"]
            found = {name: file[f"/entry/data/{name}"][0] for name in ("I", "I_errors", "I_deviation") if name in file["/entry/data"]}
            found["count"] = (sums["count"][()] - (sums["missing_count"][0] if "missing_count" in sums else 0)) / 2.0 ** sums.attrs["weight_bits"]
        return found

    def theirs(self, how="sigma_clip_ng", method=CYTHON, **options):
        result = getattr(self.integrator, how)(self.image, self.npt, unit="q_nm^-1", method=method, mask=self.mask.astype(numpy.int8),
                                               correctSolidAngle=True, **options)
        return {"I": result.intensity.astype(float), "I_errors": numpy.asarray(result.sem, float),
                "I_deviation": numpy.asarray(result.std, float), "count": numpy.asarray(result.count, float)}

    def pixels(self):
        """Bin, value and normalisation of the plan's pixels, in double precision; without splitting."""
        with h5py.File(self.folder / "matrix.h5") as file:
            bins = numpy.repeat(numpy.arange(self.npt), numpy.diff(file["indptr"][()]))
            pixel = file["indices"][()]
            norm = file["normalization"][()][pixel] * 2.0 ** -file.attrs["normalization_bits"]
        return bins, self.image.ravel()[pixel] / norm, norm


class TwoPasses:
    """The clip and its errors by the textbook: of every mean the deviations from it."""

    def __init__(self, bins, x, norm, npt, kept=None):
        self.bins, self.x, self.norm, self.npt = bins, x, norm, npt
        self.kept = numpy.ones(len(x), bool) if kept is None else kept
        self.near = numpy.zeros(npt, bool)
        self.near_pixels = 0
        self.update()

    def add(self, values):
        return numpy.bincount(self.bins[self.kept], values[self.kept], self.npt)

    def update(self, poisson=False):
        with numpy.errstate(all="ignore"):
            self.count, norm = self.add(numpy.ones(len(self.x))), self.add(self.norm)
            self.mean = self.add(self.x * self.norm) / norm
            # Of counting statistics, a pixel's variance is its counts, but at least one.
            variance = numpy.maximum(self.x * self.norm, 1) if poisson else (self.norm * (self.x - self.mean[self.bins])) ** 2
            variance = self.add(variance)
            self.deviation = numpy.sqrt(variance / self.add(self.norm ** 2))
            self.error = numpy.sqrt(variance) / norm

    def clip(self, threshold, cycles, errors):
        for _ in range(cycles):
            allowed = numpy.maximum(threshold, numpy.sqrt(2 * numpy.log(numpy.maximum(self.count, 3) / numpy.sqrt(2 * numpy.pi))))
            reach = (allowed * self.deviation)[self.bins]
            off = numpy.abs(self.x - self.mean[self.bins])
            near = self.kept & (numpy.abs(off - reach) < NEAR * reach)
            self.near[self.bins[near]] = True
            self.near_pixels += int(near.sum())
            self.kept &= off <= reach
            self.update()
        self.update(poisson=errors == "hybrid")
        return self


def worst(found, expected, bins):
    """The largest relative difference, in bins that have a value on both sides."""
    bins = bins & numpy.isfinite(found) & (expected != 0)
    return float(numpy.max(numpy.abs(found[bins] / expected[bins] - 1)))


@pytest.fixture(params=["Pilatus300k", "Pilatus2M"])
def powder(request, annulus, tmp_path):
    return Powder(annulus, tmp_path, request.param)


@pytest.mark.parametrize("errors", ["azimuthal", "hybrid"])
@pytest.mark.parametrize("threshold", [5.0, 3.0])
def test_sigma_clips(powder, errors, threshold, report):
    ours = powder.ours("--error-model", errors, "--clip", "sigma", "--clip-threshold", threshold)
    theirs = powder.theirs(error_model=errors, thres=threshold, max_iter=5)
    exact = TwoPasses(*powder.pixels(), powder.npt).clip(threshold, 5, errors)
    bins = ~exact.near & (exact.count > 0)
    differ = theirs["count"] != ours["count"]
    report.append(
        f"{powder.detector}, clip at {threshold:g}, {errors}: {exact.near_pixels} pixels within {NEAR:g} of a threshold, in "
        f"{exact.near.sum()} of {powder.npt} bins; counts differ in {(differ & bins).sum()} of the others, in {(differ & ~bins).sum()} of these; "
        f"I within {worst(ours['I'], theirs['I'], bins):.1e}, sem {worst(ours['I_errors'], theirs['I_errors'], bins):.1e}, "
        f"std {worst(ours['I_deviation'], theirs['I_deviation'], bins):.1e}; beside two passes, std of Annulus "
        f"{worst(ours['I_deviation'], exact.deviation, bins):.1e}, of pyFAI {worst(theirs['I_deviation'], exact.deviation, bins):.1e}")
    assert bins.sum() > 0.8 * powder.npt
    numpy.testing.assert_array_equal(ours["count"][bins], exact.count[bins])
    numpy.testing.assert_array_equal(theirs["count"][bins], exact.count[bins])
    assert worst(ours["I"], theirs["I"], bins) < SAME_INTENSITY
    assert worst(ours["I_errors"], theirs["I_errors"], bins) < SAME_ERROR
    assert worst(ours["I_deviation"], theirs["I_deviation"], bins) < SAME_ERROR
    assert worst(ours["I_deviation"], exact.deviation, bins) < OUR_SPREAD
    assert worst(ours["I"], exact.mean, bins) < SAME_INTENSITY


def test_azimuthal_errors(powder, report):
    ours = powder.ours("--error-model", "azimuthal")
    theirs = powder.theirs("integrate1d_ng", error_model="azimuthal")
    exact = TwoPasses(*powder.pixels(), powder.npt)
    bins = exact.count > 0
    report.append(
        f"{powder.detector}, azimuthal errors: I within {worst(ours['I'], theirs['I'], bins):.1e}, sem "
        f"{worst(ours['I_errors'], theirs['I_errors'], bins):.1e}; beside two passes, sem of Annulus "
        f"{worst(ours['I_errors'], exact.error, bins):.1e}, of pyFAI {worst(theirs['I_errors'], exact.error, bins):.1e}")
    numpy.testing.assert_array_equal(ours["count"], theirs["count"])
    assert worst(ours["I"], theirs["I"], bins) < SAME_INTENSITY
    assert worst(ours["I_errors"], theirs["I_errors"], bins) < SAME_ERROR
    assert worst(ours["I_errors"], exact.error, bins) < OUR_SPREAD
    assert worst(ours["I_errors"], exact.error, bins) <= worst(theirs["I_errors"], exact.error, bins)


class Ranks:
    """Pixels of each bin in the order of their values, and what quantiles make of them by either rule."""

    ROUNDING = 2e-5  # of the weights that pyFAI adds up in single precision, as a part of all

    def __init__(self, bins, x, norm, npt):
        order = numpy.lexsort((x, bins))
        self.x, self.norm = x[order], norm[order]
        self.first = numpy.searchsorted(bins[order], numpy.arange(npt + 1))
        # Annulus divides by normalisations of 22 bits, so that pixels may be equal which are not quite (docs/numerics.md).
        unit = 2.0 ** (numpy.floor(numpy.log2(norm.max())) - 21)
        self.equal = self.x * self.norm / (numpy.floor(self.norm / unit + 0.5) * unit)

    def of(self, i):
        """Values, normalisations, and the weight up to each, as a part of all."""
        part = slice(self.first[i], self.first[i + 1])
        return self.x[part], self.norm[part], numpy.cumsum(self.norm[part]) / self.norm[part].sum()

    def ours(self, i, low, high):
        """All pixels that are neither below the one quantile nor above the other."""
        x, norm, _ = self.of(i)
        equal = self.equal[self.first[i]:self.first[i + 1]]
        order = numpy.argsort(equal, kind="stable")
        x, norm, equal = x[order], norm[order], equal[order]
        upto = numpy.cumsum(norm) / norm.sum()
        ends = [equal[numpy.searchsorted(upto, part - 1e-12)] for part in (low, high)]
        return mean_of(x, norm, (equal >= ends[0] * (1 - 1e-12)) & (equal <= ends[1] * (1 + 1e-12)))

    def theirs(self, i, low, high):
        """Pixels whose own part of the weight touches what lies between: of pixels that have the same value some, and both
        neighbours of a quantile that lies exactly between two. Several results, if rounding decides."""
        x, norm, upto = self.of(i)
        before = numpy.concatenate(([0], upto[:-1]))
        shifts = (-self.ROUNDING, 0, self.ROUNDING)
        kept = [(upto >= low + a) & (before <= high + b) for a in shifts for b in shifts]
        return [mean_of(x, norm, each) for each in kept if each.any()]


def mean_of(x, norm, kept):
    return (x[kept] * norm[kept]).sum() / norm[kept].sum()


@pytest.mark.parametrize("solid_angle", [True, False], ids=["solid angle", "none"])
@pytest.mark.parametrize("quantiles", [None, (25, 75), (10, 60)], ids=str)
def test_medians_and_quantiles(annulus, tmp_path, quantiles, solid_angle, report):
    """Both do what their rules say, and where the two differ the rules explain it."""
    powder = Powder(annulus, tmp_path, "Pilatus300k")
    recipe = ["--clip", "median"] if quantiles is None else ["--clip", "quantiles", "--clip-quantiles", *(part / 100 for part in quantiles)]
    ours = powder.ours(*recipe, *[] if solid_angle else ["--no-solid-angle"])["I"]
    theirs = {}
    for engine in ("cython", "python"):
        result = powder.integrator.medfilt1d_ng(
            powder.image, powder.npt, unit="q_nm^-1", method=("no", "csr", engine), mask=powder.mask.astype(numpy.int8),
            correctSolidAngle=solid_angle, percentile=quantiles or 50, error_model="no")
        theirs[engine] = result.intensity.astype(float)
    low, high = (part / 100 for part in quantiles or (50, 50))
    ranks = Ranks(*powder.pixels(), powder.npt)
    bins = [i for i in range(powder.npt) if ranks.first[i + 1] > ranks.first[i]]
    # pyFAI's engine in Cython leaves out the two pixels in which the quantiles lie; the one in Python does not.
    engine = "cython" if quantiles is None else "python"
    for i in bins:
        assert abs(ours[i] / ranks.ours(i, low, high) - 1) < 1e-9, i
        assert min(abs(theirs[engine][i] / mean - 1) for mean in ranks.theirs(i, low, high)) < SAME_INTENSITY, i
    used = numpy.isin(numpy.arange(powder.npt), bins)
    same = {name: int((numpy.abs(values / ours - 1) < SAME_INTENSITY)[used].sum()) for name, values in theirs.items()}
    report.append(f"{'median' if quantiles is None else quantiles}, {'with' if solid_angle else 'without'} the solid angle: of {len(bins)} bins "
                  + "; ".join(f"{same[name]} within {SAME_INTENSITY:g} of pyFAI's {name} engine, worst {worst(ours, values, used):.1e}"
                              for name, values in theirs.items()))
    if solid_angle:
        assert same[engine] > 0.9 * len(bins)


# With splitting, pyFAI marks a pixel that one bin leaves out as left out of all bins, while other bins are looked at.
THREADS = """
import json, os, sys
import numpy, pyFAI, fabio, logging
logging.disable(logging.WARNING)
integrator = pyFAI.load(sys.argv[1])
image = numpy.load(sys.argv[2])
result = integrator.sigma_clip_ng(image, int(sys.argv[3]), unit="q_nm^-1", method=("bbox", "csr", "cython"), error_model="azimuthal",
                                  mask=integrator.detector.mask, thres=5.0, max_iter=5)
print(json.dumps({"I": result.intensity.tolist(), "count": numpy.asarray(result.count, float).tolist()}))
"""


def pyfai_with_splitting(powder, threads):
    done = subprocess.run([sys.executable, "-c", THREADS, str(powder.folder / "case.poni"), str(powder.folder / "image.npy"), str(powder.npt)],
                          env={**os.environ, "OMP_NUM_THREADS": str(threads)}, capture_output=True, text=True, check=True)
    return {name: numpy.array(values) for name, values in json.loads(done.stdout).items()}


def test_splitting_clips_a_pixel_only_where_it_is_far_off(annulus, tmp_path, report):
    """The example of docs/differences.md."""
    powder = Powder(annulus, tmp_path, "Pilatus300k", "bbox")
    ours = powder.ours("--error-model", "azimuthal", "--clip", "sigma")
    plain = powder.ours("--error-model", "azimuthal")
    threads = {number: pyfai_with_splitting(powder, number) for number in (1, 4, 8)}
    one = threads[1]
    gone = {name: (plain["count"] - values["count"]).sum() for name, values in (("ours", ours), ("theirs", one))}
    report.append(f"bbox: {len(powder.hot)} hot pixels; pyFAI takes out {gone['theirs']:.1f} pixels, Annulus {gone['ours']:.1f}; counts "
                  f"differ in {(numpy.abs(one['count'] - ours['count']) > 1e-3).sum()} of {powder.npt} bins, I by up to "
                  f"{worst(ours['I'], one['I'], one['count'] > 0):.1e}, in the middle "
                  f"{numpy.median(numpy.abs(ours['I'] / one['I'] - 1)):.1e}; of pyFAI with 4 and 8 threads beside 1, counts differ in "
                  f"{' and '.join(str((one['count'] != threads[number]['count']).sum()) for number in (4, 8))} bins")
    assert gone["theirs"] > gone["ours"] > 0.9 * len(powder.hot)


def test_the_bench_runs(annulus, tmp_path):
    """What it measures on a small detector means nothing, but the patterns that it compares must agree."""
    bench = pathlib.Path(__file__).resolve().parents[1] / "bench" / "compare_robust"
    program = os.environ["ANNULUS"]
    done = subprocess.run([sys.executable, bench, "--quick", "--annulus", program, "--scratch", tmp_path, "--json",
                           tmp_path / "bench.json", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    measured = json.loads((tmp_path / "bench.json").read_text())
    assert len(measured["ratios"]) == 8 and all(ratio > 0 for ratio in measured["ratios"].values())
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]
