"""Angular correlations against sums of NumPy's integers, and Legendre coefficients against its least squares."""

import os
import pathlib
import subprocess

import numpy
import pytest

# Rings, angles, images.
SHAPES = [(12, 64, 20), (7, 45, 33), (30, 100, 8), (3, 256, 120), (1, 17, 5), (40, 30, 60)]


@pytest.fixture(scope="session")
def correlate(tmp_path_factory):
    """correlate(rings, angles, input=array..., key=value...) -> written arrays by name, lines that were printed"""
    program = os.environ.get("ANNULUS_CORRELATION_TOOL")
    if not program:
        pytest.fail("set the environment variable ANNULUS_CORRELATION_TOOL to the path of correlation_tool")
    folder = pathlib.Path(tmp_path_factory.mktemp("correlation"))

    def run(rings, angles, **options):
        words = {"rings": rings, "angles": angles}
        for key, value in options.items():
            if isinstance(value, numpy.ndarray):
                value.tofile(folder / key)
                value = folder / key
            words[key] = value
        written = {"signal": "f4" if options.get("fast") else "i8", "mask": "i8", "c2": "f4" if options.get("fast") else "f8"}
        if "highest" in options:
            written |= {"legendre": "f8", "conditions": "f8"}
        words |= {key: folder / key for key in written}
        done = subprocess.run([program, *(f"{key}={value}" for key, value in words.items())], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        arrays = {key: numpy.fromfile(folder / key, kind).reshape(rings * (rings + 1) // 2, -1) for key, kind in written.items()}
        return arrays, done.stdout.splitlines()

    return run


def exact_sums(images):
    """[pair][d] of images [image][q][phi], in integers."""
    images = images.astype("i8")
    upper = numpy.triu_indices(images.shape[1])
    turns = [numpy.einsum("jqp,jrp->qr", images, numpy.roll(images, -d, axis=2))[upper] for d in range(images.shape[2])]
    return numpy.stack(turns, axis=1)


def assert_same(found, expected):
    different = numpy.argwhere(found != expected)
    assert not len(different), f"{len(different)} differ, first at {different[0]}: {found[tuple(different[0])]}, " \
                               f"expected {expected[tuple(different[0])]}"


@pytest.mark.parametrize("rings, angles, images", SHAPES)
@pytest.mark.parametrize("threads, block", [(1, 0), (2, 3)])
def test_integers_of_full_range(correlate, rings, angles, images, threads, block):
    random = numpy.random.default_rng(rings)
    values = random.integers(-32768, 32768, (images, rings, angles), dtype="i2")
    found, _ = correlate(rings, angles, images=values, threads=threads, block=block)
    expected = exact_sums(values)
    assert_same(found["signal"], expected)
    assert_same(found["mask"], numpy.full_like(expected, images * angles))
    assert_same(found["c2"], expected / (images * angles))


@pytest.mark.parametrize("rings, angles, images", SHAPES)
@pytest.mark.parametrize("changing", [False, True])
def test_masks(correlate, rings, angles, images, changing):
    random = numpy.random.default_rng(angles)
    values = random.integers(-32768, 32768, (images, rings, angles), dtype="i2")
    valid = (random.random((images if changing else 1, rings, angles)) < 0.7).astype("u1")
    found, _ = correlate(rings, angles, images=values, valid=valid, scale=5)
    signal, mask = exact_sums(values * valid), exact_sums(numpy.broadcast_to(valid, values.shape))
    assert_same(found["signal"], signal)
    assert_same(found["mask"], mask)
    with numpy.errstate(invalid="ignore"):
        assert numpy.array_equal(found["c2"], signal / mask / 2.0 ** 10, equal_nan=True)


@pytest.mark.parametrize("subtract_mean", [True, False])
def test_polar_images(correlate, subtract_mean):
    random = numpy.random.default_rng(3)
    images = random.gamma(3, 10, (130, 9, 40))
    images[random.random(images.shape) < 0.1] = numpy.nan
    images[5, 2, 7] = 1e9  # rejected
    images[7] /= 1000
    taken = numpy.ones(130, bool)
    taken[[5, 7]] = False
    limits = {"least_mean": 1}
    if subtract_mean:
        levels = numpy.nanmean(images, axis=2, keepdims=True)
    else:
        levels = 0
    first = numpy.abs(images - levels)[[j for j in range(102) if j not in (5, 7)]]
    scale = int(numpy.floor(numpy.log2(2047.5 / numpy.nanmax(first))))
    found, lines = correlate(9, 40, polar=images, subtract_mean=int(subtract_mean), scale=scale, **limits)
    rejected = [line for line in lines if line.startswith("rejected")]
    assert len(rejected) == 2 and "16 bits" in rejected[0] and "least_mean" in rejected[1]
    integers = numpy.rint((images - levels) * 2.0 ** scale)
    valid = numpy.isfinite(integers)
    integers = numpy.where(valid, integers, 0)[taken].astype("i8")
    assert_same(found["signal"], exact_sums(integers))
    assert_same(found["mask"], exact_sums(valid[taken]))
    # By itself it finds that scale, from images without the one that would make it useless.
    _, lines = correlate(9, 40, polar=images[taken], subtract_mean=int(subtract_mean))
    assert f"scale {scale}" in lines


def test_fast_is_close(correlate):
    random = numpy.random.default_rng(4)
    values = random.integers(-2048, 2048, (80, 20, 90), dtype="i2")
    found, _ = correlate(20, 90, images=values, fast=1)
    expected = exact_sums(values)
    assert numpy.abs(found["signal"] - expected).max() < 2e-6 * expected.max()
    assert_same(found["mask"], numpy.full_like(expected, 80 * 90))


@pytest.mark.parametrize("wavelength", [0, 1.2])
@pytest.mark.parametrize("even_only", [True, False])
@pytest.mark.parametrize("angles", [60, 61])
def test_legendre_coefficients(correlate, wavelength, even_only, angles):
    random = numpy.random.default_rng(5)
    rings = 5
    values = random.integers(-2048, 2048, (3, rings, angles), dtype="i2")
    valid = (random.random((1, rings, angles)) < 0.15).astype("u1")  # few products, and none at some angles
    q = numpy.linspace(0.1, 4, rings)
    found, _ = correlate(rings, angles, images=values, valid=valid, q=q, highest=8, even_only=int(even_only),
                         wavelength=wavelength)
    theta = numpy.pi / 2 - numpy.arcsin(q * wavelength / 4 / numpy.pi)
    turns = 2 * numpy.pi * numpy.arange(angles) / angles
    determined = 0
    for pair, (a, b) in enumerate(zip(*numpy.triu_indices(rings))):
        known = numpy.isfinite(found["c2"][pair])
        cosines = numpy.cos(theta[a]) * numpy.cos(theta[b]) + numpy.sin(theta[a]) * numpy.sin(theta[b]) * numpy.cos(turns[known])
        matrix = numpy.polynomial.legendre.legvander(cosines, 8)[:, ::2 if even_only else 1] / (4 * numpy.pi)
        expected, _, rank, singular = numpy.linalg.lstsq(matrix, found["c2"][pair][known], rcond=None)
        if rank < matrix.shape[1]:
            assert numpy.isnan(found["legendre"][pair]).all() and numpy.isinf(found["conditions"][pair])
            continue
        determined += 1
        condition = singular[0] / singular[-1]
        assert found["conditions"][pair][0] == pytest.approx(condition, rel=1e-9)
        assert found["legendre"][pair] == pytest.approx(expected, rel=0, abs=1e-13 * condition * numpy.abs(expected).max())
    assert determined >= 5
