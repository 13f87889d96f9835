"""Patterns and cakes in NumPy: a second implementation, which takes nothing from pyFAI but the numbers of a geometry.

It knows two sets of rules. EXACT is what docs/concepts.md promises. PYFAI_0_21 is the same but for what pyFAI 0.21.3 does
otherwise: it rounds the places of pixels to single precision, and a window of azimuths ends at its cut. So a difference
between the two programs is explained if one equals the first and the other the second.
"""

import dataclasses

import numpy

TURN = 2 * numpy.pi
WIDEN = 1 + 2.0 ** -23  # of the upper end of an axis

SCALES = {"r_m": 1.0, "r_mm": 1e3, "2th_deg": 180 / numpy.pi, "2th_rad": 1.0, "q_nm^-1": 1.0, "q_A^-1": 0.1}


@dataclasses.dataclass(frozen=True)
class Rules:
    single: bool  # where pixels lie is rounded to single precision
    beyond_the_cut: bool  # pixels astride the cut count in windows on either side of it


EXACT = Rules(single=False, beyond_the_cut=True)
PYFAI_0_21 = Rules(single=True, beyond_the_cut=False)


def rotation(integrator):
    c, s = numpy.cos, numpy.sin
    a, b, g = integrator.rot1, integrator.rot2, integrator.rot3
    around1 = numpy.array([[1, 0, 0], [0, c(a), s(a)], [0, -s(a), c(a)]])
    around2 = numpy.array([[c(b), 0, -s(b)], [0, 1, 0], [s(b), 0, c(b)]])
    around3 = numpy.array([[c(g), -s(g), 0], [s(g), c(g), 0], [0, 0, 1]])
    return around3 @ around2 @ around1


def place(integrator, unit, p1, p2):
    """Radius, in the unit's quantity (m, rad, 1/nm), and azimuth of points on the detector relative to the PONI."""
    t = numpy.einsum("ij,jkl->ikl", rotation(integrator),
                     numpy.stack([*numpy.broadcast_arrays(p1[:, None], p2[None, :], integrator.dist)]))
    radius = numpy.hypot(t[0], t[1])
    if unit.startswith("2th"):
        radius = numpy.arctan2(radius, t[2])
    elif unit.startswith("q"):
        radius = 4e-9 * numpy.pi / integrator.wavelength * numpy.sin(0.5 * numpy.arctan2(radius, t[2]))
    return radius, numpy.arctan2(t[0], t[1])


class Pixels:
    """Centres and corners of all pixels; azimuths begin at `first`."""

    def __init__(self, integrator, unit, rules, first=-numpy.pi):
        detector = integrator.detector
        ends = list(zip(detector.max_shape, (detector.pixel1, detector.pixel2), (integrator.poni1, integrator.poni2)))
        if rules.single:
            single = numpy.float32
            centres = [(single(size) * (numpy.arange(count, dtype=single) + single(0.5)) - single(poni)).astype(float)
                       for count, size, poni in ends]
        else:
            centres = [size * (numpy.arange(count) + 0.5) - poni for count, size, poni in ends]
        corners = [size * numpy.arange(count + 1) - poni for count, size, poni in ends]
        radius, azimuth = place(integrator, unit, *centres)
        corner_radius, corner_azimuth = place(integrator, unit, *corners)
        azimuth = numpy.where(azimuth < first, azimuth + TURN, azimuth)
        corner_azimuth = numpy.where(corner_azimuth < first, corner_azimuth + TURN, corner_azimuth)
        if rules.single:
            corner_radius, corner_azimuth = (a.astype(numpy.float32).astype(float) for a in (corner_radius, corner_azimuth))
        self.first = first
        self.radius, self.azimuth = radius.ravel(), azimuth.ravel()
        self.corner_radius, self.corner_azimuth = (
            numpy.stack([a[:-1, :-1], a[1:, :-1], a[1:, 1:], a[:-1, 1:]], axis=-1).reshape(-1, 4)
            for a in (corner_radius, corner_azimuth))
        self.reach = numpy.abs(self.corner_radius - self.radius[:, None]).max(axis=1)
        apart = (self.corner_azimuth - self.azimuth[:, None]) % TURN
        self.azimuth_reach = numpy.minimum(apart, TURN - apart).max(axis=1)

        self.holds_beam = numpy.zeros(self.radius.shape, bool)
        along1, along2, ahead = rotation(integrator)[2]
        if ahead > 0:
            row, col = ((along * integrator.dist / ahead + poni) / size
                        for along, (_, size, poni) in zip((along1, along2), ends))
            rows, cols = detector.max_shape
            on_edge = min(abs(row - round(row)), abs(col - round(col))) < 1e-6
            if 0 <= row < rows and 0 <= col < cols and not on_edge:
                self.holds_beam[int(row) * cols + int(col)] = True

    def polygons(self):
        """Azimuths of corners as one piece, beside the pixel's centre."""
        beside = (self.corner_azimuth - self.azimuth[:, None] + numpy.pi) % TURN - numpy.pi
        return self.azimuth[:, None] + beside


@dataclasses.dataclass
class Shares:
    """Of pixels in bins, as a list of entries."""
    pixel: numpy.ndarray
    bin: numpy.ndarray
    share: numpy.ndarray

    @classmethod
    def of(cls, pieces):
        none = (numpy.zeros(0, int), numpy.zeros(0, int), numpy.zeros(0))
        return cls(*(numpy.concatenate(column) for column in zip(none, *pieces)))


def interval_shares(low, high, bins):
    """Of intervals in units of bins; what hangs over an end goes to the end bin."""
    seen = numpy.flatnonzero((high >= 0) & (low < bins))
    low, high = low[seen], high[seen]
    first, last = (numpy.clip(numpy.floor(end), 0, bins - 1).astype(int) for end in (low, high))
    entries = []
    for k in range(int((last - first).max(initial=-1)) + 1):
        here = numpy.flatnonzero(first + k <= last)
        target = (first + k)[here]
        left = numpy.where(k == 0, low[here], target)
        right = numpy.where(target == last[here], high[here], target + 1)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            share = numpy.where(first[here] == last[here], 1.0, (right - left) / (high - low)[here])
        entries.append((seen[here], target, share))
    return Shares.of(entries)


def polygon_shares(radius, azimuth, bins):
    """Of polygons, radius in units of bins: the parts of their areas, by the integral along their edges."""
    low, high = radius.min(axis=1), radius.max(axis=1)
    seen = numpy.flatnonzero((high >= 0) & (low < bins))
    radius, azimuth, low, high = radius[seen], azimuth[seen] - azimuth[seen].min(axis=1)[:, None], low[seen], high[seen]
    first, last = (numpy.clip(numpy.floor(end), 0, bins - 1).astype(int) for end in (low, high))
    r, a = radius, azimuth
    r_next, a_next = numpy.roll(r, -1, axis=1), numpy.roll(a, -1, axis=1)
    entries = []
    for k in range(int((last - first).max(initial=-1)) + 1):
        here = numpy.flatnonzero(first + k <= last)
        target = (first + k)[here][:, None]
        left, right = (numpy.clip(end[here], target, target + 1) for end in (r, r_next))
        with numpy.errstate(invalid="ignore", divide="ignore"):
            slope = (a_next - a)[here] / (r_next - r)[here]
            middle = a[here] + slope * (0.5 * (left + right) - r[here])
            area = numpy.where(left == right, 0, middle * (right - left)).sum(axis=1)
        entries.append((seen[here], target[:, 0], area))
    areas = Shares.of(entries)
    # Next to the beam a polygon may cross itself: what has the other sign does not count.
    areas.share = numpy.maximum(areas.share * numpy.sign(numpy.bincount(areas.pixel, areas.share))[areas.pixel], 0)
    areas.share /= numpy.bincount(areas.pixel, areas.share)[areas.pixel]
    return areas


def in_window(low, high, window, rules):
    turns = (-TURN, 0, TURN) if rules.beyond_the_cut else (0,)
    inside = numpy.zeros(low.shape, bool)
    for by in turns:
        inside |= (high + by >= window[0]) & (low + by <= window[1])
    return inside


def radial_shares(pixels, split, low, width, bins, window, rules):
    everyone = numpy.ones(pixels.radius.shape, bool)
    if split == "full":
        azimuth, around = pixels.polygons(), pixels.holds_beam
        chosen = everyone if window is None else around | in_window(azimuth.min(axis=1), azimuth.max(axis=1), window, rules)
        radius = (pixels.corner_radius - low) / width
        pieces = []
        for which, shares in ((chosen & ~around, lambda at: polygon_shares(radius[at], azimuth[at], bins)),
                              (chosen & around, lambda at: interval_shares(radius[at].min(axis=1), radius[at].max(axis=1), bins))):
            at = numpy.flatnonzero(which)
            part = shares(at)
            pieces.append((at[part.pixel], part.bin, part.share))
        return Shares.of(pieces)
    reach, azimuth_reach = (pixels.reach, pixels.azimuth_reach) if split == "bbox" else (0, 0)
    chosen = everyone if window is None else in_window(pixels.azimuth - azimuth_reach, pixels.azimuth + azimuth_reach, window,
                                                       rules)
    at = numpy.flatnonzero(chosen)
    centre = pixels.radius
    part = interval_shares(((centre - reach - low) / width)[at], ((centre + reach - low) / width)[at], bins)
    return Shares(at[part.pixel], part.bin, part.share)


def radial_axis(pixels, split, npt, mask, radial, scale):
    """Lower end and width of the bins, in the unit's quantity."""
    if radial is not None:
        low, high = (end / scale for end in radial)
    else:
        used = mask.ravel() == 0
        reach = pixels.reach if split == "bbox" else 0
        low = pixels.corner_radius[used].min() if split == "full" else (pixels.radius - reach)[used].min()
        high = pixels.corner_radius[used].max() if split == "full" else (pixels.radius + reach)[used].max()
        low = max(low, 0)
    return low, (high * WIDEN - low) / npt


def azimuthal_axis(pixels, split, azim, mask, azimuth):
    """Lower end and width of the bins, in radian."""
    if azimuth is not None:
        low, high = numpy.radians(azimuth)
    else:
        used = mask.ravel() == 0
        reach = pixels.azimuth_reach if split == "bbox" else 0
        low = pixels.corner_azimuth[used].min() if split == "full" else (pixels.azimuth - reach)[used].min()
        high = pixels.corner_azimuth[used].max() if split == "full" else (pixels.azimuth + reach)[used].max()
        low, high = max(low, pixels.first), min(high, pixels.first + TURN)
    return low, ((high * WIDEN if high > 0 else high / WIDEN) - low) / azim


def normalisation(integrator, flat, solid_angle, polarization):
    detector = integrator.detector
    p1, p2 = (size * (numpy.arange(count) + 0.5) - poni for count, size, poni in zip(
        detector.max_shape, (detector.pixel1, detector.pixel2), (integrator.poni1, integrator.poni2)))
    norm = numpy.ones(detector.max_shape)
    if flat is not None:
        norm *= flat
    if solid_angle:
        norm *= (integrator.dist / numpy.sqrt(integrator.dist ** 2 + p1[:, None] ** 2 + p2[None, :] ** 2)) ** 3
    if polarization is not None:
        two_theta, azimuth = place(integrator, "2th_rad", p1, p2)
        norm *= 0.5 * (1 + numpy.cos(two_theta) ** 2 - polarization * numpy.cos(2 * azimuth) * numpy.sin(two_theta) ** 2)
    return norm


@dataclasses.dataclass
class Pattern:
    radial: numpy.ndarray
    intensity: numpy.ndarray
    sigma: numpy.ndarray
    count: numpy.ndarray
    azimuthal: numpy.ndarray | None = None  # of a cake


def averages(shares, bins, image, valid, dark, norm, factor):
    """Intensity, sigma and pixels of every bin."""
    kept = valid.ravel()[shares.pixel]
    pixel, target, share = shares.pixel[kept], shares.bin[kept], shares.share[kept]
    raw = image.ravel()[pixel].astype(float)
    total = lambda values: numpy.bincount(target, values, minlength=bins)
    signal = total(share * (raw if dark is None else raw - dark.ravel()[pixel]))
    weight = total(share * norm.ravel()[pixel]) * factor
    with numpy.errstate(invalid="ignore", divide="ignore"):
        return signal / weight, numpy.sqrt(total(share ** 2 * numpy.maximum(raw, 1))) / weight, total(share)


def valid(case, image, mask):
    invalid = (image >= -3) & (image <= -1) if case.detector != "generic" else False
    return (mask == 0) & ~numpy.broadcast_to(invalid, image.shape)


def norm_of(case, integrator, flat):
    return normalisation(integrator, flat, case.solid_angle, case.polarization)


def pattern(case, integrator, image, mask, dark, flat, rules, azimuth=None, first=-numpy.pi, radial=None):
    """The pattern of a case (cases.Case); azimuth in degrees, counted upwards from its lower end."""
    pixels = Pixels(integrator, case.unit, rules, first)
    scale = SCALES[case.unit]
    low, width = radial_axis(pixels, case.split, case.npt, mask, radial, scale)
    window = None
    if azimuth is not None:
        window = [numpy.radians(azimuth[0]), numpy.radians(azimuth[1])]
        window[1] += TURN if window[1] <= window[0] else 0
    shares = radial_shares(pixels, case.split, low, width, case.npt, window, rules)
    return Pattern((low + (numpy.arange(case.npt) + 0.5) * width) * scale,
                   *averages(shares, case.npt, image, valid(case, image, mask), dark, norm_of(case, integrator, flat),
                             case.normalization or 1.0))


def cake(case, integrator, image, mask, dark, flat, rules, radial=None):
    """The axes of a cake (case.azim, case.discontinuity) and, without splitting, its bins: azimuth by radius."""
    pixels = Pixels(integrator, case.unit, rules, 0 if case.discontinuity == 0 else -numpy.pi)
    scale = SCALES[case.unit]
    low, width = radial_axis(pixels, case.split, case.npt, mask, radial, scale)
    first, step = azimuthal_axis(pixels, case.split, case.azim, mask, case.azimuth)
    bins = case.npt * case.azim
    results = [None, None, None]
    if case.split == "no":
        row, col = (pixels.azimuth - first) / step, (pixels.radius - low) / width
        inside = numpy.flatnonzero((row >= 0) & (row < case.azim) & (col >= 0) & (col < case.npt))
        shares = Shares(inside, (numpy.floor(row) * case.npt + numpy.floor(col))[inside].astype(int), numpy.ones(inside.size))
        results = [a.reshape(case.azim, case.npt) for a in averages(
            shares, bins, image, valid(case, image, mask), dark, norm_of(case, integrator, flat), case.normalization or 1.0)]
    return Pattern((low + (numpy.arange(case.npt) + 0.5) * width) * scale, *results,
                   numpy.degrees(first + (numpy.arange(case.azim) + 0.5) * step))
