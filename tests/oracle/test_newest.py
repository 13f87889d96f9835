"""Reductions of test_patterns.py and test_cakes.py, and some random ones, against the newest release of pyFAI."""

import logging
import os
import warnings

import pytest

import cases
import test_cakes
from peer_comparison import Reduction, compare
from random_reductions import draw

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
SEED = 2026
RANDOM = int(os.environ.get("ANNULUS_RANDOM_CASES", 40))
# Neither splittings nor kinds of cakes repeat with every fifth. Debian's pyFAI is compared with all of them.
EVERY = int(os.environ.get("ANNULUS_EVERY_CASE", 5))


def as_reduction(name, case):
    distance, poni, rotations = cases.PLACES[case.place]
    azimuth = case.azimuth
    if azimuth is not None and azimuth[1] < azimuth[0]:
        azimuth = (azimuth[0], azimuth[1] + 360)
    cake = isinstance(case, test_cakes.Cake)
    return Reduction(
        name=name, detector=case.detector, generic=(1.1e-4, 0.9e-4, 400, 517), distance=distance, poni=poni,
        rotations=rotations, wavelength=cases.WAVELENGTH, unit=case.unit, split=case.split, npt=case.npt,
        azim=case.azim if cake else None, discontinuity=case.discontinuity if cake else 180, radial=case.radial, azimuth=azimuth,
        mask=case.mask, dark=case.dark, flat=case.flat, dead=case.dummies, dummy=None, solid_angle=case.solid_angle,
        polarization=case.polarization, normalization=case.normalization, errors=True, pixel_type="int32",
        brightness=case.counts if cake else 1)


def check(reduction, annulus, folder, report):
    outcome = compare(reduction, annulus, folder)
    report.append(str(outcome))
    assert outcome.good(), outcome


@pytest.mark.parametrize("number, case", list(enumerate(cases.all_cases()))[::EVERY], ids=str)
def test_pattern(number, case, annulus, tmp_path, report):
    check(as_reduction(f"pattern {number}", case), annulus, tmp_path, report)


@pytest.mark.parametrize("number, cake", list(enumerate(test_cakes.ALL))[::EVERY], ids=str)
def test_cake(number, cake, annulus, tmp_path, report):
    check(as_reduction(f"cake {number}", cake), annulus, tmp_path, report)


@pytest.mark.parametrize("number", range(RANDOM))
def test_random(number, annulus, tmp_path, report):
    check(draw(SEED, number), annulus, tmp_path, report)
