"""Cakes, radius x azimuth, against Debian's pyFAI and published ones, by the CPU backend and by the model of the kernels.

docs/differences.md lists what differs on purpose; those bins, and no others, are left out below. Debian's pyFAI rounds the
places of pixels to single precision. This moves the ends of axes and, without splitting, pixels from one bin to the next.
There NumPy is between the two, see test_patterns.py.
"""

import dataclasses
import json
import logging
import warnings

import h5py
import numpy
import pytest
import scipy.sparse

import cases
import numpy_patterns
from accumulators import assert_model_agrees
from polygons import area, clipped_area
from test_exact import python_sums

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)  # pyFAI's, about ranges that it cannot take whole

KERNEL_BINS = 4096
LIMIT = 1e-4

# pyFAI's full splitting is approximate in azimuth (docs/differences.md), which shows in squares of shares first.
SIGMA_LIMIT = {"no": 1e-4, "bbox": 1e-4, "full": 5e-3}
SMALLEST_COUNT = 0.01


@dataclasses.dataclass(frozen=True)
class Cake(cases.Case):
    azim: int = 36
    discontinuity: int = 180
    counts: int = 1  # brighter than usual by this factor

    def __str__(self):
        return f"{super().__str__()} x {self.azim}, cut at {self.discontinuity}, x {self.counts}"


def all_cakes():
    cakes = []
    places = ["centred", "corner", "tilted", "turned", "outside"]
    detectors = ["Pilatus100k", "Pilatus300k", "Eiger500k", "Pilatus300kw", "generic"]
    for i, place in enumerate(places):
        for j, split in enumerate(["no", "bbox"]):
            cakes.append(Cake(detectors[(i + j) % 5], place, cases.UNITS[(i + 2 * j) % 6], split, npt=80 + 13 * i,
                              azim=30 + 3 * i, polarization=[None, 0.99, -0.3][(i + j) % 3]))
            cakes.append(Cake(detectors[(i + j + 2) % 5], place, cases.UNITS[(i + j + 3) % 6], split, npt=150, azim=90,
                              mask=j == 1, dark=i % 2 == 0, flat=i == 1, dummies=i % 2 == 1, solid_angle=i != 3,
                              discontinuity=0 if i in (0, 2) else 180, normalization=7.5 if i == 4 else None))
    for split in ("no", "bbox"):
        cakes.append(Cake("Pilatus300k", "centred", "2th_deg", split, npt=100, azim=20, radial=(0.1, 0.8), azimuth=(-100, 80)))
        cakes.append(Cake("Pilatus300k", "tilted", "q_A^-1", split, npt=60, azim=7, radial=(0.2, 0.7), azimuth=(95, 131)))
        cakes.append(Cake("Pilatus100k", "centred", "r_mm", split, npt=70, azim=10, azimuth=(150, 210), discontinuity=0))
        cakes.append(Cake("Eiger500k", "centred", "q_nm^-1", split, npt=400, azim=360, azimuth=(-180, 180)))
    # Bins that are large beside pixels, and bright: pyFAI's full splitting is approximate.
    for i, place in enumerate(["centred", "tilted", "turned", "corner", "outside"]):
        cakes.append(Cake(["Pilatus300k", "Eiger500k"][(i + 1) // 2 % 2], place, cases.UNITS[i], "full", npt=60, azim=12,
                          radial=(0.3, 0.9), counts=100, polarization=[None, 0.95][i % 2], mask=i == 2, dark=i == 1))
        cakes.append(Cake(["generic", "Pilatus300k"][i % 2], place, cases.UNITS[5 - i], "full", npt=50, azim=9, counts=100,
                          radial=(0.35, 0.8), azimuth=None if place in ("outside", "turned") else [(-100, 80), (20, 110)][i % 2],
                          discontinuity=0 if i == 4 else 180, flat=i == 0, dummies=i == 3))
    cakes.append(Cake("Pilatus1M", "centred", "q_A^-1", "bbox", npt=500, azim=180, polarization=0.99, mask=True))
    return cakes


ALL = all_cakes()
assert len(ALL) >= 30 and len(set(map(str, ALL))) == len(ALL)


def make_image(case, integrator, rng):
    image = cases.make_image(case, integrator, rng)
    if case.counts == 1:
        return image
    two_theta = integrator.twoThetaArray(image.shape)
    mean = 40 + 400 * numpy.sin(two_theta / (two_theta.max() - two_theta.min()) * 60) ** 8
    return numpy.where(image < 0, image, rng.poisson(case.counts * mean)).astype(numpy.int32)


def run_pyfai(case, integrator, image, mask, dark, flat, radial):
    if case.discontinuity == 0:
        integrator.setChiDiscAtZero()
    # Without splitting only pyFAI's histogram is right in two dimensions; with boxes its CSR takes the discontinuity
    # to be at 180 always.
    algorithm = "csr" if case.split == "full" or (case.split == "bbox" and case.discontinuity == 180) else "histogram"
    options = {"dummy": -2, "delta_dummy": 1.5} if cases.is_dectris(case) else {}
    return integrator.integrate2d_ng(
        image, case.npt, case.azim, unit=case.unit, method=(case.split, algorithm, "cython"), error_model="poisson", mask=mask,
        dark=dark, flat=flat, correctSolidAngle=case.solid_angle, polarization_factor=case.polarization,
        normalization_factor=case.normalization or 1.0, radial_range=radial, azimuth_range=case.azimuth, **options)


def command_line(case, folder, mask, dark, flat, radial):
    args = ["integrate", "-p", folder / "case.poni", "-n", case.npt, "--npt-azim", case.azim, "-u", case.unit, "--split",
            case.split, "--error-model", "poisson", "--max-count", 1 << 26, "--chi-discontinuity", case.discontinuity, "-q"]
    for flag, name, array in (("-m", "mask", mask), ("-d", "dark", dark), ("-f", "flat", flat)):
        if array is not None:
            args += [flag, folder / f"{name}.npy"]
    if not case.solid_angle:
        args += ["--no-solid-angle"]
    if case.polarization is not None:
        args += ["-P", case.polarization]
    if case.normalization is not None:
        args += ["--normalization-factor", case.normalization]
    if radial is not None:
        args += ["--radial-range", *map(repr, radial)]
    if case.azimuth is not None:
        args += ["--azimuth-range", *case.azimuth]
    return args + [folder / "image.npy"]


def behind_the_cut(case, integrator, reference, mask):
    """Bins in which boxes that reach over the discontinuity differ: pyFAI puts all of it into the bin before."""
    from pyFAI import units

    unit = units.to_unit(case.unit)
    shape = integrator.detector.max_shape
    bins = numpy.zeros(reference.intensity.shape, bool)
    chi, reach = numpy.degrees(integrator.chiArray(shape)), numpy.degrees(integrator.deltaChi(shape))
    first = -180 if case.discontinuity == 180 else 0
    on_cut = ((chi - reach < first) | (chi + reach > first + 360)) & (mask == 0)
    radius = integrator.array_from_unit(shape, "center", unit, scale=False) * unit.scale
    half = integrator.array_from_unit(shape, "delta", unit, scale=False) * unit.scale
    radial_step = reference.radial[1] - reference.radial[0]
    azimuth_step = reference.azimuthal[1] - reference.azimuthal[0]
    low_edge = reference.radial[0] - 0.5 * radial_step
    for r, dr, over in zip(radius[on_cut], half[on_cut],
                           numpy.maximum(first - (chi - reach), chi + reach - first - 360)[on_cut]):
        low, high = (int(numpy.clip((r + way * dr - low_edge) // radial_step, 0, case.npt - 1)) for way in (-1, 1))
        rows = 1 + int(over // azimuth_step) + 1
        bins[:rows, low:high + 1] = True
        bins[-rows:, low:high + 1] = True
    return bins


def compared_bins(case, integrator, reference, mask):
    bins = (reference.count > 0) & numpy.ones(reference.intensity.shape, bool)
    whole_turn = case.azimuth is None or case.azimuth[1] - case.azimuth[0] == 360
    if case.split == "bbox" and whole_turn:
        bins &= ~behind_the_cut(case, integrator, reference, mask)
    if case.split == "bbox":
        # pyFAI's truncation towards zero lets pixels up to one bin below a range fall into its first bin.
        if not whole_turn:
            bins[0] = False
        if case.radial is not None:
            bins[:, 0] = False
    if case.split == "full":
        # At the ends of a range and at the discontinuity pyFAI moves the corners of a pixel to the end.
        bins[[0, -1]] = False
        bins[:, [0, -1]] = False
    return bins


@pytest.mark.parametrize("case", ALL, ids=str)
def test_cake_equals_pyfai(case, annulus, tmp_path, report):
    rng = numpy.random.default_rng(1000 + ALL.index(case))
    integrator = cases.make_integrator(case)
    shape = integrator.detector.max_shape
    image = make_image(case, integrator, rng)
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
    radial = cases.radial_range(case, integrator)
    arguments = command_line(case, tmp_path, user_mask, dark, flat, radial)
    exact, rounded = (numpy_patterns.cake(case, integrator, image, mask, dark, flat, rules, radial)
                      for rules in (numpy_patterns.EXACT, numpy_patterns.PYFAI_0_21))
    reference = run_pyfai(case, integrator, image, mask, dark, flat, radial)
    done = annulus(*arguments, "-o", tmp_path / "out.nxs")
    assert done.returncode == 0, done.stderr
    if case.npt * case.azim <= KERNEL_BINS:
        assert_model_agrees(annulus, arguments, tmp_path / "out.nxs", tmp_path / "model.nxs")
    with h5py.File(tmp_path / "out.nxs") as file:
        data = file["/entry/data"]
        radius, azimuth = data["radial_axis"][()], data["azimuthal_axis"][()]
        intensity, sigma = data["I"][0], data["I_errors"][0]
        sums = file["/entry/reduction/accumulators"]
        count = (sums["count"][()] - sums["missing_count"][0]) / 2.0 ** sums.attrs["weight_bits"]

    numpy.testing.assert_allclose(radius, exact.radial, rtol=1e-12)
    numpy.testing.assert_allclose(azimuth, exact.azimuthal, rtol=1e-12, atol=1e-12)
    numpy.testing.assert_allclose(rounded.radial, reference.radial, rtol=1e-9)
    # pyFAI clips azimuths to a half turn in single precision, which is 5e-6 degrees more than a half turn.
    numpy.testing.assert_allclose(rounded.azimuthal, reference.azimuthal, rtol=1e-9, atol=1.1e-5)
    if case.split == "no":
        numpy.testing.assert_array_equal(count, exact.count)
        known = exact.count > 0
        numpy.testing.assert_allclose(intensity[known], exact.intensity[known], rtol=1e-6)
        numpy.testing.assert_allclose(sigma[known], exact.sigma[known], rtol=1e-6)
        intensity, sigma, count = rounded.intensity, rounded.sigma, rounded.count  # which must be what pyFAI gives
    # pyFAI forgets to transpose the errors of a histogram.
    errors = reference.sigma if reference.sigma.shape == intensity.shape else reference.sigma.T

    bins = compared_bins(case, integrator, reference, mask)
    unlike = bins & ~numpy.isfinite(intensity)
    assert not numpy.any(unlike & (reference.count > 1e-5)), "a bin is empty here and not there"
    # pyFAI's full splitting leaves out slivers of pixels.
    sliver = 0.1 if case.split == "full" else 0
    only_here = (count > sliver) & (reference.count == 0) & ~behind_the_cut(case, integrator, reference, mask)
    assert not numpy.any(only_here), "a bin is empty there and not here"
    bins &= numpy.isfinite(intensity)
    assert bins.sum() > 0.5 * (reference.count > 0).sum()
    difference = numpy.where(bins, numpy.abs(intensity - reference.intensity), 0)
    deviation = difference.sum() / numpy.abs(reference.intensity[bins]).sum()
    sure = bins & (reference.count > SMALLEST_COUNT)
    sigma_deviation = numpy.abs(sigma - errors)[sure].sum() / errors[sure].sum()
    worst = numpy.unravel_index(numpy.argmax(difference), difference.shape)
    report.append(f"{deviation:9.2e} {sigma_deviation:9.2e}  {bins.sum():6d} of {(reference.count > 0).sum():6d} bins, worst "
                  f"{worst[0]:3d}, {worst[1]:3d}: {intensity[worst]:.7g} here, {reference.intensity[worst]:.7g} pyFAI, "
                  f"{reference.count[worst]:.3g} pixels  | {case}")
    assert deviation <= LIMIT
    assert sigma_deviation <= SIGMA_LIMIT[case.split]


def test_full_shares_are_areas(annulus, tmp_path, report):
    """Areas of pixels in (radius, azimuth), clipped in Python, are our shares; pyFAI's differ by more."""
    import pyFAI

    scan = tmp_path / "scan"
    assert annulus("simulate", "-o", scan, "--detector", "Pilatus100k", "-n", 1, "-q").returncode == 0
    done = annulus("integrate", "-p", scan / "scan.poni", "-n", 150, "--npt-azim", 180, "-u", "2th_rad", "--split", "full",
                   "--save-matrix", tmp_path / "matrix.h5", "-o", tmp_path / "out.nxs", "-q", scan)
    assert done.returncode == 0, done.stderr
    integrator = pyFAI.load(str(scan / "scan.poni"))
    theirs = integrator.setup_CSR((195, 487), (150, 180), unit="2th_rad", split="full", scale=False)
    with h5py.File(tmp_path / "matrix.h5") as file, h5py.File(tmp_path / "out.nxs") as output:
        ours = scipy.sparse.csr_matrix((file["data"][()], file["indices"][()], file["indptr"][()]),
                                       shape=tuple(file["shape"][()])).tocsc()
        radial = output["/entry/data/radial_axis_edges"][()]
        azimuthal = numpy.radians(output["/entry/data/azimuthal_axis_edges"][()])
    # pyFAI's bins are radius-major.
    reference = scipy.sparse.csr_matrix((theirs.data, theirs.indices, theirs.indptr), shape=ours.shape)
    reference = reference[numpy.arange(150 * 180).reshape(150, 180).T.ravel()].tocsc()
    places = numpy_patterns.Pixels(integrator, "2th_rad", numpy_patterns.EXACT)
    corners = numpy.stack([places.corner_radius, places.corner_azimuth], axis=-1)
    pixels = numpy.random.default_rng(5).integers(0, len(corners), 400)
    worst = worst_pyfai = 0.0
    several = 0
    for pixel in pixels:
        if numpy.ptp(corners[pixel][:, 1]) > 3:
            continue  # on the discontinuity
        polygon = [tuple(corner) for corner in corners[pixel]]
        whole = area(polygon)
        column = ours[:, pixel]
        for position in range(column.indptr[0], column.indptr[1]):
            j, i = divmod(int(column.indices[position]), 150)
            part = clipped_area(clipped_area(polygon, radial[i], radial[i + 1], 0), azimuthal[j], azimuthal[j + 1], 1)
            share = area(part) / whole if len(part) > 2 else 0
            worst = max(worst, abs(share - column.data[position]))
            worst_pyfai = max(worst_pyfai, abs(share - reference[column.indices[position], pixel]))
        several += column.nnz > 2
    report.append(f"full shares of {len(pixels)} pixels: off by at most {worst:.1e}, pyFAI's by {worst_pyfai:.1e}")
    assert several > 50
    assert worst < 2e-7


@pytest.mark.parametrize("split", ["no", "bbox", "full"])
def test_accumulators_equal_a_sparse_product(annulus, tmp_path, split):
    import fabio

    scan = tmp_path / "scan"
    made = annulus("simulate", "-o", scan, "--detector", "Pilatus300k", "-n", 4, "--seed", 9, "--defects", 0, "-q")
    assert made.returncode == 0, made.stderr
    arguments = ["integrate", "-p", scan / "scan.poni", "-n", 110, "--npt-azim", 36, "--split", split, "--error-model",
                 "poisson", "--json", scan]
    done = annulus(*arguments, "--save-matrix", tmp_path / "matrix.h5", "-o", tmp_path / "out.nxs")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["plan"]["shape"] == [36, 110]
    assert_model_agrees(annulus, arguments, tmp_path / "out.nxs", tmp_path / "model.nxs")
    with h5py.File(tmp_path / "matrix.h5") as matrix, h5py.File(tmp_path / "out.nxs") as output:
        sums = output["/entry/reduction/accumulators"]
        weights = scipy.sparse.csr_matrix(
            (matrix["weight"][()], matrix["indices"][()], matrix["indptr"][()]), shape=tuple(matrix["shape"][()]))
        per_pixel = numpy.asarray(weights.sum(axis=0)).ravel()
        assert set(per_pixel) <= {0, 1 << int(matrix.attrs["weight_bits"])}
        for i, path in enumerate(sorted(scan.glob("*.cbf"))):
            signal, variance = python_sums(matrix, fabio.open(str(path)).data, True)
            numpy.testing.assert_array_equal(sums["signal"][i], signal.reshape(36, 110))
            numpy.testing.assert_array_equal(sums["variance"][i], variance.reshape(36, 110))
        norm = weights @ matrix["normalization"][()]
        numpy.testing.assert_array_equal(sums["normalization"][()], norm.reshape(36, 110))
        numpy.testing.assert_array_equal(sums["count"][()], numpy.asarray(weights.sum(axis=1)).reshape(36, 110))


def test_a_cake_adds_up_to_its_pattern(annulus, tmp_path):
    """Without splitting the bins of a cake over all azimuths hold exactly what those of the pattern hold."""
    scan = tmp_path / "scan"
    assert annulus("simulate", "-o", scan, "--detector", "Pilatus100k", "-n", 2, "-q").returncode == 0
    common = ["integrate", "-p", scan / "scan.poni", "-n", 90, "--split", "no", "-q", scan]
    assert annulus(*common, "-o", tmp_path / "pattern.nxs").returncode == 0
    assert annulus(*common, "--npt-azim", 24, "-o", tmp_path / "cake.nxs").returncode == 0
    with h5py.File(tmp_path / "pattern.nxs") as pattern, h5py.File(tmp_path / "cake.nxs") as cake:
        for name in ("signal", "count"):
            path = f"/entry/reduction/accumulators/{name}"
            numpy.testing.assert_array_equal(cake[path][()].sum(axis=-2), pattern[path][()])


def write_poni(path, header, detector):
    """The geometry of an EDF file that pyFAI wrote, in full precision."""
    keys = {"dist": "Distance", "poni1": "Poni1", "poni2": "Poni2", "rot1": "Rot1", "rot2": "Rot2", "rot3": "Rot3",
            "wavelength": "Wavelength"}
    lines = ["poni_version: 2", *detector, *(f"{name}: {header[key]}" for key, name in keys.items())]
    path.write_text("\n".join(lines) + "\n")


def published_cake(annulus, tmp_path, published, detector, *args):
    import fabio

    published = fabio.open(str(published))
    azim, npt = published.data.shape
    write_poni(tmp_path / "published.poni", published.header, detector)
    done = annulus("integrate", "-p", tmp_path / "published.poni", "-n", npt, "--npt-azim", azim, "-u", "2th_deg", "-q",
                   "-o", tmp_path / "out.nxs", *args)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "out.nxs") as file:
        data = file["/entry/data"]
        intensity = data["I"][0]
        for axis, name in (("radial_axis", "2th_deg"), ("azimuthal_axis", "chi")):
            ends = [float(published.header[f"{name}_{end}"]) for end in ("min", "max")]
            numpy.testing.assert_allclose(data[axis][[0, -1]], ends, atol=2e-5)
    known = (published.data > 0) & numpy.isfinite(intensity)
    return intensity, published.data.astype(float), known


@pytest.mark.parametrize("number,stated", [("0008", 1e-5), ("0025", 2e-4)])
def test_lab6_tilted(annulus, shared_data, tmp_path, report, number, stated):
    stem = shared_data / "lab6-tilted" / f"b_toney_lab6_th3_scan1_{number}"
    intensity, published, known = published_cake(
        annulus, tmp_path, f"{stem}.azim", ["Detector: Pilatus300kw", "Detector_config: {}"], f"{stem}.tif")
    assert known.sum() > 0.999 * (published > 0).sum()
    median = numpy.median(numpy.abs(intensity - published)[known] / published[known])
    deviation = numpy.abs(intensity - published)[known].sum() / published[known].sum()
    report.append(f"lab6 {number}, 400 x 360: median deviation {median:.1e} (stated {stated:.0e}), of the sum {deviation:.1e}")
    assert median <= stated


def test_pixium(annulus, shared_data, tmp_path, report):
    """A cake that an older pyFAI made with splitting by other rules: no further from it than pyFAI 0.21.3."""
    import fabio
    import pyFAI

    folder = shared_data / "pixium-caking"
    image = fabio.open(str(folder / "pixium_03150.tif")).data
    mask = (image < 0).astype(numpy.int8)
    numpy.save(tmp_path / "mask.npy", mask)
    detector = ["Detector: Detector", 'Detector_config: {"pixel1": 0.000296, "pixel2": 0.000296, "max_shape": null}']
    intensity, published, known = published_cake(
        annulus, tmp_path, folder / "integrated.edf", detector, "--split", "full", "-P", 0.99, "--azimuth-range", -180, 180,
        "-m", tmp_path / "mask.npy", folder / "pixium_03150.tif")
    reference = pyFAI.load(str(tmp_path / "published.poni")).integrate2d_ng(
        image, 5000, 36, unit="2th_deg", method=("full", "csr", "cython"), mask=mask, polarization_factor=0.99,
        azimuth_range=(-180, 180)).intensity
    assert known.sum() > 0.999 * (published > 0).sum()

    def from_published(cake):
        return numpy.median(numpy.abs(cake - published)[known] / published[known])

    deviation = numpy.abs(intensity - reference)[known].sum() / reference[known].sum()
    report.append(f"pixium, 5000 x 36: median deviation {from_published(intensity):.3e}, of pyFAI 0.21.3 "
                  f"{from_published(reference):.3e}; from pyFAI 0.21.3 {deviation:.1e} of the sum")
    assert from_published(intensity) <= 1.02 * from_published(reference)
