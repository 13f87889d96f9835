"""HDF5 files as others make them: which dataset is reduced, grids of scans, damage, and files that lead elsewhere."""

import base64
import gzip
import json
import os
import subprocess
import sys
import time
import zlib

import h5py
import numpy
import pytest

INPUT, SOME_BAD = 3, 7
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
def test_a_file_cut_short_is_refused_at_once(annulus, integrate, poni, tmp_path, command):
    content = damaged_output(integrate, tmp_path).read_bytes()
    path = tmp_path / "cut.h5"
    options = ["-p", poni, "-o", tmp_path / "never.nxs"] if command == "integrate" else []
    for size in (24, 48, 96, 500, 2000):
        path.write_bytes(content[:size])
        start = time.monotonic()
        done = annulus(command, *options, path, timeout=10)
        assert done.returncode == INPUT, (size, done.returncode, done.stderr)
        assert time.monotonic() - start < 5, size


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
            done = annulus(*command, output, timeout=10)
            slowest = max(slowest, time.monotonic() - start)
            assert done.returncode >= 0, (at, command, done.returncode)
    assert slowest < 5


def deadly(path, images=None):
    """A file that crashes the HDF5 library when its groups are listed: one byte of a group of many names is wrong."""
    with h5py.File(path, "w", libver="latest") as file:
        many = file.create_group("many", track_order=True)
        for i in range(20):
            many[f"name{i}"] = i
        file["frames"] = frames(1) if images is None else images
    content = bytearray(path.read_bytes())
    content[content.index(b"FHDB") + 8] ^= 0x10
    path.write_bytes(content)
    listing = subprocess.run([sys.executable, "-c", f"import h5py; h5py.File({str(path)!r}).visititems(print)"],
                             capture_output=True)
    if listing.returncode >= 0:
        pytest.skip("this HDF5 library survives the file")
    return path


@pytest.mark.parametrize("command", ["info", "verify", "integrate", "plot"])
def test_a_file_that_crashes_the_library_is_refused(annulus, poni, tmp_path, command):
    path = deadly(tmp_path / "deadly.h5")
    options = {"integrate": ["-p", poni, "-o", tmp_path / "never.nxs"], "plot": ["-o", tmp_path / "never.png"]}
    done = annulus(command, *options.get(command, []), path, timeout=10)
    if command == "plot":
        expect_refusal(done, path, "is not an output of annulus")
    else:
        expect_refusal(done, path, "the HDF5 library crashes when it opens this file", "copy it again")
    # What is named is opened without a look at the rest.
    assert annulus("info", f"{path}::/frames", timeout=10).returncode == 0


def test_a_deadly_output_is_refused(annulus, integrate, poni, tmp_path):
    output = damaged_output(integrate, tmp_path)
    content = bytearray(output.read_bytes())
    content[content.index(b"FHDB") + 8] ^= 0x10
    output.write_bytes(content)
    for command in (["verify"], ["info"], ["plot", "-o", tmp_path / "never.png"]):
        expect_refusal(annulus(*command, output, timeout=10), output, "the HDF5 library crashes when it opens this file")
    for how in ("--append", "--overwrite"):
        done = annulus("integrate", "-p", poni, "-n", 20, how, "-o", output, tmp_path / "stack.npy", timeout=60)
        assert done.returncode == 5 and "the HDF5 library crashes when it opens this file" in done.stderr, done.stderr
    assert output.read_bytes() == content


def test_one_deadly_file_costs_one_file(integrate, tmp_path):
    folder = tmp_path / "scan"
    folder.mkdir()
    for i in range(5):
        with h5py.File(folder / f"frame_{i}.h5", "w") as file:
            file["frames"] = frames(1, seed=i)
    deadly(folder / "frame_3.h5")
    done, output = integrate(folder, options=["--keep-going"])
    assert done.returncode == SOME_BAD, (done.returncode, done.stderr)
    with h5py.File(output) as result:
        assert result["entry/frames/status"][()].tolist() == [0, 0, 0, 1, 0]
        assert b"the HDF5 library crashes" in result["entry/frames/fault"][3, 0]


def test_mutated_files_cost_nothing_but_themselves(integrate, tmp_path):
    random = numpy.random.default_rng(23)
    folder = tmp_path / "mutated"
    folder.mkdir()
    for i in range(40):
        path = folder / f"frame_{i:02}.h5"
        with h5py.File(path, "w", libver="latest" if i % 2 else "earliest") as file:
            many = file.create_group("many", track_order=True)
            for k in range(12):
                many[f"name{k}"] = k
            file.create_dataset("frames", data=frames(1), chunks=(1, ROWS, COLS), compression="gzip")
        content = bytearray(path.read_bytes())
        for at in random.integers(8, len(content), 1 + i % 3) if i else []:
            content[at] ^= 1 << random.integers(8)
        path.write_bytes(content)
    done, output = integrate(folder, options=["--keep-going"])
    assert done.returncode in (0, SOME_BAD), (done.returncode, done.stderr)
    with h5py.File(output) as result:
        assert len(result["entry/frames/status"]) >= 40


# --- where files may lead


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with an input in it, and beside it a file that must not be read."""
    (tmp_path / "inside").mkdir()
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["frames"] = frames(2)
        file["limit"] = 5
    (tmp_path / "secret.raw").write_bytes(frames(2).tobytes())
    return tmp_path / "inside"


def external_link(file, folder):
    file["entry/data/data"] = h5py.ExternalLink("../secret.h5", "/frames")


def absolute_link(file, folder):
    file["entry/data/data"] = h5py.ExternalLink(str(folder.parent / "secret.h5"), "/frames")


def symbolic_link(file, folder):
    (folder / "innocent.h5").symlink_to("../secret.h5")
    file["entry/data/data"] = h5py.ExternalLink("innocent.h5", "/frames")


def virtual_source(file, folder):
    layout = h5py.VirtualLayout((2, ROWS, COLS), "i4")
    layout[:] = h5py.VirtualSource(str(folder.parent / "secret.h5"), "frames", (2, ROWS, COLS))
    file.create_virtual_dataset("entry/data/data", layout)


def raw_file(file, folder):
    file.create_dataset("entry/data/data", (2, ROWS, COLS), "i4",
                        external=[(str(folder.parent / "secret.raw"), 0, h5py.h5f.UNLIMITED)])


def virtual_raw_file(file, folder):
    with h5py.File(folder / "pieces.h5", "w") as pieces:
        raw_file(pieces, folder)
    layout = h5py.VirtualLayout((2, ROWS, COLS), "i4")
    layout[:] = h5py.VirtualSource("pieces.h5", "entry/data/data", (2, ROWS, COLS))
    file.create_virtual_dataset("entry/data/data", layout)


def limit_of_counts(file, folder):
    file["entry/data/data"] = frames(2)
    file["entry/instrument/detector/saturation_value"] = h5py.ExternalLink("../secret.h5", "/limit")


@pytest.mark.parametrize("lead", [external_link, absolute_link, symbolic_link, virtual_source, raw_file,
                                  virtual_raw_file, limit_of_counts])
def test_files_lead_to_others_only_below_their_folder(annulus, integrate, elsewhere, lead):
    path = elsewhere / "scan.h5"
    with h5py.File(path, "w") as file:
        lead(file, elsewhere)
    secret = elsewhere.parent / ("secret.raw" if "raw" in lead.__name__ else "secret.h5")
    done, _ = integrate(path)
    expect_refusal(done, "scan.h5", "which is not below the folder of the file", "--allow-links")
    assert secret.name in done.stderr or "innocent" in done.stderr, done.stderr
    expect_refusal(annulus("info", path), "which is not below the folder of the file")
    done, _ = integrate(path, options=["--allow-links", elsewhere])
    assert done.returncode == INPUT, "another folder"
    done, output = integrate(path, options=["--allow-links", elsewhere.parent])
    assert done.returncode == 0, done.stderr
    assert len(signals(output)) == 2
    assert annulus("info", "--allow-links", elsewhere.parent, path).returncode == 0
    # Below the folder nothing has to be allowed, and the name of the input may be a symbolic link.
    (elsewhere.parent / "other").mkdir()
    (elsewhere.parent / "other" / "by_name.h5").symlink_to(path)
    (elsewhere.parent / "upper.h5").write_bytes(path.read_bytes())
    if lead in (absolute_link, virtual_source, raw_file):
        assert integrate(elsewhere.parent / "upper.h5")[0].returncode == 0


def test_an_archive_unpacks_to_no_more_than_the_memory(annulus, integrate, tmp_path):
    bomb = tmp_path / "bomb.npy.gz"
    head = numpy.lib.format.header_data_from_array_1_0(numpy.zeros((1, 1), "i4")) | {"shape": (400 << 6, 64, 64)}
    with gzip.open(bomb, "wb", compresslevel=9) as file:
        numpy.lib.format.write_array_header_1_0(file, head)
        for _ in range(400):
            file.write(bytes(1 << 20))
    assert bomb.stat().st_size < 1 << 20
    done, _ = integrate(bomb, options=["--memory", 64])
    expect_refusal(done, bomb, "unpacks to more than 64 MiB", "--memory")
    program = os.environ["ANNULUS"]
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:]); "
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    used = subprocess.run([sys.executable, "-c", script, program, "integrate", "-p", tmp_path / "none.poni", "--memory",
                           "64", "-o", tmp_path / "x.nxs", bomb], capture_output=True, text=True).stdout
    assert int(used.split()[-1]) < 300 << 10, used


def test_names_may_have_colons(annulus, integrate, tmp_path):
    stack = frames(3)
    numpy.save(tmp_path / "plain.npy", stack)
    expected = signals(integrate(tmp_path / "plain.npy", output="plain.nxs")[1])
    folder = tmp_path / "scan::1"
    folder.mkdir()
    numpy.save(folder / "a::b.npy", stack)
    with h5py.File(folder / "c::d.h5", "w") as file:
        file["x::y"] = stack
    for name in (folder / "a::b.npy", folder / "c::d.h5", f"{folder}/c::d.h5::/x::y", f"{folder}/c::d.h5::x::y"):
        done, output = integrate(name)
        assert done.returncode == 0, (name, done.stderr)
        assert numpy.array_equal(signals(output), expected), name
    done, output = integrate(folder)
    assert done.returncode == 0, done.stderr
    assert numpy.array_equal(signals(output), numpy.concatenate([expected, expected]))


# --- files of other makers


# By h5py 3.16 with HDF5 2.0 and libver="latest":
#   file.create_dataset("frames", data=numpy.ones((2, 23, 31), "i4"), chunks=(1, 23, 31), compression="gzip")
#   file.create_dataset("dark", data=numpy.zeros((23, 31), "i1"))
NEWER = (
    "c-rgqaB<`1lHy|K;9!7(|4_il4dEL=#S7YZxchs!1TisGFbN?mgaIxl21W)3HbDj;#g<l-n44O>8LF3!A0)_<l30{2%EW+bE(t*O"
    "!RHRJ6Brp78BG`%n3x$EVaAC=X?ZA(OPra9fl&bHTNW@+fq@n1YG!V3pePd~&{&W&f#Mv(3?La6Mn-XY7G|#fj8NU}41)#C>z|zO"
    "=IG(Vz$n56^XqM>Gv93e<KgD$;>5rRcQ`bDWsppe!6GIt>sSR3VHIE~0s{p-1aXBZBh(^rh;nfN(+D%81=Nm{Fek2H7&1WlnbJgt"
    "Q7{Td!6+D>pd#+=VMksD1|H^xtLrcS_GMLBGi%kVU;I-onNH!88x6TpFf0H7CgM@I"
)


def test_a_file_in_a_newer_format_says_so_and_nothing_else_is_taken(annulus, integrate, tmp_path):
    path = tmp_path / "newer.h5"
    path.write_bytes(zlib.decompress(base64.b85decode(NEWER)))
    with h5py.File(path) as file:
        try:
            file["frames"]
            pytest.skip("this HDF5 library reads the newer format")
        except KeyError:
            pass
    for url in (path, f"{path}::/frames"):
        done, _ = integrate(url)
        expect_refusal(done, "newer.h5::/frames", "in a newer file format than HDF5", 'libver=("earliest", "v110")')
    assert annulus("info", f"{path}::/dark").returncode == 0


@pytest.mark.parametrize("kind", ["<i4", ">i4", "<f4", ">u2"])
@pytest.mark.parametrize("memory", [1, 512])
def test_numpy_stacks_in_fortran_order_are_read(integrate, tmp_path, kind, memory):
    stack = numpy.random.default_rng(5).integers(0, 1000, (900, ROWS, COLS)).astype(kind)
    numpy.save(tmp_path / "c.npy", stack)
    numpy.save(tmp_path / "fortran.npy", numpy.asfortranarray(stack))
    assert numpy.load(tmp_path / "fortran.npy").flags.f_contiguous
    done, output = integrate(tmp_path / "fortran.npy", options=["--memory", memory])
    assert done.returncode == 0, done.stderr
    done, reference = integrate(tmp_path / "c.npy", output="c.nxs")
    assert numpy.array_equal(signals(output), signals(reference))
