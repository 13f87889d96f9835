"""HDF5 files as others make them: which dataset is reduced, grids of scans, damage, and files that lead elsewhere."""

import json
import time

import h5py
import numpy
import pytest

INPUT = 3
ROWS, COLS = 23, 31

PONI = """poni_version: 2
Detector: Detector
Detector_config: {"pixel1": 1e-4, "pixel2": 1e-4, "max_shape": [23, 31]}
Distance: 0.1
Poni1: 0.001
Poni2: 0.0015
Rot1: 0
Rot2: 0
Rot3: 0
Wavelength: 1e-10
"""


@pytest.fixture(scope="module")
def poni(tmp_path_factory):
    path = tmp_path_factory.mktemp("poni") / "small.poni"
    path.write_text(PONI)
    return path


@pytest.fixture
def integrate(annulus, poni, tmp_path):
    def run(*inputs, output="out.nxs", options=()):
        path = tmp_path / output
        done = annulus("integrate", "-p", poni, "-n", 20, "--overwrite", "-o", path, *options, *inputs, timeout=60)
        return done, path

    return run


def expect_refusal(done, *words):
    assert done.returncode == INPUT, (done.returncode, done.stderr)
    for word in words:
        assert str(word) in done.stderr, (word, done.stderr)


def frames(*grid, seed=7):
    random = numpy.random.default_rng(seed)
    return random.integers(0, 1000, (*grid, ROWS, COLS), dtype=numpy.int32)


def signals(path):
    with h5py.File(path) as file:
        return file["entry/reduction/accumulators/signal"][()]


def nexus_scan(path, images, monitor=True, **kwargs):
    """A file whose default plot is `images`, with a monitor of one value per frame beside it."""
    with h5py.File(path, "w") as file:
        file.attrs["default"] = "scan"
        scan = file.create_group("scan")
        scan.attrs["default"] = "plot"
        plot = scan.create_group("plot")
        plot.attrs["signal"] = "frames"
        plot.create_dataset("frames", data=images, **kwargs)
        if monitor:
            plot.create_dataset("I0", data=numpy.arange(images[..., 0, 0].size, dtype="f4")
                                .reshape(images.shape[:-2]) + 1)
    return path


# --- which dataset, and the grid of the scan


@pytest.mark.parametrize("grid", [(3, 4), (2, 3, 2)])
@pytest.mark.parametrize("storage", ["contiguous", "frames", "blocks", "tiles", "gzip", "gzip blocks"])
def test_a_grid_is_reduced_frame_by_frame_and_keeps_its_shape(annulus, integrate, tmp_path, grid, storage):
    images = frames(*grid)
    chunk = {"contiguous": None, "frames": (1,) * len(grid) + (ROWS, COLS), "gzip": (1,) * len(grid) + (ROWS, COLS),
             "blocks": (2,) * len(grid) + (ROWS, COLS), "tiles": (2,) * len(grid) + (7, 10),
             "gzip blocks": (2,) * len(grid) + (10, COLS)}[storage]
    file = nexus_scan(tmp_path / "grid.h5", images, chunks=chunk, compression="gzip" if "gzip" in storage else None)
    numpy.save(tmp_path / "stack.npy", images.reshape(-1, ROWS, COLS))
    done, output = integrate(file)
    assert done.returncode == 0, done.stderr
    sides = " x ".join(map(str, images.shape))
    assert f"frames from {file}::/scan/plot/frames: {sides} int32" in done.stdout, done.stdout
    expected, reference = integrate(tmp_path / "stack.npy", output="stack.nxs")
    assert expected.returncode == 0, expected.stderr
    assert numpy.array_equal(signals(output), signals(reference))
    with h5py.File(output) as result:
        assert result["entry/frames/scan_shape"][()].tolist() == list(grid)
        assert result["entry/frames/frame_in_source"][()].tolist() == list(range(images[..., 0, 0].size))
        assert {source.decode() for source in result["entry/frames/source"][:, 0]} == {f"{file}::/scan/plot/frames"}
    with h5py.File(reference) as result:
        assert "scan_shape" not in result["entry/frames"]
    for path in (file, output):
        assert json.loads(annulus("info", "--json", path).stdout)["scan_shape"] == list(grid)
    assert json.loads(annulus("info", "--json", file).stdout)["dataset"] == f"{file}::/scan/plot/frames"


def test_a_virtual_grid_is_read_from_its_stacks(integrate, tmp_path):
    images = frames(4, 3)
    layout = h5py.VirtualLayout((4, 3, ROWS, COLS), "i4")
    for row in range(4):
        with h5py.File(tmp_path / f"row{row}.h5", "w") as file:
            file.create_dataset("frames", data=images[row], chunks=(1, ROWS, COLS))
        layout[row] = h5py.VirtualSource(f"row{row}.h5", "frames", (3, ROWS, COLS))
    with h5py.File(tmp_path / "grid.h5", "w") as file:
        file.create_virtual_dataset("frames", layout)
    done, output = integrate(tmp_path / "grid.h5")
    assert done.returncode == 0, done.stderr
    nexus_scan(tmp_path / "plain.h5", images)
    assert integrate(tmp_path / "plain.h5", output="plain.nxs")[0].returncode == 0
    assert numpy.array_equal(signals(output), signals(tmp_path / "plain.nxs"))
    # What its source does not have is no frame, wherever in the grid it is.
    with h5py.File(tmp_path / "row2.h5", "w") as file:
        file.create_dataset("frames", data=images[2][:2], chunks=(1, ROWS, COLS))
    done, output = integrate(tmp_path / "grid.h5", options=["--keep-going"])
    with h5py.File(output) as result:
        assert numpy.flatnonzero(result["entry/frames/status"]).tolist() == [2 * 3 + 2]


def test_a_default_plot_without_images_is_refused_and_nothing_else_is_taken(integrate, tmp_path):
    path = tmp_path / "curve.h5"
    with h5py.File(path, "w") as file:
        file.attrs["default"] = "entry"
        file.create_group("entry").attrs["default"] = "plot"
        file.create_group("entry/plot").attrs["signal"] = "diode"
        file["entry/plot/diode"] = numpy.arange(5.0)
        file["entry/data/data"] = frames(2)
    done, _ = integrate(path)
    expect_refusal(done, "its default plot, /entry/plot/diode, has the shape (5): no images",
                   "/entry/data/data (2 x 23 x 31)", f"name the dataset: {path}::/path/to/dataset")
    assert integrate(f"{path}::/entry/data/data")[0].returncode == 0


# --- damage


def damaged_output(integrate, tmp_path):
    numpy.save(tmp_path / "stack.npy", frames(5))
    done, output = integrate(tmp_path / "stack.npy")
    assert done.returncode == 0, done.stderr
    return output


@pytest.mark.parametrize("command", ["info", "verify", "integrate"])
@pytest.mark.parametrize("size", [24, 48, 96, 500, 2000])
def test_a_file_cut_short_is_refused_at_once(annulus, integrate, poni, tmp_path, command, size):
    content = damaged_output(integrate, tmp_path).read_bytes()
    path = tmp_path / "cut.h5"
    path.write_bytes(content[:size])
    options = ["-p", poni, "-o", tmp_path / "never.nxs"] if command == "integrate" else []
    start = time.monotonic()
    done = annulus(command, *options, path, timeout=10)
    assert done.returncode == INPUT, (done.returncode, done.stderr)
    assert time.monotonic() - start < 5


def test_a_flipped_byte_of_metadata_never_hangs(annulus, integrate, tmp_path):
    output = damaged_output(integrate, tmp_path)
    content = bytearray(output.read_bytes())
    # Every signature of a checksummed structure is followed by what its checksum covers.
    marks = [b"OHDR", b"FRHP", b"FHDB", b"BTHD", b"BTLF", b"EAHD", b"EAIB", b"FAHD", b"FADB", b"OCHK"]
    places = [at + 8 for mark in marks for at in range(len(content)) if content.startswith(mark, at)]
    assert len(places) > 20
    slowest = 0
    for at in places[:: max(1, len(places) // 40)]:
        content[at] ^= 0x10
        output.write_bytes(content)
        content[at] ^= 0x10
        for command in (["verify"], ["info"]):
            start = time.monotonic()
            annulus(*command, output, timeout=10)
            slowest = max(slowest, time.monotonic() - start)
    assert slowest < 5
