"""Random reductions: detector, geometry, unit, splitting, bins, mask, dark, flat, dummies, corrections, ranges.

A seed and a number make always the same one.
"""

import dataclasses

import numpy

import cases
from peer_comparison import Reduction, exact_pixels, make_integrator

DETECTORS = {  # how often each is drawn; large ones take long
    "Pilatus100k": 4, "Pilatus300k": 4, "Pilatus300kw": 2, "PilatusCdTe300k": 2, "Pilatus1M": 1, "Eiger500k": 2,
    "Eiger2_500k": 2, "Eiger1M": 1, "Maxipix2x2": 2, "Mythen": 2, "generic": 5,
}


def draw(seed, number):
    rng = numpy.random.default_rng([seed, number])

    def often(probability):
        return bool(rng.random() < probability)

    names = list(DETECTORS)
    share = numpy.array(list(DETECTORS.values()), float)
    detector = str(rng.choice(names, p=share / share.sum()))
    tilted = often(0.6)
    outside = often(0.25)
    poni = tuple(float(x) for x in (rng.uniform(-1.2, 2.2, 2) if outside else rng.uniform(0.02, 0.98, 2)))
    rotations = (float(rng.uniform(-0.5, 0.5)), float(rng.uniform(-0.5, 0.5)), float(rng.uniform(-3.1, 3.1))) if tilted else (0.0,) * 3
    azim = int(rng.integers(4, 90)) if often(0.35) else None
    split = str(rng.choice(["no", "bbox", "full"], p=[0.3, 0.45, 0.25]))
    discontinuity = 0 if azim and often(0.25) else 180
    low = float(rng.uniform(0.02, 0.5))
    radial = (round(low, 4), round(low + float(rng.uniform(0.1, 0.6)), 4)) if often(0.25) else None
    npt = int(numpy.exp(rng.uniform(numpy.log(20), numpy.log(400 if azim else 3000))))
    if azim and split == "full":  # where pyFAI is approximate: bins that are large beside pixels
        npt, azim, radial = min(npt, 60), min(azim, 12), radial or (0.3, 0.9)
        detector = "generic" if detector == "Mythen" else detector
    case = Reduction(
        name=f"{seed}/{number}", detector=detector,
        generic=(float(rng.uniform(5e-5, 3e-4)), float(rng.uniform(5e-5, 3e-4)), 311, 402),
        distance=float(numpy.exp(rng.uniform(numpy.log(0.05), numpy.log(5)))), poni=poni, rotations=rotations,
        wavelength=float(rng.uniform(0.2e-10, 2e-10)), unit=str(rng.choice(cases.UNITS)), split=split,
        npt=npt, azim=azim, discontinuity=discontinuity, radial=radial, azimuth=None, mask=often(0.4), dark=often(0.25), flat=often(0.25), dead=often(0.4),
        dummy=(int(rng.integers(10, 60)), round(float(rng.uniform(0, 3)), 2)) if often(0.15) else None,
        solid_angle=often(0.8), polarization=round(float(rng.uniform(-1, 1)), 3) if often(0.5) else None,
        normalization=round(float(rng.uniform(0.5, 1e4)), 3) if often(0.2) else None, errors=often(0.7),
        pixel_type=str(rng.choice(["int32", "uint16", "uint32", "float32"], p=[0.5, 0.2, 0.15, 0.15])))
    if azim and split == "full" and case.pixel_type != "uint16":
        case = dataclasses.replace(case, brightness=100)
    return dataclasses.replace(case, azimuth=draw_window(case, rng)) if often(0.3) else case


def draw_window(case, rng):
    """Around one of the pixels, and not over the cut that pyFAI has: it cannot cross that."""
    chi = numpy.degrees(exact_pixels(case, make_integrator(case)).azimuth)
    first = 0 if case.discontinuity == 0 or rng.random() < 0.3 else -180
    middle = first + (float(rng.choice(chi)) - first) % 360
    half = min(float(rng.uniform(5, 100)), middle - first - 0.5, first + 359.5 - middle)
    return (round(middle - half, 3), round(middle + half, 3)) if half > 1 else None
