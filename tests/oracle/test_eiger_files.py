"""Eiger files: what h5py and hdf5plugin write is read to the same pixels, what `simulate` writes they read, and none
of it needs a filter plugin. The reference is always h5py in a process of its own that has the plugins."""

import hashlib
import itertools
import json
import os

import h5py
import numpy
import pytest

hdf5plugin = pytest.importorskip("hdf5plugin")
fabio = pytest.importorskip("fabio")

FILTERS = {
    "none": {},
    "bslz4": hdf5plugin.Bitshuffle(nelems=0, lz4=True),
    "bslz4_small": hdf5plugin.Bitshuffle(nelems=64, lz4=True),
    "bits": hdf5plugin.Bitshuffle(nelems=0, lz4=False),
    "bits_small": hdf5plugin.Bitshuffle(nelems=128, lz4=False),
    "lz4": hdf5plugin.LZ4(nbytes=0),
    "lz4_small": hdf5plugin.LZ4(nbytes=1000),
    "gzip": {"compression": "gzip", "shuffle": True},
}
TYPES = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8"]
CHUNKS = {"frame": (1, 23, 31), "tiles": (1, 10, 16), "frames": (2, 23, 31), "both": (2, 7, 31)}


@pytest.fixture(scope="session")
def without_plugins(annulus, tmp_path_factory):
    """The program with a folder of plugins that is empty."""
    environment = os.environ | {"HDF5_PLUGIN_PATH": str(tmp_path_factory.mktemp("no_plugins"))}
    return lambda *args: annulus(*args, env=environment)


@pytest.fixture(scope="session")
def info(without_plugins):
    def run(*urls):
        done = without_plugins("info", "--json", *urls)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def sha256_of(pixels):
    return hashlib.sha256(pixels.astype("<f8" if pixels.dtype.kind == "f" else "<i8").tobytes()).hexdigest()


def random_stack(seed, dtype, shape=(3, 23, 31)):
    random = numpy.random.default_rng(seed)
    if numpy.dtype(dtype).kind == "f":
        return random.standard_normal(shape).astype(dtype)
    values = random.poisson(3, shape)
    values[random.random(shape) < 0.01] = 120
    return values.astype(dtype)


def test_every_filter_type_and_chunk_without_a_plugin(info, tmp_path):
    path = tmp_path / "a.h5"
    expected = {}
    with h5py.File(path, "w") as file:
        for seed, (name, dtype, chunk) in enumerate(itertools.product(FILTERS, TYPES, CHUNKS)):
            stack = random_stack(seed, dtype)
            file.create_dataset(f"{name}/{dtype}/{chunk}", data=stack, chunks=CHUNKS[chunk], **FILTERS[name])
            expected[f"{path}::/{name}/{dtype}/{chunk}"] = stack
    found = info(*expected)
    assert len(found) == len(expected) == 320
    for (url, stack), described in zip(expected.items(), found):
        assert described["frames"] == 3 and described["shape"] == [23, 31], url
        assert described["pixels_sha256"] == sha256_of(stack[0]), url


def test_odd_shapes_and_every_block_size(info, tmp_path):
    path = tmp_path / "a.h5"
    expected = {}
    random = numpy.random.default_rng(7)
    with h5py.File(path, "w") as file:
        for i in range(120):
            shape = (int(random.integers(1, 40)), int(random.integers(1, 90)))
            dtype = ["u1", "u2", "u4", "i4"][i % 4]
            image = random_stack(i, dtype, shape)
            packed = hdf5plugin.Bitshuffle(nelems=8 * int(random.integers(0, 300)), lz4=True)
            if i % 3 == 0:
                packed = hdf5plugin.LZ4(nbytes=int(random.integers(1, 5000)))
            file.create_dataset(f"{i}", data=image, chunks=shape, **packed)
            expected[f"{path}::/{i}"] = image
    for (url, image), described in zip(expected.items(), info(*expected)):
        assert described["pixels_sha256"] == sha256_of(image), (url, image.shape, image.dtype)


def test_the_real_eiger_frame(info, shared_data):
    path = shared_data / "hdf5plugin" / "bitshuffle.h5"
    with h5py.File(path) as file:
        pixels = file["entry/data/data"][0]
    found = info(path)
    assert found["shape"] == [2167, 2070] and found["type"] == "uint32"
    assert found["pixels_sha256"] == sha256_of(pixels)


@pytest.mark.parametrize("name, arrays", [("jhdf/bitshuffle_datasets.hdf5", 40), ("jhdf/lz4_datasets.hdf5", 20),
                                          ("purehdf/bitshuffle.h5", 2)])
def test_chunks_of_other_programs(info, shared_data, tmp_path, name, arrays):
    """They hold arrays of one dimension: their chunks are taken over into images of one row."""
    path = tmp_path / "a.h5"
    expected = {}
    with h5py.File(shared_data / name) as source, h5py.File(path, "w") as target:
        for key, array in source.items():
            (code, values), = array._filters.items()
            image = target.create_dataset(key, (1, *array.shape), array.dtype, chunks=(1, *array.shape),
                                          compression=int(code), compression_opts=values[3:] or values)
            image.id.write_direct_chunk((0, 0), array.id.read_direct_chunk((0,))[1])
            expected[f"{path}::/{key}"] = array[()]
    assert len(expected) == arrays
    for (url, array), described in zip(expected.items(), info(*expected)):
        assert described["pixels_sha256"] == sha256_of(array), url


def test_a_file_by_hdf5plugin_through_a_master_with_links(info, tmp_path):
    stack = random_stack(1, "u4", (5, 23, 31))
    for i, part in enumerate((stack[:2], stack[2:])):
        with h5py.File(tmp_path / f"x_data_{i + 1:06d}.h5", "w") as file:
            file.create_dataset("entry/data/data", data=part, chunks=(1, 23, 31), **FILTERS["bslz4"])
    with h5py.File(tmp_path / "x_master.h5", "w") as file:
        for i in (1, 2):
            file[f"entry/data/data_{i:06d}"] = h5py.ExternalLink(f"x_data_{i:06d}.h5", "/entry/data/data")
    found = info(tmp_path / "x_master.h5", f"{tmp_path / 'x_master.h5'}::/entry/data/data_000002")
    assert found[0]["frames"] == 5 and found[0]["pixels_sha256"] == sha256_of(stack[0])
    assert found[1]["frames"] == 3 and found[1]["pixels_sha256"] == sha256_of(stack[2])


# Files of `simulate`.


@pytest.fixture(scope="module", params=["uint32", "uint16", "uint8"])
def simulated(request, without_plugins, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    done = without_plugins("simulate", "-o", folder, "--format", "eiger", "--detector", "Eiger500k", "-n", 5,
                           "--images-per-file", 2, "--pixel-type", request.param, "--ring-counts", 200, "-q")
    assert done.returncode == 0, done.stderr
    return folder, request.param


def test_simulated_masters_are_what_h5py_fabio_and_silx_expect(simulated, without_plugins):
    folder, kind = simulated
    assert sorted(path.name for path in folder.glob("*.h5")) == [
        "scan_data_000001.h5", "scan_data_000002.h5", "scan_data_000003.h5", "scan_master.h5"]
    with h5py.File(folder / "scan_master.h5") as file:
        frames = numpy.concatenate([file[f"entry/data/data_{i:06d}"][()] for i in (1, 2, 3)])
        detector = file["entry/instrument/detector"]
        assert detector["detectorSpecific/nimages"][()] == 5
        mask = detector["detectorSpecific/pixel_mask"][()]
        cutoff = detector["detectorSpecific/countrate_correction_count_cutoff"][()]
        dataset = file["entry/data/data_000001"]
        assert dataset.chunks == (1, 514, 1030) and dataset._filters["32008"][2:] == (int(kind[4:]) // 8, 0, 2)
        assert file["entry/data/data_000003"].attrs["image_nr_low"] == 5
    top = numpy.iinfo(kind).max
    assert frames.dtype == kind and frames.shape == (5, 514, 1030)
    assert (frames[:, mask != 0] == top).all() and mask.any()
    assert frames[:, mask == 0].max() <= cutoff + 1 < top - 1

    image = fabio.open(str(folder / "scan_master.h5"))
    assert image.nframes == 5
    numpy.testing.assert_array_equal(image.getframe(4).data, frames[4])
    silx_io = pytest.importorskip("silx.io")
    with silx_io.open(str(folder / "scan_master.h5")) as file:
        numpy.testing.assert_array_equal(file["/entry/data/data_000002"][1], frames[3])

    # The same pixels in a CBF scan of the same seed.
    done = without_plugins("simulate", "-o", folder / "cbf", "--detector", "Eiger500k", "-n", 5, "--ring-counts", 200, "-q")
    assert done.returncode == 0, done.stderr
    for i in range(5):
        signed = fabio.open(str(folder / "cbf" / f"scan_{i + 1:05d}.cbf")).data.astype("i8")
        expected = numpy.where(signed < 0, top, numpy.minimum(signed, cutoff + 1))
        numpy.testing.assert_array_equal(frames[i], expected)


def test_files_do_not_depend_on_the_plugins_installed(simulated, annulus, tmp_path):
    folder, kind = simulated
    done = annulus("simulate", "-o", tmp_path, "--format", "eiger", "--detector", "Eiger500k", "-n", 5,
                   "--images-per-file", 2, "--pixel-type", kind, "--ring-counts", 200, "-q", "--threads", 1)
    assert done.returncode == 0, done.stderr
    for path in sorted(folder.glob("*.h5")):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name
