"""Every reader against the libraries that the formats' users use: FabIO, NumPy, h5py and Pillow."""

import bz2
import csv
import gzip
import hashlib
import json
import logging

import h5py
import numpy
import pytest
from PIL import Image

fabio = pytest.importorskip("fabio")
logging.getLogger("fabio").setLevel(logging.CRITICAL)


def sha256_of(pixels):
    kind = "<f8" if pixels.dtype.kind == "f" else "<i8"
    return hashlib.sha256(numpy.ascontiguousarray(pixels.astype(kind)).tobytes()).hexdigest()


@pytest.fixture(scope="session")
def info(annulus):
    """What `annulus info --json` says of a file, which must be readable."""

    def run(path, *options):
        result = annulus("info", "--json", *options, path)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return run


def expect(found, pixels, type_name=None, frames=1):
    """`found` must describe exactly these pixels."""
    assert found["shape"] == list(pixels.shape)
    assert found["type"] == (type_name or pixels.dtype.newbyteorder("=").name)
    assert found["frames"] == frames
    if pixels.dtype.kind == "f":
        assert found["min"] == float(pixels.min()) and found["max"] == float(pixels.max())
        assert found["sum"] == pytest.approx(float(pixels.sum(dtype="f8")), rel=1e-12)
    else:
        numbers = [int(value) for value in pixels.ravel()]
        assert (found["min"], found["max"], found["sum"]) == (min(numbers), max(numbers), sum(numbers))
    assert found["pixels_sha256"] == sha256_of(pixels)


def random_image(seed, dtype, shape=(23, 31)):
    """All magnitudes of the type, so that every code of a compressed format occurs."""
    random = numpy.random.default_rng(seed)
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":
        return (random.standard_normal(shape) * 10.0 ** random.integers(-3, 6, shape)).astype(dtype)
    limits = numpy.iinfo(dtype)
    # Half of the range, because FabIO's CBF encoder wraps differences beyond int32; and no more than 48
    # bits, because a JSON integer has to hold the sum.
    bits = min(48, limits.bits - (2 if limits.min < 0 else 1))
    values = random.integers(0, 2**bits, shape, dtype="u8") >> random.integers(0, bits, shape).astype("u8")
    values = values.astype("i8")
    if limits.min < 0:
        values *= random.choice([-1, 1], shape)
    return values.astype(dtype)


# Real files.


def manifest(shared_data):
    with open(shared_data / "MANIFEST.tsv", newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def test_every_image_of_the_manifest_has_its_shape_extremes_and_sum(info, shared_data):
    checked = 0
    for row in manifest(shared_data):
        if not row["sum"] or row["format"].startswith("stream"):
            continue
        shape = [int(side) for side in row["shape"].split("x")][-2:]
        options = ["--raw-shape", *shape, "--raw-type", row["dtype"]] if row["format"].startswith("raw") else []
        found = info(shared_data / row["file"], *options)
        assert found["shape"] == shape, row["file"]
        assert found["min"] == float(row["min"]) and found["max"] == float(row["max"]), row["file"]
        assert found["sum"] == pytest.approx(float(row["sum"]), rel=1e-12), row["file"]
        checked += 1
    assert checked >= 20


def test_every_real_cbf_decodes_to_the_pixels_of_fabio(info, shared_data):
    checked = 0
    for path in sorted(shared_data.glob("*/*.cbf")):
        pixels = fabio.open(str(path)).data
        expect(info(path), pixels)
        checked += 1
    assert checked >= 7


def test_an_edf_named_cbf_is_read_as_edf(info, shared_data):
    path = shared_data / "swaxs-reduction" / "b_tassone_Standards_LaB6_T20_ctr0_scan1_0000.cbf"
    assert info(path)["format"] == "EDF"


@pytest.mark.parametrize("pattern", ["*/*.edf", "*/*.azim"])
def test_every_real_edf_has_the_pixels_of_fabio(info, shared_data, pattern):
    for path in sorted(shared_data.glob(pattern)):
        expect(info(path), fabio.open(str(path)).data)


def test_every_real_tiff_has_the_pixels_of_pillow(info, shared_data):
    paths = [*shared_data.glob("*/*.tif"), shared_data / "xraylarch/Pilatus.tiff", *shared_data.glob("*/*.mask")]
    assert len(paths) >= 5
    for path in paths:
        pixels = numpy.array(Image.open(path))
        # Pillow has no unsigned 32-bit mode.
        expect(info(path), pixels, "uint32" if path.suffix == ".mask" else None)


def test_the_damaged_tiff_is_refused(annulus, shared_data):
    result = annulus("info", "--json", shared_data / "xraylarch" / "Pilatus.damaged.tiff")
    assert result.returncode != 0
    assert "Pilatus.damaged.tiff" in result.stderr and "not in the file" in result.stderr
    assert result.stdout == ""


def test_the_eiger_frame_is_read_through_the_installed_filters(info, shared_data):
    path = shared_data / "hdf5plugin" / "bitshuffle.h5"
    try:
        with h5py.File(path, "r") as file:
            pixels = file["entry/data/data"][0]
    except OSError as error:
        pytest.skip(f"h5py cannot read it either: {error}")
    expect(info(path), pixels)
    expect(info(f"{path}::/entry/data/data"), pixels)


@pytest.mark.parametrize(
    "name, cutoff, wavelength",
    [("dials/ximg2701_00001.cbf", 1221554, 0.68940e-10), ("cct/org_00100.cbf", 1050854, None)],
)
def test_saturation_and_wavelength_come_from_the_header(info, shared_data, name, cutoff, wavelength):
    found = info(shared_data / name)
    assert found["max_count"] == cutoff
    assert found["wavelength"] == (None if wavelength is None else pytest.approx(wavelength, rel=1e-12))


# Files written by others.


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8"])
def test_cbf_written_by_fabio(info, tmp_path, dtype):
    for seed in range(3):
        pixels = random_image(seed, dtype)
        path = tmp_path / f"{seed}.cbf"
        fabio.cbfimage.CbfImage(data=pixels).write(str(path))
        found = info(path)
        assert found["format"] == "CBF"
        expect(found, pixels)


EDF_TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


@pytest.mark.parametrize("dtype", EDF_TYPES)
def test_edf_written_by_fabio(info, tmp_path, dtype):
    pixels = random_image(1, dtype)
    path = tmp_path / "a.edf"
    fabio.edfimage.EdfImage(data=pixels, header={"title": "a test"}).write(str(path))
    expect(info(path), pixels)


def test_edf_of_several_frames_written_by_fabio(info, tmp_path):
    images = [random_image(seed, "i4") for seed in range(5)]
    edf = fabio.edfimage.EdfImage(data=images[0])
    for image in images[1:]:
        edf.append_frame(data=image)
    path = tmp_path / "a.edf"
    edf.write(str(path))
    expect(info(path), images[0], frames=5)


@pytest.mark.parametrize("pack, name", [(gzip.compress, "gzip"), (bz2.compress, "bzip2")])
def test_packed_files(info, tmp_path, pack, name):
    pixels = random_image(2, "i4")
    plain = tmp_path / "a.cbf"
    fabio.cbfimage.CbfImage(data=pixels).write(str(plain))
    packed = tmp_path / "packed"
    packed.write_bytes(pack(plain.read_bytes()))
    found = info(packed)
    assert found["format"] == f"CBF ({name})"
    expect(found, pixels)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", EDF_TYPES)
def test_npy_written_by_numpy(info, tmp_path, dtype, order):
    pixels = random_image(3, dtype)
    path = tmp_path / "a.npy"
    numpy.save(path, pixels.astype(order + dtype))
    expect(info(path), pixels)
    numpy.save(path, numpy.asfortranarray(pixels.astype(order + dtype)))
    expect(info(path), pixels)
    numpy.save(path, numpy.stack([pixels, pixels + pixels.dtype.type(1)]).astype(order + dtype))
    expect(info(path), pixels, frames=2)


def test_npy_of_booleans(info, tmp_path):
    mask = random_image(4, "u1") > 3
    numpy.save(tmp_path / "a.npy", mask)
    expect(info(tmp_path / "a.npy"), mask.astype("u1"))


def test_raw_files(info, tmp_path):
    stack = numpy.stack([random_image(seed, "u2") for seed in range(3)])
    path = tmp_path / "a.raw"
    path.write_bytes(b"header" + stack.tobytes())
    options = ["--raw-shape", 23, 31, "--raw-type", "uint16", "--raw-offset", 6]
    expect(info(path, *options), stack[0], frames=3)


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate", "packbits"])
@pytest.mark.parametrize("dtype", ["u1", "u2", "i4", "f4"])
def test_tiff_written_by_pillow(info, tmp_path, dtype, compression):
    pixels = random_image(5, dtype)
    path = tmp_path / "a.tif"
    Image.fromarray(pixels).save(path, compression=compression)
    expect(info(path), pixels)


def test_one_bit_tiff_written_by_pillow(info, tmp_path):
    mask = random_image(6, "u1") > 3
    path = tmp_path / "a.tif"
    Image.fromarray(mask).save(path, compression="group4")
    expect(info(path), mask.astype("u1"))


def test_tiff_pages_written_by_pillow(info, tmp_path):
    pages = [Image.fromarray(random_image(seed, "i4")) for seed in range(4)]
    path = tmp_path / "a.tif"
    pages[0].save(path, save_all=True, append_images=pages[1:])
    expect(info(path), numpy.array(pages[0]), frames=4)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", EDF_TYPES)
def test_hdf5_written_by_h5py(info, tmp_path, dtype, order):
    stack = numpy.stack([random_image(seed, dtype) for seed in range(3)])
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("a/plain", data=stack[0].astype(order + dtype))
        file.create_dataset(
            "a/stack", data=stack.astype(order + dtype), chunks=(1, 10, 31), compression="gzip", shuffle=True
        )
    expect(info(f"{path}::/a/plain"), stack[0])
    expect(info(f"{path}::/a/stack"), stack[0], frames=3)


def test_hdf5_booleans_and_half_floats(info, tmp_path):
    mask = random_image(7, "u1") > 3
    halves = numpy.linspace(-4, 4, 23 * 31).astype("f2").reshape(23, 31)
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["mask"] = mask
        file["halves"] = halves
    expect(info(f"{path}::/mask"), mask.astype("u1"))
    expect(info(f"{path}::/halves"), halves.astype("f4"))


def test_hdf5_without_a_path_follows_the_nexus_default(info, annulus, tmp_path):
    pixels = random_image(8, "u4")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["other"] = pixels + 1
        file["scan/plot/image"] = pixels
    result = annulus("info", "--json", path)
    assert result.returncode != 0
    assert "/other (23 x 31)" in result.stderr and "/scan/plot/image (23 x 31)" in result.stderr
    with h5py.File(path, "a") as file:
        file.attrs["default"] = "scan"
        file["scan"].attrs["default"] = "plot"
        file["scan/plot"].attrs["signal"] = "image"
    expect(info(path), pixels)


# Damage.


def test_truncated_files_are_refused(annulus, tmp_path):
    pixels = random_image(9, "i4")
    fabio.cbfimage.CbfImage(data=pixels).write(str(tmp_path / "a.cbf"))
    fabio.edfimage.EdfImage(data=pixels).write(str(tmp_path / "a.edf"))
    numpy.save(tmp_path / "a.npy", pixels)
    Image.fromarray(pixels).save(tmp_path / "a.tif")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["image"] = pixels
    for path in sorted(tmp_path.glob("a.*")):
        content = path.read_bytes()
        for part in (len(content) // 10, len(content) // 2, len(content) - 100):
            cut = tmp_path / f"cut{path.suffix}"
            cut.write_bytes(content[:part])
            result = annulus("info", "--json", cut)
            assert result.returncode != 0, (path.name, part)
            assert cut.name in result.stderr and result.stdout == "", (path.name, part)


@pytest.mark.parametrize("name", ["absent.cbf", "."])
def test_what_is_no_file_is_refused(annulus, tmp_path, name):
    result = annulus("info", "--json", tmp_path / name)
    assert result.returncode != 0 and str(tmp_path) in result.stderr
