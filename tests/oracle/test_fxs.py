"""Snapshots of particles against NumPy: the expected correlation against a quadrature over all orientations, polar images
and detector frames against the definition, files against what the program printed."""

import h5py
import numpy
import pytest


@pytest.fixture
def simulate(annulus, tmp_path):
    def run(*args, folder="shots"):
        done = annulus("simulate", "--fxs", "-o", tmp_path / folder, "-q", *args)
        assert done.returncode == 0, done.stderr
        return tmp_path / folder

    return run


def truth(folder):
    """Every dataset of the file by its path."""
    found = {}
    with h5py.File(folder / "scan_fxs.nxs") as file:
        file["entry"].visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def rotation(quaternion):
    w, x, y, z = quaternion
    cross = numpy.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return numpy.eye(3) + 2 * w * cross + 2 * cross @ cross


def intensity(known, vectors, turn):
    """|A|^2 of the particle, turned, at vectors [..., 3]."""
    places = numpy.stack([known[f"particle/{axis}"] for axis in "xyz"], axis=1) @ turn.T
    squares = (vectors**2).sum(axis=-1)[..., None]
    factors = known["particle/weight"] * numpy.exp(-known["particle/width"] ** 2 * squares / 2)
    return numpy.abs((factors * numpy.exp(1j * vectors @ places.T)).sum(axis=-1)) ** 2


def ewald_rings(q, angles, wavelength):
    """Points at the middles of bins in azimuth: [q][phi][3]."""
    along = q * wavelength / (4 * numpy.pi)
    phi = (numpy.arange(angles) + 0.5) / angles * 2 * numpy.pi - numpy.pi
    across = q * numpy.sqrt(1 - along**2)
    return numpy.stack([across[:, None] * numpy.cos(phi), across[:, None] * numpy.sin(phi),
                        numpy.repeat(-(q * along)[:, None], angles, axis=1)], axis=-1)


def correlation(images):
    """Mean of C2 over images [image][q][phi], by Fourier transforms: [pair][d]."""
    spectra = numpy.fft.rfft(images, axis=2)
    upper = numpy.triu_indices(images.shape[1])
    products = numpy.einsum("jqk,jrk->qrk", spectra.conj(), spectra)[upper]
    return numpy.fft.irfft(products, images.shape[2], axis=1) / images.shape[2] / len(images)


def average_over_orientations(known, angles, orders):
    """C2 by a product quadrature of SO(3), which is exact for a limited number of orders: equal steps of two angles
    (those about the beam are the steps of phi), Gauss and Legendre's points for the third."""
    vectors = ewald_rings(known["c2_on_ring/q"], angles, known["particle/wavelength"])
    nodes, weights = numpy.polynomial.legendre.leggauss(orders + 1)
    total = 0
    for cosine, weight in zip(nodes, weights):
        sine = numpy.sqrt(1 - cosine**2)
        tilt = numpy.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]])
        images = []
        for a in numpy.arange(2 * orders + 1) / (2 * orders + 1) * 2 * numpy.pi:
            spin = numpy.array([[numpy.cos(a), -numpy.sin(a), 0], [numpy.sin(a), numpy.cos(a), 0], [0, 0, 1]])
            images.append(intensity(known, vectors, tilt @ spin))
        total = total + weight / 2 * correlation(numpy.array(images))
    return total


@pytest.mark.parametrize("options", [["--particle", "random"], ["--particle", "trimer", "--energy", 0.8],
                                     ["--particle", "empty", "--gaussian", "0,0,0,0.5", "1,-2,0.5,0.3,-0.7", "2,1,1,0,2"]],
                         ids=["random", "curved", "unequal"])
def test_expected_correlation_is_that_of_all_orientations(simulate, options):
    angles = 80
    folder = simulate("--format", "polar", "-n", 1, "--npt", 5, "--npt-azim", angles, "--radial-range", 0.1, 2.6, *options)
    known = truth(folder)
    found = known["correlation/c2"] / known["particle/photons_per_intensity"] ** 2
    # The largest order of a product is twice that of an intensity; beyond q times the extent it vanishes fast.
    expected = average_over_orientations(known, angles, orders=38)
    assert numpy.abs(found - expected).max() < 1e-9 * numpy.abs(expected).max()
    assert (numpy.abs(found - expected) < 1e-7 * numpy.abs(expected)).all()
    subtracted = known["correlation/c2_mean_subtracted"] / known["particle/photons_per_intensity"] ** 2
    numpy.testing.assert_allclose(subtracted, expected - expected.mean(axis=1, keepdims=True),
                                  atol=1e-9 * numpy.abs(expected).max())

    # Coefficients belong to the angle between points of the sphere.
    upper = numpy.triu_indices(5)
    along = known["c2_on_ring/q"] * known["particle/wavelength"] / (4 * numpy.pi)
    across = numpy.sqrt(1 - along**2)
    turns = numpy.cos(numpy.deg2rad(known["c2_on_ring/angle"]))
    cosines = (along[upper[0]] * along[upper[1]])[:, None] + (across[upper[0]] * across[upper[1]])[:, None] * turns
    order = known["legendre/order"].astype(int)
    assert (order == numpy.arange(0, order[-1] + 1, 2)).all()
    legendre = numpy.polynomial.legendre.legvander(cosines, order[-1])[..., order]
    sums = (known["legendre/data"][:, None, :] * legendre).sum(axis=2) / (4 * numpy.pi)
    numpy.testing.assert_allclose(sums, known["correlation/c2"], rtol=1e-9)


def test_polar_images_are_intensities_times_the_beam(simulate):
    folder = simulate("--format", "polar", "-n", 12, "--npt", 7, "--npt-azim", 18, "--particles", 3, "--noiseless",
                      "--particle", "helix", "--beam-variation", 0.5, "--blank", 0.3)
    known = truth(folder)
    images = numpy.load(folder / "scan.npy")
    assert images.dtype == numpy.float32 and images.shape == (12, 7, 18)
    q = known["c2_on_ring/q"]
    numpy.testing.assert_allclose(q, (numpy.arange(7) + 0.5) * 3 / 7)
    vectors = ewald_rings(q, 18, known["particle/wavelength"])
    assert 0 < (known["shots/beam"] == 0).sum() < 12
    for image, beam, quaternions in zip(images, known["shots/beam"], known["shots/orientation"]):
        one = sum(intensity(known, vectors, rotation(quaternion)) for quaternion in quaternions)
        expected = beam * known["particle/photons_per_intensity"] * one
        numpy.testing.assert_allclose(image, expected, rtol=1e-6)


def test_shots_of_several_particles_have_the_expected_correlation(simulate):
    """With noise, changing beam and blank shots; a value with itself has the photons' variance more."""
    folder = simulate("--format", "polar", "-n", 4000, "--npt", 6, "--npt-azim", 16, "--particles", 4, "--particle", "dimer",
                      "--beam-variation", 0.6, "--blank", 0.2, "--photons", 5000)
    known = truth(folder)
    with_beam = known["shots/beam"] > 0
    images = numpy.load(folder / "scan.npy").astype(float)
    assert images[~with_beam].max() == 0 and 700 < (~with_beam).sum() < 900
    images = images[with_beam]
    numpy.testing.assert_allclose(images.mean(axis=(0, 2)), known["mean/data"], rtol=0.05)
    equal = numpy.equal(*numpy.triu_indices(6))
    for name, shots in (("c2", images), ("c2_mean_subtracted", images - images.mean(axis=2, keepdims=True))):
        parts = numpy.array([correlation(part) for part in numpy.array_split(shots, 32)])
        expected = known[f"correlation/{name}"].copy()
        expected[equal, 0] += known["mean/data"]
        if name == "c2_mean_subtracted":
            expected[equal] -= known["mean/data"][:, None] / 16
        errors = parts.std(axis=0, ddof=1) / numpy.sqrt(len(parts))
        differences = (parts.mean(axis=0) - expected) / errors
        # The beam of these very shots is known, so that they may scatter more than they differ.
        assert numpy.sqrt((differences**2).mean()) < 1.5, name
        assert numpy.abs(differences).max() < 5, name


def test_frames_are_the_same_in_every_format(annulus, simulate, tmp_path):
    """Reduced, they have the same photons, and are near the mean of all orientations."""
    patterns = {}
    for form in ("cbf", "hdf5", "eiger"):
        folder = simulate("--detector", "Eiger500k", "-n", 4, "--npt", 4, "--npt-azim", 8, "--particle", "tetrahedron",
                          "--format", form, folder=form)
        output = tmp_path / f"{form}.nxs"
        done = annulus("integrate", "-p", folder / "scan.poni", "-n", 50, "-u", "q_nm^-1", "--split", "no", "--polarization", 0.99,
                       "-o", output, folder if form == "cbf" else next(folder.glob("*[nr].h5")))
        assert done.returncode == 0, done.stderr
        with h5py.File(output) as file:
            axis, patterns[form] = file["entry/data/radial_axis"][()], file["entry/data/I"][()]
    assert numpy.array_equal(patterns["cbf"], patterns["hdf5"], equal_nan=True)
    assert numpy.array_equal(patterns["cbf"], patterns["eiger"], equal_nan=True)
    known = truth(folder)
    ring = numpy.interp(known["c2_on_ring/q"], axis, patterns["cbf"].mean(axis=0))
    numpy.testing.assert_allclose(ring, known["mean/data"], rtol=0.4)


def test_options_that_do_not_apply_are_refused(annulus, tmp_path):
    for words in (["--fxs", "--phantom", "discs"], ["--fxs", "--calibrant", "Si"], ["--fxs", "--ring-counts", 3], ["--blank", 0.1],
                  ["--photons", 100], ["--format", "polar"], ["--fxs", "--format", "polar", "--detector", "Eiger1M"],
                  ["--fxs", "--format", "polar", "--rot1", 0.1], ["--fxs", "--format", "polar", "--pixel-type", "uint8"],
                  ["--fxs", "--radial-range", 3, 1], ["--fxs", "--gaussian", "1,2"], ["--fxs", "--particle", "cube"],
                  ["--fxs", "--npt", 2000, "--npt-azim", 100000]):
        done = annulus("simulate", "-o", tmp_path / "none", *words)
        assert done.returncode != 0 and done.stderr.startswith("annulus: error: "), words
        assert not (tmp_path / "none").exists(), words
