"""Eiger scans from end to end: defaults from the master, files that grow, files that are wrong."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import h5py
import numpy
import pytest

INPUT, PLAN, USAGE, SOME_BAD, INTERRUPTED = 3, 4, 2, 7, 130
DETECTOR = "entry/instrument/detector"
SPECIFIC = f"{DETECTOR}/detectorSpecific"


@pytest.fixture(scope="session")
def no_plugins(tmp_path_factory):
    return os.environ | {"HDF5_PLUGIN_PATH": str(tmp_path_factory.mktemp("no_plugins"))}


@pytest.fixture(scope="module")
def eiger(annulus, no_plugins, tmp_path_factory):
    """Seven frames in data files of three; tests must not change them."""
    folder = tmp_path_factory.mktemp("eiger")
    for options in (["--format", "eiger", "--images-per-file", 3], []):
        done = annulus("simulate", "-o", folder, "--detector", "Eiger500k", "-n", 7, "-q", "--overwrite", *options,
                       env=no_plugins)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def copy(eiger, tmp_path):
    for path in eiger.glob("*"):
        if path.suffix != ".cbf":
            shutil.copy(path, tmp_path)
    return tmp_path


def patterns(path):
    with h5py.File(path) as file:
        return {key: file["entry"][key][()] for key in ("data/I", "data/radial_axis", "frames/status")}


def stored(path):
    return len(patterns(path)["frames/status"])


@pytest.fixture
def integrate(annulus, no_plugins):
    def run(*args):
        return annulus("integrate", "-n", 300, *args, env=no_plugins)

    return run


# What the master says.


def test_a_master_needs_no_poni_file(integrate, eiger, tmp_path):
    done = integrate(eiger / "scan_master.h5", "-o", tmp_path / "a.nxs", "-u", "q_A^-1")
    assert done.returncode == 0, done.stderr
    assert "geometry from" in done.stdout and "Eiger500k" in done.stdout and "mask from" in done.stdout
    assert integrate(eiger / "scan_master.h5", "-p", eiger / "scan.poni", "-o", tmp_path / "b.nxs",
                     "-u", "q_A^-1").returncode == 0
    first, second = patterns(tmp_path / "a.nxs"), patterns(tmp_path / "b.nxs")
    # Centre and pixel size make the PONI again but for the last bits.
    numpy.testing.assert_allclose(first["data/radial_axis"], second["data/radial_axis"], rtol=1e-9)
    numpy.testing.assert_allclose(first["data/I"], second["data/I"], rtol=1e-6)
    with h5py.File(tmp_path / "a.nxs") as file:
        assert "Eiger500k" in file["entry/reduction/input/geometry_from_file"][()].decode()
    # The PONI text that was stored gives the same again.
    with h5py.File(tmp_path / "a.nxs") as file:
        texts = {}
        file.visititems(lambda name, item: texts.update({name: item[()]}) if name.endswith("poni") or "poni_" in name else None)
    text = next(value.decode() for value in texts.values() if isinstance(value, bytes) and b"Distance" in value)
    (tmp_path / "again.poni").write_text(text)
    assert integrate(eiger / "scan_master.h5", "-p", tmp_path / "again.poni", "-o", tmp_path / "c.nxs",
                     "-u", "q_A^-1").returncode == 0
    numpy.testing.assert_array_equal(patterns(tmp_path / "c.nxs")["data/I"], first["data/I"])


def test_the_same_frames_as_cbf_give_the_same_patterns(integrate, eiger, tmp_path):
    poni = ["-p", eiger / "scan.poni"]
    assert integrate(eiger / "scan_master.h5", *poni, "-o", tmp_path / "a.nxs").returncode == 0
    assert integrate(eiger / "*.cbf", *poni, "-o", tmp_path / "b.nxs").returncode == 0
    numpy.testing.assert_array_equal(patterns(tmp_path / "a.nxs")["data/I"], patterns(tmp_path / "b.nxs")["data/I"])


def test_what_the_master_does_not_say_is_named(integrate, copy):
    with h5py.File(copy / "scan_master.h5", "a") as file:
        del file[f"{DETECTOR}/beam_center_x"]
    done = integrate(copy / "scan_master.h5", "-o", copy / "a.nxs")
    assert done.returncode == USAGE and "--poni" in done.stderr and "beam centre" in done.stderr
    done = integrate(copy / "scan_data_000001.h5", "-o", copy / "a.nxs")
    assert done.returncode == USAGE and "does not state it" in done.stderr


def test_the_wavelength_of_the_master_serves_a_poni_file_without_one(integrate, copy):
    text = (copy / "scan.poni").read_text()
    (copy / "a.poni").write_text("".join(line for line in text.splitlines(True) if "Wavelength" not in line))
    done = integrate(copy / "scan_master.h5", "-p", copy / "a.poni", "-u", "q_A^-1", "-o", copy / "a.nxs")
    assert done.returncode == 0 and "wavelength from" in done.stdout, done.stderr
    with h5py.File(copy / "scan_master.h5", "a") as file:
        file["entry/instrument/beam/incident_wavelength"][()] *= 2
    assert integrate(copy / "scan_master.h5", "-p", copy / "scan.poni", "-u", "q_A^-1", "-o", copy / "b.nxs").returncode == 0
    numpy.testing.assert_allclose(patterns(copy / "a.nxs")["data/radial_axis"],
                                  patterns(copy / "b.nxs")["data/radial_axis"], rtol=1e-9)


def test_the_pixel_mask_of_the_master_counts_unless_told_otherwise(integrate, copy):
    """A bright stripe that only the pixel mask knows of; the mask of the command line is added to it."""
    master = copy / "scan_master.h5"
    mask = numpy.zeros((514, 1030), "u4")
    mask[100:110] = 8
    with h5py.File(master, "a") as file:
        del file[f"{SPECIFIC}/pixel_mask"]
        file[f"{SPECIFIC}/pixel_mask"] = mask
    other = numpy.zeros((514, 1030), "u1")
    other[:, 300:310] = 1
    numpy.save(copy / "other.npy", other)
    numpy.save(copy / "both.npy", (mask != 0) | (other != 0))
    numpy.save(copy / "stripe.npy", (mask != 0).astype("u1"))
    cache = ["--plan-cache", copy / "plans"]

    def run(name, *options):
        done = integrate(master, "-o", copy / f"{name}.nxs", *cache, *options)
        assert done.returncode == 0, done.stderr
        return patterns(copy / f"{name}.nxs")["data/I"], done.stdout

    with_mask, text = run("a")
    assert "mask from" in text and "10300 pixels" in text
    without, text = run("b", "--no-file-mask")
    assert "mask from" not in text
    assert (numpy.nan_to_num(with_mask) != numpy.nan_to_num(without)).any()
    numpy.testing.assert_array_equal(run("c", "--no-file-mask", "-m", copy / "stripe.npy")[0], with_mask)
    numpy.testing.assert_array_equal(run("d", "-m", copy / "other.npy")[0],
                                     run("e", "--no-file-mask", "-m", copy / "both.npy")[0])
    # Another mask in the file is another plan.
    with h5py.File(master, "a") as file:
        file[f"{SPECIFIC}/pixel_mask"][...] = 0
    numpy.testing.assert_array_equal(run("f")[0], without)
    with h5py.File(master, "a") as file:
        del file[f"{SPECIFIC}/pixel_mask"]
        file[f"{SPECIFIC}/pixel_mask"] = mask[:-1]
    done = integrate(master, "-o", copy / "g.nxs")
    assert done.returncode == INPUT and "513 x 1030" in done.stderr and "--no-file-mask" in done.stderr


def test_masters_of_one_scan_must_agree(integrate, copy):
    """What nobody but the files says must not depend on which of them comes first."""
    for change in ("mask", "beam"):
        other = copy / f"{change}_master.h5"
        shutil.copy(copy / "scan_master.h5", other)
        with h5py.File(other, "a") as file:
            if change == "mask":
                mask = file[f"{SPECIFIC}/pixel_mask"][()]
                del file[f"{SPECIFIC}/pixel_mask"]
                mask[5, 5] = 1
                file[f"{SPECIFIC}/pixel_mask"] = mask
            else:
                file[f"{DETECTOR}/beam_center_x"][()] += 1
    same = copy / "same_master.h5"
    shutil.copy(copy / "scan_master.h5", same)
    poni = ["-p", copy / "scan.poni"]
    assert integrate(copy / "scan_master.h5", same, "-o", copy / "a.nxs").returncode == 0
    assert stored(copy / "a.nxs") == 14
    for name, what, cure in (("mask", "pixel mask", [*poni, "--no-file-mask"]), ("beam", "geometry", poni)):
        done = integrate(copy / "scan_master.h5", copy / f"{name}_master.h5", "-o", copy / f"{name}.nxs")
        assert done.returncode == INPUT and f"its {what} is not that of" in done.stderr, done.stderr
        assert f"{name}_master.h5" in done.stderr and stored(copy / f"{name}.nxs") == 7
        assert integrate(copy / "scan_master.h5", copy / f"{name}_master.h5", "-o", copy / f"{name}_2.nxs", *cure).returncode == 0


def test_a_folder_gives_every_frame_once(integrate, copy):
    assert integrate(copy, "-o", copy / "a.nxs").returncode == 0
    assert stored(copy / "a.nxs") == 7


# Files that are wrong.


def damage_chunk(path, frame, change):
    """Changes the bytes of a chunk where they lie in the file."""
    with h5py.File(path) as file:
        place = file["entry/data/data"].id.get_chunk_info_by_coord((frame, 0, 0))
    content = bytearray(path.read_bytes())
    content[place.byte_offset : place.byte_offset + place.size] = change(
        content[place.byte_offset : place.byte_offset + place.size])
    path.write_bytes(content)


@pytest.mark.parametrize("change, words", [
    (lambda chunk: chunk[:7] + b"\x01" + chunk[8:], ["bytes"]),
    (lambda chunk: chunk[:12] + b"\xff\xff\xff\xff" + chunk[16:], ["block 0"]),
    (lambda chunk: chunk[:16] + b"\xff" * 200 + chunk[216:], ["block 0"]),
    (lambda chunk: chunk[:-5000] + b"\xff" * 5000, ["block"]),
], ids=["size", "length", "lz4", "end"])
def test_a_damaged_chunk_is_named_with_frame_and_block(integrate, copy, change, words):
    damage_chunk(copy / "scan_data_000002.h5", 1, change)
    done = integrate(copy / "scan_master.h5", "-o", copy / "a.nxs")
    assert done.returncode == INPUT, done.stderr
    for word in ["scan_data_000002.h5::/entry/data/data, frame 1", *words]:
        assert word in done.stderr
    assert stored(copy / "a.nxs") == 4
    done = integrate(copy / "scan_master.h5", "-o", copy / "b.nxs", "--keep-going")
    assert done.returncode == SOME_BAD, done.stderr
    assert list(patterns(copy / "b.nxs")["frames/status"]) == [0, 0, 0, 0, 1, 0, 0]


def test_every_frame_is_stored_with_the_file_that_holds_it(integrate, copy):
    assert integrate(copy / "scan_master.h5", "-o", copy / "a.nxs").returncode == 0
    with h5py.File(copy / "a.nxs") as file:
        sources = [name.decode() for name in file["entry/frames/source"][:, 0]]
        places = list(file["entry/frames/frame_in_source"])
    assert sources == [f"{copy}/scan_data_{i // 3 + 1:06d}.h5::/entry/data/data" for i in range(7)]
    assert places == [i % 3 for i in range(7)]


def test_a_missing_data_file_is_named(integrate, copy):
    (copy / "scan_data_000002.h5").unlink()
    done = integrate(copy / "scan_master.h5", "-o", copy / "a.nxs")
    assert done.returncode == INPUT and "scan_data_000002.h5, which is missing" in done.stderr
    assert stored(copy / "a.nxs") == 3
    done = integrate(copy / "scan_master.h5", "-o", copy / "b.nxs", "--keep-going")
    assert done.returncode == SOME_BAD, done.stderr
    assert list(patterns(copy / "b.nxs")["frames/status"]) == [0, 0, 0, 1, 1, 1, 0]
    assert "frames are there" not in done.stderr


def test_a_bad_frame_ends_a_scan_that_is_followed_at_once(integrate, copy):
    (copy / "scan_data_000003.h5").unlink()
    damage_chunk(copy / "scan_data_000002.h5", 1, lambda chunk: chunk[:12] + b"\x7f\xff\xff\xff" + chunk[16:])
    start = time.monotonic()
    done = integrate("--follow", "--follow-timeout", 120, "-o", copy / "a.nxs", copy / "scan_master.h5")
    assert done.returncode == INPUT and "scan_data_000002.h5::/entry/data/data, frame 1" in done.stderr, done.stderr
    assert time.monotonic() - start < 60
    assert stored(copy / "a.nxs") == 4


def wait_until_signals_are_caught(process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        caught = int(re.search(r"SigCgt:\s*([0-9a-f]+)", status)[1], 16)
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.02)
    pytest.fail("SIGTERM is not caught")


def test_waiting_for_a_scan_can_be_interrupted(copy, no_plugins):
    for path in copy.glob("scan_data_*.h5"):
        path.unlink()
    process = subprocess.Popen([os.environ["ANNULUS"], "integrate", "-n", "300", "--follow", "--follow-timeout", "600", "-o",
                                copy / "a.nxs", copy / "scan_master.h5"], env=no_plugins, stderr=subprocess.PIPE, text=True)
    wait_until_signals_are_caught(process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED and "interrupted before the first frame" in errors, errors
    assert not (copy / "a.nxs").exists()


def test_a_detector_that_turns_during_the_scan_needs_a_poni_file(integrate, copy):
    with h5py.File(copy / "scan_master.h5", "a") as file:
        file[f"{DETECTOR}/goniometer/two_theta"] = numpy.array([0, 0, 0, 5, 5, 5, 10.0])
        file[f"{DETECTOR}/goniometer/two_theta"].attrs["units"] = "degree"
    done = integrate(copy / "scan_master.h5", "-o", copy / "a.nxs")
    assert done.returncode == USAGE and "turned by 10 degrees" in done.stderr, done.stderr
    done = integrate(copy / "scan_master.h5", "-p", copy / "scan.poni", "-o", copy / "a.nxs")
    assert done.returncode == 0, done.stderr


def link_instead_of_numbers(folder, target):
    """A master whose scan is one link."""
    with h5py.File(folder / "scan_master.h5", "a") as file:
        for name in list(file["entry/data"]):
            del file["entry/data"][name]
        if target:
            file["entry/data/data"] = h5py.ExternalLink(target, "/entry/data/data")


def test_the_pixel_mask_is_not_the_scan_where_the_data_file_is_missing(integrate, copy):
    link_instead_of_numbers(copy, "gone.h5")
    done = integrate(copy / "scan_master.h5", "-o", copy / "a.nxs")
    assert done.returncode == INPUT and "gone.h5, which is missing" in done.stderr, done.stderr
    assert not (copy / "a.nxs").exists()


def test_chunks_of_several_frames_give_the_same_patterns(integrate, copy):
    pytest.importorskip("hdf5plugin")
    with h5py.File(copy / "scan_master.h5") as master, h5py.File(copy / "many.h5", "w") as file:
        frames = numpy.concatenate([master[f"entry/data/data_{i:06d}"][()] for i in (1, 2, 3)])
        for name, options in (("plain", {}), ("gzip", {"compression": "gzip", "compression_opts": 1})):
            file.create_dataset(name, data=frames, chunks=(4, 300, 1030), **options)
    poni = ["-p", copy / "scan.poni", "--no-file-mask", "--max-count", 1048500]
    assert integrate(copy / "scan_master.h5", *poni, "-o", copy / "a.nxs").returncode == 0
    for name in ("plain", "gzip"):
        done = integrate(f"{copy / 'many.h5'}::/{name}", *poni, "-o", copy / f"{name}.nxs", "--readers", 3, "--memory", 16)
        assert done.returncode == 0, done.stderr
        numpy.testing.assert_array_equal(patterns(copy / f"{name}.nxs")["data/I"], patterns(copy / "a.nxs")["data/I"])


def test_a_truncated_data_file_is_refused(integrate, copy):
    path = copy / "scan_data_000002.h5"
    path.write_bytes(path.read_bytes()[:-100_000])
    done = integrate(copy / "scan_master.h5", "-o", copy / "a.nxs")
    assert done.returncode == INPUT and "scan_data_000002.h5" in done.stderr


def test_chunks_that_were_never_written_are_named(integrate, copy):
    with h5py.File(copy / "scan_data_000001.h5") as file:
        _, chunk = file["entry/data/data"].id.read_direct_chunk((0, 0, 0))
    with h5py.File(copy / "hole.h5", "w") as file:
        data = file.create_dataset("entry/data/data", (3, 514, 1030), "u4", chunks=(1, 514, 1030), compression=32008,
                                   compression_opts=(0, 2), allow_unknown_filter=True)
        for i in (0, 2):
            data.id.write_direct_chunk((i, 0, 0), chunk)
    done = integrate(copy / "hole.h5", "-p", copy / "scan.poni", "-o", copy / "a.nxs")
    assert done.returncode == INPUT and "hole.h5" in done.stderr and "frame 1 was not" in done.stderr
    done = integrate(copy / "hole.h5", "-p", copy / "scan.poni", "-o", copy / "b.nxs", "--keep-going")
    assert done.returncode == SOME_BAD and list(patterns(copy / "b.nxs")["frames/status"]) == [0, 1, 0]


# Files that grow.

WRITER = textwrap.dedent("""
    import sys, time
    import h5py
    source, target, frames, pause, how = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
    chunks = []
    for i in (1, 2, 3):
        with h5py.File(f"{source}/scan_data_{i:06d}.h5") as file:
            data = file["entry/data/data"].id
            chunks += [data.read_direct_chunk((k, 0, 0))[1] for k in range(data.shape[0])]
    with h5py.File(target, "w", libver="latest") as file:
        start = frames if how == "laid-out" else 0
        data = file.create_dataset("entry/data/data", (start, 514, 1030), "u4", chunks=(1, 514, 1030),
                                   maxshape=(None, 514, 1030), compression=32008, compression_opts=(0, 2),
                                   allow_unknown_filter=True)
        if how == "promised":
            file["entry/instrument/detector/detectorSpecific/nimages"] = 7
        file.swmr_mode = True
        print("ready", flush=True)
        for i in range(frames):
            time.sleep(pause)
            if start == 0:
                data.resize(i + 1, axis=0)
            data.id.write_direct_chunk((i, 0, 0), chunks[i])
            data.flush()
            if how == "dies" and i == 3:
                import os
                os._exit(9)
""")


@pytest.fixture
def writer(no_plugins, eiger):
    processes = []

    def start(target, how, frames=7, pause=0.15):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(eiger), str(target), str(frames), str(pause), how],
                                   stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def expected(integrate, eiger, tmp_path):
    assert integrate(eiger / "scan_master.h5", "-p", eiger / "scan.poni", "--no-file-mask", "--max-count", 1048500,
                     "-o", tmp_path / "expected.nxs").returncode == 0
    return patterns(tmp_path / "expected.nxs")["data/I"]


def follow(eiger, source, output, timeout):
    return ["-p", eiger / "scan.poni", "--max-count", 1048500, "--no-file-mask", "--follow", "--follow-timeout", timeout,
            "-o", output, source]


@pytest.mark.parametrize("how, timeout", [("promised", 60), ("grows", 2), ("laid-out", 2)])
def test_a_file_is_followed_to_its_end(integrate, eiger, writer, expected, tmp_path, how, timeout):
    writer(tmp_path / "live.h5", how)
    start = time.monotonic()
    done = integrate(*follow(eiger, tmp_path / "live.h5", tmp_path / "out.nxs", timeout))
    assert done.returncode == 0, done.stderr
    numpy.testing.assert_array_equal(patterns(tmp_path / "out.nxs")["data/I"], expected)
    if how == "promised":
        assert time.monotonic() - start < 30


def test_patterns_are_there_while_the_file_grows(annulus, eiger, writer, no_plugins, tmp_path):
    """Frames come slower than batches fill: each must be readable soon after it was written."""
    writer(tmp_path / "live.h5", "promised", pause=1.2)
    process = subprocess.Popen([os.environ["ANNULUS"], "integrate", "-n", "300",
                                *map(str, follow(eiger, tmp_path / "live.h5", tmp_path / "out.nxs", 60))],
                               env=no_plugins, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = set()
    while process.poll() is None:
        time.sleep(0.1)
        try:
            with h5py.File(tmp_path / "out.nxs", swmr=True) as file:
                seen.add(len(file["entry/frames/status"]))
        except (OSError, KeyError):
            pass
    assert process.returncode == 0, process.stderr.read()
    assert len(seen - {0, 7}) >= 3, seen


def test_a_writer_that_dies_leaves_what_it_wrote(integrate, eiger, writer, expected, tmp_path):
    writer(tmp_path / "live.h5", "dies")
    with_promise = follow(eiger, tmp_path / "live.h5", tmp_path / "out.nxs", 1.5)
    done = integrate(*with_promise)
    assert done.returncode == 0, done.stderr  # nothing was promised
    numpy.testing.assert_array_equal(patterns(tmp_path / "out.nxs")["data/I"], expected[:4])


def test_promised_frames_that_never_come_are_counted(integrate, eiger, writer, expected, tmp_path):
    writer(tmp_path / "live.h5", "promised", frames=5)
    done = integrate(*follow(eiger, tmp_path / "live.h5", tmp_path / "out.nxs", 1.5))
    assert done.returncode == INPUT and "2 of 7 frames never came" in done.stderr, done.stderr
    assert "5 frames are in" in done.stderr
    numpy.testing.assert_array_equal(patterns(tmp_path / "out.nxs")["data/I"], expected[:5])
    done = integrate(*follow(eiger, tmp_path / "live.h5", tmp_path / "b.nxs", 0.5), "--keep-going")
    assert done.returncode == SOME_BAD and "2 of 7 frames never came" in done.stderr
    assert list(patterns(tmp_path / "b.nxs")["frames/status"]) == [0] * 5 + [1]


def test_an_interrupt_keeps_what_is_there(eiger, writer, no_plugins, expected, tmp_path):
    writer(tmp_path / "live.h5", "promised", frames=3)
    process = subprocess.Popen([os.environ["ANNULUS"], "integrate", "-n", "300",
                                *map(str, follow(eiger, tmp_path / "live.h5", tmp_path / "out.nxs", 60))],
                               env=no_plugins, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        time.sleep(0.1)
        try:
            with h5py.File(tmp_path / "out.nxs", swmr=True) as file:
                if len(file["entry/frames/status"]) == 3:
                    break
        except (OSError, KeyError):
            pass
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == INTERRUPTED and "3 frames are in" in errors, errors
    numpy.testing.assert_array_equal(patterns(tmp_path / "out.nxs")["data/I"], expected[:3])


def test_data_files_that_appear_one_after_the_other(eiger, no_plugins, expected, tmp_path):
    shutil.copy(eiger / "scan_master.h5", tmp_path)
    process = subprocess.Popen([os.environ["ANNULUS"], "integrate", "-n", "300",
                                *map(str, follow(eiger, tmp_path / "scan_master.h5", tmp_path / "out.nxs", 60))],
                               env=no_plugins, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for i in (1, 2, 3):
        time.sleep(0.4)
        shutil.copy(eiger / f"scan_data_{i:06d}.h5", tmp_path / "part")
        (tmp_path / "part").rename(tmp_path / f"scan_data_{i:06d}.h5")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    numpy.testing.assert_array_equal(patterns(tmp_path / "out.nxs")["data/I"], expected)


def test_a_master_that_gets_its_scan_later_is_followed(eiger, copy, no_plugins, expected):
    """There is a pixel mask from the start; it is not the scan."""
    link_instead_of_numbers(copy, None)
    process = subprocess.Popen([os.environ["ANNULUS"], "integrate", "-n", "300",
                                *map(str, follow(eiger, copy / "scan_master.h5", copy / "out.nxs", 20))],
                               env=no_plugins, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    with h5py.File(copy / "scan_master.h5", "a", locking=False) as file:
        file[f"{SPECIFIC}/nimages"][()] = 3
        file["entry/data/data"] = h5py.ExternalLink("scan_data_000001.h5", "/entry/data/data")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    numpy.testing.assert_array_equal(patterns(copy / "out.nxs")["data/I"], expected[:3])


def test_following_makes_no_sense_for_some(integrate, eiger, tmp_path):
    done = integrate("-p", eiger / "scan.poni", "-o", tmp_path / "a.nxs", "--follow", "--follow-timeout", 0.3, eiger / "scan_00001.cbf")
    assert done.returncode == USAGE and "only HDF5 files, and folders of images, can be followed" in done.stderr
    done = integrate("-p", eiger / "scan.poni", "-o", tmp_path / "a.nxs", "--follow-timeout", 3, eiger / "scan_master.h5")
    assert done.returncode == USAGE and "--follow" in done.stderr
    done = integrate("-p", eiger / "scan.poni", "-o", tmp_path / "a.nxs", "--follow", "--follow-timeout", -1, eiger / "scan_master.h5")
    assert done.returncode == USAGE and "--follow-timeout" in done.stderr
