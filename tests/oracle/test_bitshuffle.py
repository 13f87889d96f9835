"""Our codecs of blocks against the filters that users have: bitshuffle and LZ4 through h5py, both ways.

ANNULUS_BLOCK_ARRAYS sets the number of random arrays of the large comparison; 10000 unless told.
"""

import csv
import ctypes
import os
import struct
import subprocess

import h5py
import numpy
import pytest

pytest.importorskip("hdf5plugin")
bitshuffle = pytest.importorskip("bitshuffle.ext")

BITSHUFFLE, LZ4 = 32008, 32004
CODECS = {"bslz4": 2, "bszstd": 3, "lz4": 4}  # of core/frame.hpp
TYPES = ["u1", "u2", "u4", "i4", "u8", "i8", "f8"]


@pytest.fixture(scope="session")
def block_tool(tmp_path_factory):
    """block_tool("decode", [(codec, element size, elements, block bytes, bytes)]) -> list of bytes."""
    program = os.environ.get("ANNULUS_BLOCK_TOOL")
    if not program:
        pytest.fail("set the environment variable ANNULUS_BLOCK_TOOL to the path of block_tool")
    folder = tmp_path_factory.mktemp("blocks")

    def run(task, records):
        with open(folder / "in", "wb") as file:
            for codec, size, elements, block, data in records:
                file.write(struct.pack("<5Q", CODECS[codec], size, elements, block, len(data)))
                file.write(data)
        result = subprocess.run([program, task, folder / "in", folder / "out"], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        made, data, at = [], (folder / "out").read_bytes(), 0
        while at < len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            made.append(data[at + 8:at + 8 + size])
            at += 8 + size
        assert len(made) == len(records)
        return made

    return run


def random_array(random, dtype, size):
    """As counts are, as masks are, and noise."""
    dtype = numpy.dtype(dtype)
    raw = random.integers(0, 256, size * dtype.itemsize, dtype="u1")
    kind = random.integers(5)
    if kind == 0 or dtype.kind == "f":
        return raw.view(dtype)
    if kind == 1:
        return random.poisson(random.choice([0.01, 1, 50]), size).astype(dtype)
    array = random.integers(0, 2 ** random.integers(1, 8 * dtype.itemsize - 1), size).astype(dtype)
    if kind == 2:
        array[random.random(size) < 0.1] = numpy.iinfo(dtype).max
    if kind == 3:
        array[:] = array[0] if size else 0
    return array


def random_size(random):
    """From one element up; often about a block."""
    return int(random.choice([random.integers(1, 40), random.integers(1, 3000), random.integers(2000, 2100),
                              8 * random.integers(1, 300), random.integers(1, 20000)]))


def random_case(random, codec):
    """An array and the size of its blocks in bytes, 0 for the default."""
    array = random_array(random, random.choice(TYPES), random_size(random))
    unit = 8 * array.itemsize if codec == "bslz4" else 1
    block = int(random.choice([0, unit, random.integers(1, 17) * unit, random.integers(0, 65536 // unit + 1) * unit, 65536]))
    return array, block


def their_filter(codec, array, block):
    return (BITSHUFFLE, (block // array.itemsize, 2)) if codec == "bslz4" else (LZ4, (block,))


def make_dataset(file, name, codec, array, block):
    number, options = their_filter(codec, array, block)
    return file.create_dataset(name, array.shape, array.dtype, chunks=array.shape, compression=number, compression_opts=options)


def chunk_of(dataset):
    mask, chunk = dataset.id.read_direct_chunk((0,) * len(dataset.shape))
    assert mask == 0
    return chunk


def header_of(array, block):
    return struct.pack(">QI", array.nbytes, block)


@pytest.mark.parametrize("codec, share", [("bslz4", 1), ("lz4", 5)])
def test_ten_thousand_random_arrays_both_ways(block_tool, codec, share):
    count = int(os.environ.get("ANNULUS_BLOCK_ARRAYS", 10000)) // share
    random = numpy.random.default_rng(6)
    for first in range(0, count, 1000):
        cases = [random_case(random, codec) for _ in range(min(1000, count - first))]
        with h5py.File("memory", "w", driver="core", backing_store=False, rdcc_nbytes=0) as file:
            theirs = []
            for i, (array, block) in enumerate(cases):
                dataset = make_dataset(file, f"theirs{i}", codec, array, block)
                dataset[...] = array
                theirs.append(chunk_of(dataset))
            records = [(codec, array.itemsize, array.size, block) for array, block in cases]
            decoded = block_tool("decode", [(*record, chunk) for record, chunk in zip(records, theirs)])
            encoded = block_tool("encode", [(*record, array.tobytes()) for record, (array, _) in zip(records, cases)])
            for i, (array, block) in enumerate(cases):
                what = f"array {first + i}: {array.size} of {array.dtype}, blocks of {block} bytes"
                assert decoded[i] == array.tobytes(), f"our decode of {what}"
                assert encoded[i][:8] == theirs[i][:8], f"our header of {what}"
                dataset = make_dataset(file, f"ours{i}", codec, array, block)
                dataset.id.write_direct_chunk((0,), encoded[i])
                assert dataset[...].tobytes() == array.tobytes(), f"their decode of our {what}"


def test_every_size_up_to_three_hundred_elements(block_tool):
    """The last block and the elements after it, for every remainder and several block sizes."""
    random = numpy.random.default_rng(7)
    records, arrays = [], []
    for dtype in ["u1", "u2", "u4", "u8"]:
        for size in range(1, 300):
            array = random_array(random, dtype, size)
            block = int(random.choice([8, 16, 64, 128]))
            chunk = header_of(array, block * array.itemsize) + bitshuffle.compress_lz4(array, block).tobytes()
            records.append(("bslz4", array.itemsize, size, 0, chunk))
            arrays.append(array)
    for array, found in zip(arrays, block_tool("decode", records)):
        assert found == array.tobytes(), f"{array.size} of {array.dtype}"


def test_a_block_size_of_zero_in_the_header_is_bitshuffles_default(block_tool):
    """Bitshuffle's own library with its default, and a header that does not say it: for odd element sizes too."""
    random = numpy.random.default_rng(8)
    records, arrays = [], []
    for dtype in ["u1", "u2", "S3", "u4", "S6", "u8", "S10", "S100"]:
        array = random.integers(0, 4, 30011 * numpy.dtype(dtype).itemsize, dtype="u1").view(dtype)
        blocks = bitshuffle.compress_lz4(array).tobytes()
        records.append(("bslz4", array.itemsize, array.size, 0, header_of(array, 0) + blocks))
        arrays.append(array)
    for array, found in zip(arrays, block_tool("decode", records)):
        assert found == array.tobytes(), array.dtype


def test_zstd_blocks_both_ways(block_tool):
    """Debian's bitshuffle knows no Zstd: its shuffling and the Zstd library, called from here, stand for it."""
    zstd = ctypes.CDLL("libzstd.so.1")
    for name in ("ZSTD_createCCtx", "ZSTD_createDCtx"):
        getattr(zstd, name).restype = ctypes.c_void_p
    compressor, decompressor = ctypes.c_void_p(zstd.ZSTD_createCCtx()), ctypes.c_void_p(zstd.ZSTD_createDCtx())
    for name in ("ZSTD_compressCCtx", "ZSTD_decompressDCtx"):
        getattr(zstd, name).restype = ctypes.c_size_t

    def compress(data):
        room = ctypes.create_string_buffer(2 * len(data) + 100)
        size = zstd.ZSTD_compressCCtx(compressor, room, ctypes.c_size_t(len(room)), data, ctypes.c_size_t(len(data)), 3)
        return room.raw[:size]

    def decompress(data, size):
        room = ctypes.create_string_buffer(size)
        made = zstd.ZSTD_decompressDCtx(decompressor, room, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
        assert made == size
        return room.raw

    def pieces(size, block):
        full = size - size % 8
        return [(at, min(at + block, full)) for at in range(0, full, block)]

    random = numpy.random.default_rng(9)
    cases, records = [], []
    for _ in range(200):
        array = random_array(random, random.choice(TYPES), random_size(random))
        block = int(random.choice([8 if array.size < 100 else 256, 1024, 8192 // array.itemsize]))
        payload = header_of(array, block * array.itemsize)
        for first, last in pieces(array.size, block):
            packed = compress(bitshuffle.bitshuffle(array[first:last], last - first).tobytes())
            payload += struct.pack(">I", len(packed)) + packed
        payload += array[array.size - array.size % 8:].tobytes()
        cases.append((array, block))
        records.append(("bszstd", array.itemsize, array.size, block * array.itemsize, payload))
    for (array, block), found in zip(cases, block_tool("decode", records)):
        assert found == array.tobytes(), f"{array.size} of {array.dtype}, blocks of {block}"
    encoded = block_tool("encode", [(*record[:4], array.tobytes()) for record, (array, _) in zip(records, cases)])
    for (array, block), payload in zip(cases, encoded):
        assert payload[:12] == header_of(array, block * array.itemsize)
        at, found = 12, b""
        for first, last in pieces(array.size, block):
            (length,) = struct.unpack_from(">I", payload, at)
            planes = numpy.frombuffer(decompress(payload[at + 4:at + 4 + length], (last - first) * array.itemsize), array.dtype)
            found += bitshuffle.bitunshuffle(planes, last - first).tobytes()
            at += 4 + length
        assert found + payload[at:] == array.tobytes(), f"{array.size} of {array.dtype}, blocks of {block}"


def datasets_of(path):
    """(name, dataset, filter, options) of every dataset with one of our filters."""
    found = []

    def look(name, item):
        if isinstance(item, h5py.Dataset):
            properties = item.id.get_create_plist()
            for i in range(properties.get_nfilters()):
                number, _, options, _ = properties.get_filter(i)
                if number in (BITSHUFFLE, LZ4):
                    found.append((name, item, number, options))

    file = h5py.File(path, "r")  # open as long as its datasets are used
    file.visititems(look)
    return found


def codec_of(number, options):
    if number == LZ4:
        return "lz4"
    return {2: "bslz4", 3: "bszstd"}.get(options[4] if len(options) > 4 else 0)


def decode_dataset(block_tool, dataset, codec):
    elements = int(numpy.prod(dataset.chunks))
    (found,) = block_tool("decode", [(codec, dataset.dtype.itemsize, elements, 0, chunk_of(dataset))])
    return found


@pytest.mark.parametrize("name, datasets", [("regression_0.1.3.h5", 21), ("regression_0.4.0.h5", 42)])
def test_bitshuffles_own_regression_files(block_tool, shared_data, name, datasets):
    checked = 0
    for path, dataset, number, options in datasets_of(shared_data / "bitshuffle" / name):
        # "compressed/x" and "compressed_zstd/x" hold what "origional/x" or "original/x" does.
        file = dataset.file
        original = next(file[group] for group in file if group.startswith("orig"))[path.split("/", 1)[1]]
        assert decode_dataset(block_tool, dataset, codec_of(number, options)) == original[...].tobytes(), path
        checked += 1
    assert checked == datasets


@pytest.mark.parametrize("name, datasets", [("jhdf/bitshuffle_datasets.hdf5", 20), ("jhdf/lz4_datasets.hdf5", 20), ("purehdf/bitshuffle.h5", 1)])
def test_files_of_other_libraries(block_tool, shared_data, name, datasets):
    checked = 0
    for path, dataset, number, options in datasets_of(shared_data / name):
        codec = codec_of(number, options)
        if codec is None:
            continue  # shuffled only: HDF5's filters read it
        assert decode_dataset(block_tool, dataset, codec) == dataset[...].tobytes(), path
        checked += 1
    assert checked == datasets


def manifest_of(shared_data, name):
    with open(shared_data / "MANIFEST.tsv", newline="") as file:
        return next(row for row in csv.DictReader(file, delimiter="\t") if row["file"] == name)


def test_the_eiger_frame_has_the_manifests_sum(block_tool, shared_data):
    row = manifest_of(shared_data, "hdf5plugin/bitshuffle.h5")
    ((_, dataset, number, options),) = datasets_of(shared_data / row["file"])
    pixels = numpy.frombuffer(decode_dataset(block_tool, dataset, codec_of(number, options)), row["dtype"])
    assert (int(pixels.min()), int(pixels.max()), int(pixels.sum(dtype="u8"))) == (int(row["min"]), int(row["max"]), int(row["sum"]))
    assert (pixels.reshape(dataset.shape) == dataset[...]).all()


def test_the_stream_payload_has_the_manifests_sum(block_tool, shared_data):
    row = manifest_of(shared_data, "eiger-detector/streamfile_12")
    rows, cols = map(int, row["shape"].split("x"))
    payload = (shared_data / row["file"]).read_bytes()
    (found,) = block_tool("decode", [("bslz4", 2, rows * cols, 0, payload)])
    pixels = numpy.frombuffer(found, "<u2")
    assert (int(pixels.min()), int(pixels.max()), int(pixels.sum(dtype="u8"))) == (int(row["min"]), int(row["max"]), int(row["sum"]))
