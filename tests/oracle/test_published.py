"""Patterns that others published, from their raw frames: to the precision that shared data's notes state.

Their programs rounded the places of pixels to single precision. The best set is so precise that this shows: there NumPy with
rounded places must give what was published, and with exact ones what Annulus gives (see test_patterns.py).
"""

import h5py
import numpy
import pytest

import cases
import numpy_patterns
from accumulators import assert_model_agrees


def integrate(annulus, tmp_path, *args):
    bins = args[args.index("-n") + 1]
    done = annulus("integrate", "-o", tmp_path / "out.nxs", "-q", *args)
    assert done.returncode == 0, done.stderr
    if bins <= 4096:  # more than the kernels hold
        assert_model_agrees(annulus, ["integrate", "-q", *args], tmp_path / "out.nxs", tmp_path / "model.nxs")
    with h5py.File(tmp_path / "out.nxs") as file:
        data = file["/entry/data"]
        errors = data["I_errors"][0] if "I_errors" in data else None
        return data["radial_axis"][()], data["I"][0], errors


def relative(ours, reference):
    return numpy.abs(ours - reference) / numpy.abs(reference)


def load(poni):
    """pyFAI 0.21.3 does not read files of version 2.1, but has all that they say."""
    from pyFAI import detectors
    from pyFAI.azimuthalIntegrator import AzimuthalIntegrator

    said = dict(line.split(": ", 1) for line in poni.read_text().splitlines() if ": " in line and line[0] != "#")
    names = {"dist": "Distance", "poni1": "Poni1", "poni2": "Poni2", "rot1": "Rot1", "rot2": "Rot2", "rot3": "Rot3",
             "wavelength": "Wavelength"}
    return AzimuthalIntegrator(detector=detectors.detector_factory(said["Detector"]),
                               **{key: float(said[name]) for key, name in names.items()})


NORMALIZATION = "123.54586177870002"


@pytest.mark.parametrize("part,poni,shape,frame,extra", [
    ("WAXS", "atT_WAXS.poni", (195, 487), "b_tassone_Hor_scan_Run5_RampT20_ctr0_scan1_0000.raw", []),
    ("SAXS", "atT_SAXS.poni", (1043, 981), "sone_Hor_scan_Run5_RampT20_ctr0_scan1_0000.raw",
     ["-m", "RT_SAXS_mask_03.edf"]),
])
def test_swaxs(annulus, shared_data, tmp_path, report, part, poni, shape, frame, extra):
    folder = shared_data / "swaxs-reduction"
    mask = extra[:1] + [folder / name for name in extra[1:]]
    q, intensity, sigma = integrate(
        annulus, tmp_path, "-p", folder / poni, "-n", 1000, "-u", "q_nm^-1", "--error-model", "poisson",
        "--normalization-factor", NORMALIZATION, "--raw-shape", *shape, *mask, folder / frame)
    import fabio

    integrator = load(folder / poni)
    image = numpy.fromfile(folder / frame, "<i4").reshape(shape)
    excluded = integrator.detector.mask.astype(bool)
    for name in extra[1:]:
        excluded = excluded | (fabio.open(str(folder / name)).data != 0)
    case = cases.Case("Pilatus", "", "q_nm^-1", "bbox", npt=1000, normalization=float(NORMALIZATION))
    exact, rounded = (numpy_patterns.pattern(case, integrator, image, excluded, None, None, rules)
                      for rules in (numpy_patterns.EXACT, numpy_patterns.PYFAI_0_21))
    numpy.testing.assert_allclose(q, exact.radial, rtol=1e-12)
    # A unit of a weight, 2^-23, is much in a bin that has only slivers of pixels.
    sure = exact.count > 0.01
    numpy.testing.assert_allclose(intensity[sure], exact.intensity[sure], rtol=1e-5)
    numpy.testing.assert_allclose(sigma[sure], exact.sigma[sure], rtol=1e-5)

    published = numpy.loadtxt(folder / f"Hor_scan_Run5_RampT20_ctr0_scan1_0000_{part}.dat")
    numpy.testing.assert_allclose(rounded.radial, published[:, 0], rtol=1e-6)
    known = (published[:, 1] > 0) & (rounded.count > 0)
    assert known.sum() > 900
    median_i, own_i = (numpy.median(relative(i, published[:, 1])[known]) for i in (rounded.intensity, intensity))
    median_s, own_s = (numpy.median(relative(s, published[:, 2])[known]) for s in (rounded.sigma, sigma))
    report.append(f"swaxs {part}: median deviation {own_i:.1e} of I, {own_s:.1e} of sigma; with places in single precision "
                  f"{median_i:.1e} (published to 5e-7) and {median_s:.1e}")
    assert median_i <= 5e-7
    assert median_s <= 5e-7


def test_pixium(annulus, shared_data, tmp_path, report):
    folder = shared_data / "pixium-caking"
    import fabio

    image = fabio.open(str(folder / "pixium_03150.tif")).data
    numpy.save(tmp_path / "mask.npy", (image < 0).astype(numpy.uint8))
    two_theta, intensity, _ = integrate(
        annulus, tmp_path, "-p", folder / "DLS_CeO2_1200mm_pyFAI.eb9726e.poni", "-n", 5000, "-u", "2th_deg",
        "--split", "full", "-P", 0.99, "--azimuth-range", -180, 180, "-m", tmp_path / "mask.npy",
        folder / "pixium_03150.tif")
    published = numpy.loadtxt(folder / "integrated.dat")
    numpy.testing.assert_allclose(two_theta, published[:, 0], rtol=1e-5)
    known = (published[:, 1] > 0) & numpy.isfinite(intensity)
    deviation = relative(intensity, published[:, 1])[known]
    p99 = numpy.percentile(deviation, 99)
    report.append(f"pixium: median {numpy.median(deviation):.1e} (published 1.4e-6), 99 % within {p99:.1e} (3.6e-4), "
                  f"worst {deviation.max():.1e} (6 %) in bin {int(numpy.argmax(deviation))}")
    assert numpy.median(deviation) <= 2e-6
    assert p99 < 3.65e-4  # stated as 3.6e-4, in two digits
    assert deviation.max() <= 0.06


@pytest.mark.parametrize("number", ["0008", "0025"])
def test_lab6_tilted(annulus, shared_data, tmp_path, report, number):
    folder = shared_data / "lab6-tilted"
    name = f"b_toney_lab6_th3_scan1_{number}"
    two_theta, intensity, _ = integrate(
        annulus, tmp_path, "-p", folder / f"{name}.poni", "-n", 1024, "-u", "2th_deg", folder / f"{name}.tif")
    published = numpy.loadtxt(folder / f"{name}.xy")
    numpy.testing.assert_allclose(two_theta, published[:, 0], atol=1e-5)
    known = (published[:, 1] > 0) & numpy.isfinite(intensity)
    median = numpy.median(relative(intensity, published[:, 1])[known])
    report.append(f"lab6 {number}: median deviation {median:.1e} (published 1e-4, from an old single-precision version)")
    assert median <= 1e-4
