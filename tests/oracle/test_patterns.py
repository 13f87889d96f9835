"""Patterns against Debian's pyFAI, over many combinations, by the CPU backend and by the model of the kernels.

docs/differences.md lists what differs on purpose. Debian's pyFAI rounds the places of pixels to single precision, which
Annulus does not: a pixel may fall into the next bin, and the axis begins elsewhere. NumPy is between the two. With places
in double precision it must give our pattern, with those of pyFAI 0.21.3 that of pyFAI.
"""

import warnings

import h5py
import numpy
import pytest

import cases
import numpy_patterns
from accumulators import assert_model_agrees

warnings.filterwarnings("ignore")
ALL = cases.all_cases()
assert len(ALL) >= 60

# Relative to the sum of the values, over the bins compared: of NumPy from pyFAI, whose shares are in single precision, and
# of Annulus from NumPy, both of which know pixels and shares to 2^-24 or better.
LIMIT = {"no": 1e-5, "bbox": 1e-5, "full": 1e-4}
OWN_LIMIT = 1e-7

# pyFAI keeps shares in single precision and we keep them in fixed point: in a bin that holds less than a
# hundredth of a pixel neither error is meaningful.
SMALLEST_COUNT = 0.01


def run_pyfai(case, integrator, image, mask, dark, flat):
    """What pyFAI gives, and NumPy by the rules of pyFAI 0.21.3."""
    azimuth, first = case.azimuth, -numpy.pi
    radial = cases.radial_range(case, integrator)
    if case.crosses_cut and case.split == "full":
        # pyFAI takes some pixels on its cut for pixels that go all the way round: keep its cut out of the window.
        integrator = cases.turned_half(integrator)
        azimuth = tuple(end - 180 for end in azimuth)
    elif case.crosses_cut:
        integrator.setChiDiscAtZero()
        first = 0
    options = {}
    if cases.is_dectris(case):
        options = {"dummy": -2, "delta_dummy": 1.5}
    rounded = numpy_patterns.pattern(case, integrator, image, mask, dark, flat, numpy_patterns.PYFAI_0_21, azimuth, first, radial)
    return rounded, integrator.integrate1d(
        image, case.npt, unit=case.unit, method=(case.split, "csr", "cython"), error_model="poisson", mask=mask,
        dark=dark, flat=flat, correctSolidAngle=case.solid_angle, polarization_factor=case.polarization,
        normalization_factor=case.normalization or 1.0, radial_range=radial,
        azimuth_range=azimuth, **options)


def command_line(case, integrator, folder, mask, dark, flat):
    args = ["integrate", "-p", folder / "case.poni", "-n", case.npt, "-u", case.unit, "--split", case.split,
            "--error-model", "poisson", "--max-count", 1 << 20, "-q"]
    if mask is not None:
        args += ["-m", folder / "mask.npy"]
    if dark is not None:
        args += ["-d", folder / "dark.npy"]
    if flat is not None:
        args += ["-f", folder / "flat.npy"]
    if not case.solid_angle:
        args += ["--no-solid-angle"]
    if case.polarization is not None:
        args += ["-P", case.polarization]
    if case.normalization is not None:
        args += ["--normalization-factor", case.normalization]
    if case.radial is not None:
        args += ["--radial-range", *(repr(end) for end in cases.radial_range(case, integrator))]
    if case.azimuth is not None:
        args += ["--azimuth-range", *case.azimuth]
    return args + [folder / "image.npy"]


def deviation(values, reference, bins):
    return numpy.abs(values - reference)[bins].sum() / numpy.abs(reference[bins]).sum()


def compared_bins(case, integrator, reference):
    bins = reference.count > 0
    # Full splitting of the one pixel that holds the beam is arbitrary, there as here.
    if case.split == "full":
        reach = cases.reach_of_beam_pixel(integrator, case.unit)
        if reach is not None and case.npt > 1:
            half = 0.5 * (reference.radial[1] - reference.radial[0])
            bins &= reference.radial - half > reach
    # pyFAI's truncation towards zero lets pixels up to one bin below a range fall into its first bin.
    if case.radial is not None and case.radial[0] > 0 and case.split != "full":
        bins[0] = False
    return bins


@pytest.mark.parametrize("case", ALL, ids=str)
def test_pattern_equals_pyfai(case, annulus, tmp_path, report):
    rng = numpy.random.default_rng(ALL.index(case))
    integrator = cases.make_integrator(case)
    shape = integrator.detector.max_shape
    image = cases.make_image(case, integrator, rng)
    user_mask = (rng.random(shape) < 0.05).astype(numpy.int8) if case.mask else None
    dark = rng.normal(5, 1, shape).astype(numpy.float32) if case.dark else None
    flat = rng.normal(1, 0.1, shape).astype(numpy.float32) if case.flat else None
    integrator.save(str(tmp_path / "case.poni"))
    for name, array in (("image", image), ("mask", user_mask), ("dark", dark), ("flat", flat)):
        if array is not None:
            numpy.save(tmp_path / f"{name}.npy", array)

    gaps = integrator.detector.mask
    mask = numpy.zeros(shape, numpy.int8) if gaps is None else gaps.astype(numpy.int8)
    if user_mask is not None:
        mask = mask | user_mask
    arguments = command_line(case, integrator, tmp_path, user_mask, dark, flat)
    exact = numpy_patterns.pattern(case, integrator, image, mask, dark, flat, numpy_patterns.EXACT, case.azimuth,
                                   radial=cases.radial_range(case, integrator))
    rounded, reference = run_pyfai(case, integrator, image, mask, dark, flat)
    done = annulus(*arguments, "-o", tmp_path / "out.nxs")
    assert done.returncode == 0, done.stderr
    assert_model_agrees(annulus, arguments, tmp_path / "out.nxs", tmp_path / "model.nxs")
    with h5py.File(tmp_path / "out.nxs") as file:
        axis = file["/entry/data/radial_axis"][()]
        intensity = file["/entry/data/I"][0]
        sigma = file["/entry/data/I_errors"][0]

    numpy.testing.assert_allclose(axis, exact.radial, rtol=1e-12)
    numpy.testing.assert_array_equal(numpy.isfinite(intensity), exact.count > 0)
    bins = exact.count > 0
    sure = exact.count > SMALLEST_COUNT
    own = deviation(intensity, exact.intensity, bins)
    own_sigma = deviation(sigma, exact.sigma, sure)

    numpy.testing.assert_allclose(rounded.radial, reference.radial, rtol=1e-9)
    unlike = (rounded.count > 0) != (reference.count > 0)
    assert not numpy.any(unlike & (reference.count > 1e-5)), "a bin is empty here and not there"
    bins = compared_bins(case, integrator, reference) & (rounded.count > 0)
    assert bins.sum() > 0.5 * (reference.count > 0).sum()
    sure = bins & (reference.count > SMALLEST_COUNT)
    theirs = deviation(rounded.intensity, reference.intensity, bins)
    theirs_sigma = deviation(rounded.sigma, reference.sigma, sure)

    both = bins & numpy.isfinite(intensity)
    difference = numpy.where(both, numpy.abs(intensity - reference.intensity), 0)
    worst = int(numpy.argmax(difference))
    report.append(f"{own:9.2e} {own_sigma:9.2e}  {theirs:9.2e} {theirs_sigma:9.2e}  "
                  f"{deviation(intensity, reference.intensity, both):9.2e}  worst bin {worst:4d} of {case.npt:4d}: {intensity[worst]:.7g} here, {reference.intensity[worst]:.7g} pyFAI, "
                  f"{reference.count[worst]:.3g} pixels  | {case}")
    assert own <= OWN_LIMIT
    assert own_sigma <= OWN_LIMIT
    assert theirs <= LIMIT[case.split]
    assert theirs_sigma <= LIMIT[case.split]
