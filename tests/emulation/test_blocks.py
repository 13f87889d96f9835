"""Frames in compressed blocks on the emulated card: the same integers as cpu and model, and the same words for faults."""

import fabio
import h5py
import numpy
import pytest

import accumulators
from emulation import emulate, xclbin_with
from real_frames import REAL_BLOCKS, integrate_arguments, real_blocks, write_chunks

hdf5plugin = pytest.importorskip("hdf5plugin")

INPUT, BACKEND = 3, 6


@pytest.fixture(scope="module", params=["uint16", "uint32"])
def eiger(request, annulus, tmp_path_factory):
    """A simulated scan as an Eiger writes it, with its result by the CPU backend beside it."""
    scan = tmp_path_factory.mktemp("eiger") / "scan"
    done = annulus("simulate", "-o", scan, "--detector", "Eiger500k", "-n", 10, "--format", "eiger", "--pixel-type", request.param,
                   "-q")
    assert done.returncode == 0, done.stderr
    assert annulus(*arguments(scan), "-o", scan.parent / "cpu.nxs").returncode == 0
    return scan


def arguments(scan):
    return ["integrate", "-p", scan / "scan.poni", "-n", 300, "--error-model", "poisson", "-q", scan / "scan_master.h5"]


def runs_of(log, kernel):
    return sum(log.read_text().count(f"{kernel}_{unit}: run ") for unit in (1, 2))


def test_eiger_frames_go_to_their_kernel_as_they_are_packed(annulus, eiger, tmp_path):
    done = emulate("annulus", *arguments(eiger), "--backend", "xrt", "-o", tmp_path / "xrt.nxs", log=tmp_path / "card.log")
    assert done.returncode == 0, done.stderr
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", eiger.parent / "cpu.nxs")
    accumulators.assert_model_agrees(annulus, arguments(eiger), tmp_path / "xrt.nxs", tmp_path / "model.nxs")
    assert runs_of(tmp_path / "card.log", "reduce_bslz4") >= 3, "one to ask for the build, two launches"
    assert runs_of(tmp_path / "card.log", "reduce_raw") == 1, "to ask for the build"


def test_one_kernel_is_enough_and_without_it_the_host_decodes(eiger, tmp_path):
    for kernel in ("reduce_bslz4", "reduce_raw"):
        output = tmp_path / f"{kernel}.nxs"
        done = emulate("annulus", *arguments(eiger), "--backend", "xrt", "--xclbin", xclbin_with(kernel, tmp_path), "-o", output)
        assert done.returncode == 0, done.stderr
        accumulators.assert_same_accumulators(output, eiger.parent / "cpu.nxs")


def test_an_xclbin_for_other_frames_is_refused_before_the_scan(eiger, tmp_path):
    done = emulate("annulus", *arguments(eiger), "--backend", "xrt", "--xclbin", xclbin_with("reduce_byte_offset", tmp_path),
                   "-o", tmp_path / "out.nxs")
    assert done.returncode == BACKEND, done.stderr
    assert "reduce_byte_offset.xclbin: it has no kernel reduce_raw" in done.stderr
    assert not (tmp_path / "out.nxs").exists()


def test_the_same_pixels_give_the_same_sums_however_they_are_packed(annulus, tmp_path):
    scan = tmp_path / "scan"
    assert annulus("simulate", "-o", scan, "--detector", "Pilatus100k", "-n", 3, "-q").returncode == 0
    files = sorted(scan.glob("*.cbf"))
    pixels = numpy.array([fabio.open(str(path)).data for path in files]).astype(numpy.int32)
    inputs = {"cbf": files, "plain": [tmp_path / "plain.npy"]}
    numpy.save(tmp_path / "plain.npy", pixels)
    for name, block, lz4 in (("default", 0, True), ("small", 136, True), ("large", 16384, True), ("no_lz4", 0, False)):
        inputs[name] = [tmp_path / f"{name}.h5"]
        with h5py.File(inputs[name][0], "w") as file:
            file.create_dataset("/entry/data/data", data=pixels, chunks=(1, *pixels.shape[1:]),
                                **hdf5plugin.Bitshuffle(nelems=block, lz4=lz4))
    reference = tmp_path / "cbf.cpu.nxs"
    for name, paths in inputs.items():
        # What the files say about a detector differs, so it is said here.
        args = ["integrate", "-p", scan / "scan.poni", "-n", 300, "--error-model", "poisson", "--max-count", 1048500, "--dummy", -2,
                "--delta-dummy", 1.5, "-q", *paths]
        for backend in ("cpu", "model", "xrt"):
            output = tmp_path / f"{name}.{backend}.nxs"
            run = annulus if backend != "xrt" else lambda *words: emulate("annulus", *words)
            done = run(*args, "--backend", backend, "-o", output)
            assert done.returncode == 0, (name, backend, done.stderr)
            accumulators.assert_same_accumulators(output, reference)


@pytest.mark.parametrize("name", REAL_BLOCKS)
def test_real_frames(annulus, shared_data, tmp_path, name):
    path, shape = real_blocks(name, shared_data, tmp_path)
    args = integrate_arguments(path, shape, tmp_path / "case.poni", dummy=None)
    assert annulus(*args, "-o", tmp_path / "cpu.nxs").returncode == 0
    done = emulate("annulus", *args, "--backend", "xrt", "-o", tmp_path / "xrt.nxs")
    assert done.returncode == 0, done.stderr
    accumulators.assert_same_accumulators(tmp_path / "xrt.nxs", tmp_path / "cpu.nxs")


def first_offset(chunk):
    """Where the first match of the first block says how far back it reaches."""
    at = 16
    token = chunk[at]
    literals = token >> 4
    at += 1
    more = 255 if literals == 15 else 0
    while more == 255:
        more = chunk[at]
        literals += more
        at += 1
    return at + literals


def damaged_chunks(chunk):
    """The chunk, and what may have become of it on its way."""
    offset = first_offset(chunk)
    length = int.from_bytes(chunk[12:16], "big")
    yield chunk
    yield chunk[:11]
    yield chunk[:len(chunk) // 2]
    yield chunk[:-1]
    yield chunk + b"\0\0\0"
    yield chunk[:7] + bytes([chunk[7] ^ 1]) + chunk[8:]
    yield chunk[:12] + b"\x7f" + chunk[13:]
    yield chunk[:16] + b"\0" + chunk[17:]
    yield chunk[:12] + (length - 1).to_bytes(4, "big") + chunk[16:]
    yield chunk[:offset] + b"\0\0" + chunk[offset + 2:]
    yield chunk


def test_all_backends_say_the_same_of_damaged_chunks_and_reduce_the_others(annulus, tmp_path):
    shape = (60, 101)
    rng = numpy.random.default_rng(5)
    with h5py.File(tmp_path / "good.h5", "w") as file:
        good = file.create_dataset("frames", data=rng.poisson(3, (1, *shape)).astype(numpy.uint16), chunks=(1, *shape),
                                   **hdf5plugin.Bitshuffle(nelems=0, lz4=True))
        chunk = good.id.read_direct_chunk((0, 0, 0))[1]
    chunks = list(damaged_chunks(chunk))

    def reduce(backend, path, *options):
        run = annulus if backend != "xrt" else lambda *words: emulate("annulus", *words)
        args = [*integrate_arguments(path, shape, tmp_path / "case.poni", dummy=None), *options]
        return run(*args, "--backend", backend, "--overwrite", "-o", tmp_path / f"{backend}.nxs")

    whole = write_chunks(tmp_path / "scan.h5", chunks, shape, "uint16")
    for backend in ("cpu", "model", "xrt"):
        assert reduce(backend, whole, "--keep-going").returncode == 7
        with h5py.File(tmp_path / f"{backend}.nxs") as file:
            sums = file["/entry/reduction/accumulators/signal"][()]
            assert sums[0].any() and (sums[0] == sums[-1]).all()
    said = set()
    for damaged in chunks[1:-1]:
        path = write_chunks(tmp_path / "damaged.h5", [damaged], shape, "uint16")
        expected = reduce("cpu", path)
        assert expected.returncode == INPUT, expected.stderr
        for backend in ("model", "xrt"):
            done = reduce(backend, path)
            assert (done.returncode, done.stderr) == (INPUT, expected.stderr)
        said.add(expected.stderr)
    assert len(said) >= 7, said
