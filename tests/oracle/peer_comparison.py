"""Reductions by Annulus and by the pyFAI of this interpreter, compared.

Bins that docs/differences.md explains are found from the pixels that are treated differently, and left out; everything
else must agree. A deviation above the limit is explained if it vanishes when pyFAI is given what it rounds or confuses.
"""

import dataclasses

import h5py
import numpy
import pyFAI
import scipy.sparse
from pyFAI import detectors, units

import cases
from numpy_patterns import EXACT, Pixels
from polygons import area, clipped_area

# From here on pyFAI's pixel centres are exact; docs/differences.md says what else is different.
NEWER = tuple(int(part) for part in pyFAI.version.split("-")[0].split(".")[:2]) >= (2025, 12)

LIMIT = {"no": 1e-5, "bbox": 1e-5, "full": 1e-4}  # relative to the sum of pyFAI's values, over the bins compared
CAKE_SIGMA = {"no": 1e-5, "bbox": 1e-5, "full": 5e-3}  # full shares of pyFAI are approximate, which squares show first

# Of the radial axis, relative to its upper end. Where pixels are split it begins and ends with their corners, which
# pyFAI keeps in single precision.
AXIS_LIMIT = {"no": 1e-9, "bbox": 1e-7, "full": 1e-7}

# pyFAI keeps shares in single precision and we keep them in fixed point: in a bin that holds less than a hundredth of a
# pixel neither is meaningful.
SMALLEST_COUNT = 0.01


@dataclasses.dataclass(frozen=True)
class Reduction:
    name: str
    detector: str
    generic: tuple  # pixel sizes and shape of the generic detector
    distance: float
    poni: tuple  # shares of the detector's size
    rotations: tuple
    wavelength: float
    unit: str
    split: str
    npt: int
    azim: int | None  # bins of a cake
    discontinuity: int
    radial: tuple | None  # shares of the detector's range
    azimuth: tuple | None
    mask: bool
    dark: bool
    flat: bool
    dead: bool
    dummy: tuple | None  # of the user: value, delta
    solid_angle: bool
    polarization: float | None
    normalization: float | None
    errors: bool
    pixel_type: str
    brightness: int = 1

    @property
    def quantity(self):
        return self.unit.split("_")[0]

    @property
    def is_dectris(self):
        return self.detector.startswith(("Pilatus", "Eiger"))

    def __str__(self):
        words = [self.name, self.detector, f"{self.distance:.3g} m", "tilted" if self.rotations[0] else "straight", self.unit,
                 self.split, f"{self.npt}" + (f" x {self.azim}, cut at {self.discontinuity}" if self.azim else ""),
                 self.pixel_type]
        words += [name for name in ("mask", "dark", "flat", "dead", "errors") if getattr(self, name)]
        words += [] if self.solid_angle else ["no solid angle"]
        words += [f"{name} {value}" for name, value in (
            ("dummy", self.dummy), ("P", self.polarization), ("/", self.normalization), ("radial", self.radial),
            ("azimuth", self.azimuth)) if value is not None]
        return ", ".join(words)


def make_integrator(case):
    if NEWER:
        from pyFAI.integrator.azimuthal import AzimuthalIntegrator
    else:
        from pyFAI.azimuthalIntegrator import AzimuthalIntegrator

    if case.detector == "generic":
        pixel1, pixel2, *shape = case.generic
        detector = detectors.Detector(pixel1=pixel1, pixel2=pixel2, max_shape=tuple(shape))
    else:
        detector = detectors.detector_factory(case.detector)
    rows, cols = detector.max_shape
    return AzimuthalIntegrator(
        dist=case.distance, poni1=case.poni[0] * rows * detector.pixel1, poni2=case.poni[1] * cols * detector.pixel2,
        rot1=case.rotations[0], rot2=case.rotations[1], rot3=case.rotations[2], detector=detector,
        wavelength=case.wavelength)


def exact_pixels(case, integrator, first=-numpy.pi):
    return Pixels(integrator, case.unit, EXACT, first)


def use_exact(case, integrator, corners):
    """Puts exact pixel centres, and corners, where pyFAI keeps its own; to be called just before an integration.

    Before 2025.12 pyFAI computes centres in single precision; all releases keep corners in it.
    """
    pixels = exact_pixels(case, integrator, -numpy.pi if integrator.chiDiscAtPi else 0.0)
    shape = integrator.detector.max_shape
    exact = {} if NEWER else {f"{case.quantity}_center": pixels.radius, "chi_center": pixels.azimuth}
    if corners:
        exact |= {f"{case.quantity}_corner": numpy.stack((pixels.corner_radius, pixels.corner_azimuth), axis=-1),
                  f"{case.quantity}_delta": pixels.reach, "chi_delta": pixels.azimuth_reach}
    integrator._cached_array.update({name: numpy.ascontiguousarray(values.reshape(*shape, *values.shape[1:]))
                                     for name, values in exact.items()})


def top(case):
    return numpy.iinfo(case.pixel_type).max if case.pixel_type.startswith("u") else None


class Measurement:
    """Image, mask, dark and flat of a case."""

    def __init__(self, case, integrator):
        rng = numpy.random.default_rng(list(case.name.encode()))
        shape = integrator.detector.max_shape
        two_theta = Pixels(integrator, "2th_rad", EXACT).radius.reshape(shape)
        spread = two_theta.max() - two_theta.min()
        image = rng.poisson(case.brightness * (40 + 400 * numpy.sin((two_theta - two_theta.min()) / spread * 60) ** 8))
        gaps = integrator.detector.mask
        gaps = numpy.zeros(shape, bool) if gaps is None else gaps.astype(bool)
        invalid = gaps.copy()
        if case.dead and case.is_dectris:
            invalid.ravel()[rng.integers(0, image.size, 200)] = True
        self.image = image.astype(case.pixel_type)
        if case.is_dectris:  # the top of an unsigned type is never a count
            self.image[invalid] = -1 if top(case) is None else top(case)
        self.user_mask = rng.random(shape) < 0.05 if case.mask else None
        self.dark = rng.normal(5, 1, shape).astype(numpy.float32) if case.dark else None
        self.flat = rng.normal(1, 0.1, shape).astype(numpy.float32) if case.flat else None
        self.mask = gaps if self.user_mask is None else gaps | self.user_mask

    def save(self, folder):
        for name in ("image", "dark", "flat"):
            if getattr(self, name) is not None:
                numpy.save(folder / f"{name}.npy", getattr(self, name))
        if self.user_mask is not None:
            numpy.save(folder / "mask.npy", self.user_mask.astype(numpy.int8))


def radial_range(case, integrator):
    if case.radial is None:
        return None
    low, high = cases.full_range(integrator, case.unit)
    return tuple(low + share * (high - low) for share in case.radial)


def command_line(case, measurement, radial, folder):
    args = ["integrate", "-p", folder / "case.poni", "-n", case.npt, "-u", case.unit, "--split", case.split, "-q",
            "--error-model", "poisson" if case.errors else "no"]
    if case.pixel_type != "float32":
        args += ["--max-count", 1 << 20]
    if case.azim:
        args += ["--npt-azim", case.azim, "--chi-discontinuity", case.discontinuity]
    for flag, name, array in (("-m", "mask", measurement.user_mask), ("-d", "dark", measurement.dark),
                              ("-f", "flat", measurement.flat)):
        args += [flag, folder / f"{name}.npy"] if array is not None else []
    args += [] if case.solid_angle else ["--no-solid-angle"]
    args += [] if case.polarization is None else ["-P", case.polarization]
    args += [] if case.normalization is None else ["--normalization-factor", case.normalization]
    args += [] if radial is None else ["--radial-range", *map(repr, radial)]
    args += [] if case.azimuth is None else ["--azimuth-range", *case.azimuth]
    args += [] if case.dummy is None else ["--dummy", case.dummy[0], "--delta-dummy", case.dummy[1]]
    return args + [folder / "image.npy"]


def dummies(case):
    """Of the user, else of the detector: newer releases of pyFAI know the latter themselves, old ones must be told."""
    if case.dummy is not None:
        return case.dummy
    if not case.is_dectris:
        return None, None
    return (-2, 1.5) if top(case) is None else (top(case) - 1, 1.5)


def algorithm(case):
    """The one of pyFAI's whose results are right; docs/differences.md says what the others do."""
    if not case.azim or case.split == "full":
        return "csr"
    return "histogram" if case.split == "no" or case.discontinuity == 0 or (NEWER and case.dark) else "csr"


def crosses_half_turn(case):
    return case.azimuth is not None and case.azimuth[1] > 180


@dataclasses.dataclass
class Reference:
    """What pyFAI says; rows are azimuths."""

    radial: numpy.ndarray
    azimuthal: numpy.ndarray | None
    intensity: numpy.ndarray
    sigma: numpy.ndarray | None
    count: numpy.ndarray


def run_pyfai(case, measurement, radial, exact_corners=False, turned=0):
    """With the detector turned around the beam by so many degrees: azimuths move, nothing else does."""
    azimuth = case.azimuth
    from_zero = case.discontinuity == 0 or crosses_half_turn(case)
    if case.split == "full" and from_zero:
        turned -= 180  # with its cut at 0 pyFAI spreads pixels on the cut over all azimuths
    integrator = make_integrator(case)
    integrator.rot3 += numpy.radians(turned)
    if azimuth is not None:
        azimuth = tuple(end + turned for end in azimuth)
    if from_zero and case.split != "full":
        integrator.setChiDiscAtZero()
    use_exact(case, integrator, exact_corners)
    dummy, delta = dummies(case)
    mask = measurement.mask if top(case) is None else measurement.mask | (measurement.image == top(case))
    options = {
        "unit": case.unit, "method": (case.split, algorithm(case), "cython"), "mask": mask.astype(numpy.int8),
        "dummy": dummy, "delta_dummy": delta, "dark": measurement.dark, "flat": measurement.flat,
        "error_model": "poisson" if case.errors else None, "radial_range": radial, "azimuth_range": azimuth,
        "correctSolidAngle": case.solid_angle, "polarization_factor": case.polarization,
        "normalization_factor": case.normalization or 1.0}
    if turned and case.polarization is not None:
        options["polarization_factor"] = None
        options["flat"] = untouched_polarization(case, measurement)
    if case.azim is None:
        result = integrator.integrate1d(measurement.image, case.npt, **options)
    else:
        if NEWER and case.split == "no" and case.discontinuity == 0 and azimuth is None:
            chi = numpy.degrees(exact_pixels(case, integrator).azimuth[~measurement.mask.ravel()]) % 360
            options["azimuth_range"] = chi.min(), chi.max()
        result = integrator.integrate2d_ng(measurement.image, case.npt, case.azim, **options)
    shape = (case.azim or 1, case.npt)
    return Reference(result.radial, result.azimuthal - turned if case.azim else None, as_rows(result.intensity, shape),
                     as_rows(result.sigma, shape) if case.errors else None, as_rows(result.count, shape))


def untouched_polarization(case, measurement):
    """The polarisation does not turn with the detector: it goes into the flat."""
    factor = make_integrator(case).polarization(measurement.image.shape, case.polarization)
    return factor if measurement.flat is None else factor * measurement.flat


def as_rows(values, shape):
    """pyFAI does not turn all arrays of a histogram the same way."""
    values = numpy.asarray(values, float)
    return values.T if values.shape == shape[::-1] and values.shape != shape else values.reshape(shape)


class LeftOut:
    """Bins that hold pixels which docs/differences.md says are treated differently."""

    def __init__(self, case, integrator, measurement, reference):
        self.case = case
        self.scale = units.to_unit(case.unit).scale
        self.shape = (case.azim or 1, case.npt)
        self.bins = numpy.zeros(self.shape, bool)
        self.reasons = []
        self.low, self.width = self.low_and_width(reference.radial)
        if case.azim:
            self.azimuth_low, self.azimuth_width = self.low_and_width(reference.azimuthal)
        pixels = exact_pixels(case, integrator)
        self.radius, self.chi = pixels.radius * self.scale, numpy.degrees(pixels.azimuth)
        self.reach, self.chi_reach = pixels.reach * self.scale, numpy.degrees(pixels.azimuth_reach)
        self.used = ~measurement.mask.ravel()
        self.first = 0 if case.discontinuity == 0 or crosses_half_turn(case) else -180
        self.chi = self.first + (self.chi - self.first) % 360

        self.below_ranges()
        if case.split != "no":
            self.across_the_cut()
        if case.split == "full":
            self.around_the_beam(integrator)
            if case.azim:
                self.add("the ends of the axes", [0, -1], slice(None))
                self.add("the ends of the axes", slice(None), [0, -1])

    @staticmethod
    def low_and_width(axis):
        if len(axis) == 1:
            return axis[0], numpy.inf  # everything is in the one bin
        return 1.5 * axis[0] - 0.5 * axis[1], axis[1] - axis[0]

    def add(self, reason, rows, columns):
        if not self.bins[rows, columns].all():
            self.bins[rows, columns] = True
            if reason not in self.reasons:
                self.reasons.append(reason)

    def below_ranges(self):
        """pyFAI truncates towards zero: pixels up to one bin below a range land in its first bin."""
        if self.case.split == "full":
            return
        if self.case.radial is not None:
            self.add("below the radial range", slice(None), 0)
        truncates = self.case.split == "bbox" or NEWER
        if self.case.azim and self.case.azimuth is not None and truncates:
            self.add("below the azimuthal range", 0, slice(None))

    def columns(self, pixels):
        low = (self.radius - self.reach - self.low)[pixels] / self.width
        high = (self.radius + self.reach - self.low)[pixels] / self.width
        inside = (high >= 0) & (low < self.case.npt)
        return [slice(max(0, int(a)), int(b) + 1) for a, b in zip(low[inside], high[inside])], inside

    def across_the_cut(self):
        """A pixel that reaches over the cut reaches into a window, or into both ends of a cake, from both sides."""
        low, high = self.chi - self.chi_reach, self.chi + self.chi_reach
        across = self.used & ((low < self.first) | (high > self.first + 360))
        if self.case.azimuth is not None:
            begin, end = self.case.azimuth
            across &= ((low - 360 <= end) & (high - 360 >= begin)) | ((low + 360 <= end) & (high + 360 >= begin))
        elif not self.case.azim:
            return
        columns, inside = self.columns(across)
        for column, a, b in zip(columns, low[across][inside], high[across][inside]):
            rows = slice(None)
            if self.case.azim:
                for turn in (-360, 0, 360):
                    first = int(numpy.floor((a + turn - self.azimuth_low) / self.azimuth_width)) - 1
                    last = int(numpy.floor((b + turn - self.azimuth_low) / self.azimuth_width)) + 1
                    if last >= 0 and first < self.case.azim:
                        self.add("across the cut", slice(max(0, first), last + 1), column)
                rows = [0, -1]
            self.add("across the cut", rows, column)

    def around_the_beam(self, integrator):
        reach = cases.reach_of_beam_pixel(integrator, self.case.unit)
        if reach is not None and self.case.npt > 1:
            self.add("the pixel of the beam", slice(None), slice(0, max(0, int(numpy.ceil((reach - self.low) / self.width)) + 1)))


@dataclasses.dataclass
class Outcome:
    case: Reduction
    deviation: float
    sigma: float
    axis: float  # relative to its upper end
    bins: int  # compared
    all_bins: int
    reasons: list
    worst: str
    how: str = ""  # a deviation above the limit comes about
    explained: bool = False

    def within(self):
        sigma_limit = (CAKE_SIGMA if self.case.azim else LIMIT)[self.case.split]
        return (self.deviation <= LIMIT[self.case.split] and self.sigma <= sigma_limit
                and self.axis <= AXIS_LIMIT[self.case.split])

    def good(self):
        return self.within() or self.explained

    def __str__(self):
        left_out = f"; left out: {', '.join(self.reasons)}" if self.reasons else ""
        return (f"{self.deviation:9.2e} {self.sigma:9.2e} axis {self.axis:8.1e}  {self.bins:6d} of {self.all_bins:6d} bins, "
                f"{self.worst}{self.how}  | {self.case}{left_out}")


def read_output(path, case):
    shape = (case.azim or 1, case.npt)
    with h5py.File(path) as file:
        data, sums = file["/entry/data"], file["/entry/reduction/accumulators"]
        found = {"radial": data["radial_axis"][()], "I": data["I"][0].reshape(shape)}
        found["sigma"] = data["I_errors"][0].reshape(shape) if case.errors else None
        scale = 2.0 ** sums.attrs["weight_bits"]
        found["count"] = ((sums["count"][()] - sums["missing_count"][0]) / scale).reshape(shape)
        if case.azim:
            found["azimuthal"] = data["azimuthal_axis"][()]
    return found


def judge(case, found, reference, integrator, measurement):
    shape = (case.azim or 1, case.npt)
    count = reference.count
    left_out = LeftOut(case, integrator, measurement, reference)
    bins = (count > 0) & ~left_out.bins
    intensity, expected = found["I"], reference.intensity
    empty = bins & ~numpy.isfinite(intensity) & (count > 1e-5)
    sliver = 0.1 if case.azim and case.split == "full" else 1e-3  # pyFAI leaves out slivers of polygons
    only_here = ~left_out.bins & (found["count"] > sliver) & (count == 0)
    bins &= numpy.isfinite(intensity) & (count > SMALLEST_COUNT)
    difference = numpy.where(bins, numpy.abs(intensity - expected), 0)
    deviation = difference.sum() / max(numpy.abs(expected[bins]).sum(), 1e-30)
    sigma = 0.0
    if case.errors:
        errors = reference.sigma
        sigma = numpy.abs(found["sigma"] - errors)[bins].sum() / max(errors[bins].sum(), 1e-30)
    axis = numpy.abs(found["radial"] - reference.radial).max() / numpy.abs(reference.radial).max()
    worst = numpy.unravel_index(numpy.argmax(difference), shape)
    words = (f"worst {worst[0]}, {worst[1]}: {intensity[worst]:.7g} here, {expected[worst]:.7g} pyFAI, "
             f"{count[worst]:.3g} pixels")
    if empty.any() or only_here.any():
        deviation, words = numpy.inf, f"{empty.sum()} bins are empty here, {only_here.sum()} only there"
    return Outcome(case, float(deviation), float(sigma), float(axis), int(bins.sum()), int((count > 0).sum()),
                   left_out.reasons, words)


def compare(case, annulus, folder):
    """Outcome of a case. One above its limit is explained, or it is not good."""
    integrator = make_integrator(case)
    measurement = Measurement(case, integrator)
    radial = radial_range(case, integrator)
    measurement.save(folder)
    integrator.save(str(folder / "case.poni"))
    arguments = command_line(case, measurement, radial, folder)
    done = annulus(*arguments, "--overwrite", "-o", folder / "out.nxs")
    reference = run_pyfai(case, measurement, radial)
    if done.returncode != 0:
        nothing = "no pixel of the detector lies in the ranges" in done.stderr and not numpy.any(reference.count)
        value = 0.0 if nothing else numpy.inf
        return Outcome(case, value, value, value, 0, 0, [], "no pixel in range, there and here" if nothing else done.stderr.strip())
    found = read_output(folder / "out.nxs", case)
    outcome = judge(case, found, reference, integrator, measurement)
    if not outcome.within() and case.split != "no":
        exact = judge(case, found, run_pyfai(case, measurement, radial, exact_corners=True), integrator, measurement)
        outcome.how = f"; with exact corners in pyFAI {exact.deviation:.2e} {exact.sigma:.2e}"
        outcome.explained = exact.within()
        if not outcome.explained and case.azim is None and case.azimuth is None and case.split == "full":
            turned = judge(case, found, run_pyfai(case, measurement, radial, True, turned=90), integrator, measurement)
            outcome.how += f"; turned by 90 degrees {turned.deviation:.2e} {turned.sigma:.2e}"
            outcome.explained = turned.within()
        if not outcome.explained and case.azim and case.split == "full":
            worst, shares = worst_share(case, annulus, arguments, integrator, folder)
            outcome.how += f"; {shares} shares are areas to {worst:.1e}"
            outcome.explained = shares > 100 and worst < 1e-6 and outcome.deviation < 1e-2
    return outcome


def worst_share(case, annulus, arguments, integrator, folder):
    """Of random pixels that lie wholly on the axes: the largest error of a share, beside areas clipped in Python."""
    done = annulus(*arguments, "--save-matrix", folder / "matrix.h5", "--overwrite", "-o", folder / "out.nxs")
    assert done.returncode == 0, done.stderr
    with h5py.File(folder / "matrix.h5") as file, h5py.File(folder / "out.nxs") as output:
        matrix = scipy.sparse.csr_matrix((file["data"][()], file["indices"][()], file["indptr"][()]),
                                         shape=tuple(file["shape"][()])).tocsc()
        radial = output["/entry/data/radial_axis_edges"][()]
        azimuthal = output["/entry/data/azimuthal_axis_edges"][()]
    pixels = exact_pixels(case, integrator)
    azimuth = azimuthal[0] + (numpy.degrees(pixels.corner_azimuth) - azimuthal[0]) % 360
    corners = numpy.stack((pixels.corner_radius * units.to_unit(case.unit).scale, azimuth), axis=-1)
    inside = (corners[..., 0].min(axis=1) > radial[0]) & (corners[..., 0].max(axis=1) < radial[-1])
    inside &= (corners[..., 1].max(axis=1) < azimuthal[-1]) & (numpy.ptp(corners[..., 1], axis=1) < 170)
    several = inside & (numpy.diff(matrix.indptr) > 1)
    pixels = numpy.flatnonzero(several)
    pixels = numpy.random.default_rng(0).choice(pixels, min(len(pixels), 200), replace=False)
    worst, shares = 0.0, 0
    for pixel in pixels:
        polygon = [tuple(corner) for corner in corners[pixel]]
        for position in range(matrix.indptr[pixel], matrix.indptr[pixel + 1]):
            row, column = divmod(int(matrix.indices[position]), case.npt)
            part = clipped_area(clipped_area(polygon, radial[column], radial[column + 1], 0), azimuthal[row],
                                azimuthal[row + 1], 1)
            worst = max(worst, abs(area(part) / area(polygon) - matrix.data[position]))
            shares += 1
    return worst, shares


def summary(outcomes):
    """A table: how many of which splitting, how close, and how many deviations are explained by docs/differences.md."""
    lines = ["splitting  dim  cases  within the limit   I, median   I, worst   sigma, worst   explained   not"]
    for split, limit in LIMIT.items():
        for dimensions in (1, 2):
            group = [outcome for outcome in outcomes
                     if outcome.case.split == split and (2 if outcome.case.azim else 1) == dimensions]
            if not group:
                continue
            within = [outcome for outcome in group if outcome.within()] or [Outcome(None, *[numpy.nan] * 3, 0, 0, [], "")]
            explained = sum(not outcome.within() and outcome.explained for outcome in group)
            wrong = sum(not outcome.good() for outcome in group)
            lines.append(
                f"{split:9}{dimensions:5}{len(group):7}{len(group) - explained - wrong:9} ({limit:.0e})"
                f"{numpy.median([outcome.deviation for outcome in within]):12.1e}"
                f"{max(outcome.deviation for outcome in within):11.1e}{max(outcome.sigma for outcome in within):15.1e}"
                f"{explained:12}{wrong:6}")
    return lines
