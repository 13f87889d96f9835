"""What a user does on a good day: every way in and out, and results that depend on nothing but the frames."""

import bz2
import gzip
import json
import os
import shutil
import signal
import subprocess
import time

import h5py
import numpy
import pytest

ROW_SETS = ["data/I", "data/I_errors", "reduction/accumulators/signal", "reduction/accumulators/variance",
            "reduction/accumulators/missing_count", "reduction/accumulators/missing_normalization"]


def rows(path):
    with h5py.File(path) as file:
        return {name: file["entry"][name][()].tobytes() for name in ROW_SETS}


def integrate(annulus, scan, output, *args, inputs=None, **kwargs):
    done = annulus("integrate", "-p", scan.poni, "-n", 150, "--error-model", "poisson", "-o", output, *args,
                   *(inputs if inputs is not None else [scan.folder]), **kwargs)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def reference(annulus, scan, tmp_path_factory):
    path = tmp_path_factory.mktemp("reference") / "out.nxs"
    integrate(annulus, scan, path)
    return path


@pytest.mark.parametrize("threads,readers", [(1, 1), (2, 3), (5, 1), (16, 4)])
def test_results_do_not_depend_on_threads(annulus, scan, reference, tmp_path, threads, readers):
    integrate(annulus, scan, tmp_path / "out.nxs", "--threads", threads, "--readers", readers)
    assert rows(tmp_path / "out.nxs") == rows(reference)


def test_frames_keep_their_order_and_names(scan, reference):
    with h5py.File(reference) as file:
        sources = [name.decode() for name in file["entry/frames/source"][:, 0]]
        assert sources == [str(path) for path in scan.files]
        assert list(file["entry/frames/frame_index"][()]) == list(range(24))
        assert not file["entry/frames/status"][()].any()


def test_every_container_of_the_same_pixels_gives_the_same_integers(annulus, scan, reference, tmp_path):
    import fabio
    from fabio.edfimage import EdfImage
    from fabio.tifimage import TifImage

    images = [fabio.open(str(path)).data for path in scan.files]
    limit = ["--max-count", 1048500]  # CBF files say so themselves
    numpy.save(tmp_path / "stack.npy", numpy.array(images))
    numpy.array(images).tofile(tmp_path / "stack.raw")
    with h5py.File(tmp_path / "stack.h5", "w") as file:
        file.create_dataset("/entry/data/data", data=numpy.array(images), chunks=(1, 195, 487), compression="gzip")
    folders = {name: tmp_path / name for name in ("gz", "bz2", "edf", "tif")}
    for folder in folders.values():
        folder.mkdir()
    for path, image in zip(scan.files, images):
        (folders["gz"] / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes(), 1))
        (folders["bz2"] / (path.name + ".bz2")).write_bytes(bz2.compress(path.read_bytes(), 1))
        EdfImage(image).write(str(folders["edf"] / (path.stem + ".edf")))
        TifImage(image).write(str(folders["tif"] / (path.stem + ".tif")))
    ways = [[folders["gz"]], [folders["bz2"]], [folders["edf"]], [folders["tif"]], [tmp_path / "stack.npy"],
            [tmp_path / "stack.h5"], [f"{tmp_path}/stack.h5::/entry/data/data"],
            ["--raw-shape", 195, 487, tmp_path / "stack.raw"]]
    for i, way in enumerate(ways):
        output = tmp_path / f"out{i}.nxs"
        integrate(annulus, scan, output, *limit, inputs=way)
        assert rows(output) == rows(reference), way


def test_lists_globs_and_single_files(annulus, scan, reference, tmp_path):
    listing = tmp_path / "list.txt"
    listing.write_text("".join(f"{path}\n" for path in scan.files))
    integrate(annulus, scan, tmp_path / "a.nxs", inputs=[f"@{listing}"])
    integrate(annulus, scan, tmp_path / "b.nxs", inputs=[f"{scan.folder}/*.cbf"])
    integrate(annulus, scan, tmp_path / "c.nxs", inputs=scan.files)
    assert rows(tmp_path / "a.nxs") == rows(tmp_path / "b.nxs") == rows(tmp_path / "c.nxs") == rows(reference)


@pytest.mark.parametrize("name", ["a.xy", "a.dat", "a.xye"])
def test_the_extension_of_the_output_says_its_format(annulus, scan, tmp_path, name):
    output = tmp_path / name
    done = integrate(annulus, scan, output, inputs=scan.files[:1])
    assert output.read_text().startswith("# annulus "), done
    assert numpy.loadtxt(output).shape[1] == 3
    refused = annulus("integrate", "-p", scan.poni, "-o", output, "--overwrite", "--format", "nexus", scan.files[0])
    assert refused.returncode == 2 and "text file" in refused.stderr, refused.stderr
    several = annulus("integrate", "-p", scan.poni, "-o", tmp_path / f"b{name}", "--error-model", "poisson", scan.folder)
    assert several.returncode == 2 and "24" in several.stderr and not (tmp_path / f"b{name}").exists(), several.stderr


def test_an_output_whose_name_says_nothing_or_something_else_is_refused(annulus, scan, tmp_path):
    for name, options, words in (("a.txt", [], "--format"), ("a.h5", ["--format", "xy"], "NeXus"),
                                 ("a.xye", [], "--error-model")):
        done = annulus("integrate", "-p", scan.poni, "-o", tmp_path / name, *options, scan.files[0])
        assert done.returncode == 2 and words in done.stderr and not (tmp_path / name).exists(), done.stderr
    for name in ("a.h5", "a.hdf", "a.hdf5", "a"):
        integrate(annulus, scan, tmp_path / name, inputs=scan.files[:1])
        assert h5py.is_hdf5(tmp_path / name)


def test_appending_halves_gives_the_whole(annulus, scan, reference, tmp_path):
    output = tmp_path / "out.nxs"
    integrate(annulus, scan, output, inputs=scan.files[:10])
    integrate(annulus, scan, output, "--append", inputs=scan.files[10:])
    assert rows(output) == rows(reference)


def test_xy_files_hold_the_same_patterns(annulus, scan, reference, tmp_path):
    integrate(annulus, scan, tmp_path / "xy", "--format", "xy")
    integrate(annulus, scan, tmp_path / "one.xy", "--format", "xy", inputs=scan.files[:1])
    texts = sorted((tmp_path / "xy").iterdir())
    assert len(texts) == 24
    with h5py.File(reference) as file:
        axis, intensity, sigma = (file["entry/data"][name][()] for name in ("radial_axis", "I", "I_errors"))
        for i, text in enumerate(texts):
            columns = numpy.loadtxt(text)
            numpy.testing.assert_allclose(columns, numpy.transpose([axis, intensity[i], sigma[i]]), rtol=1e-9)
        numpy.testing.assert_array_equal(numpy.loadtxt(tmp_path / "one.xy"), numpy.loadtxt(texts[0]))


def test_configuration_goes_there_and_back_and_the_command_line_wins(annulus, scan, tmp_path):
    options = ["-p", scan.poni, "-n", 77, "-u", "q_A^-1", "--split", "full", "-P", "0.9", "--no-solid-angle",
               "--radial-range", "0.5", "4", "--azimuth-range", "-170", "160"]
    dumped = annulus("integrate", *options, "--dump-config", scan.files[0])
    assert dumped.returncode == 0, dumped.stderr
    config = tmp_path / "config.json"
    config.write_text(dumped.stdout)
    again = annulus("integrate", "--config", config, "--dump-config")
    assert json.loads(again.stdout) == json.loads(dumped.stdout)
    changed = json.loads(annulus("integrate", "--config", config, "-n", 5, "--dump-config").stdout)
    assert changed["npt"] == 5 and changed["unit"] == "q_A^-1" and changed["inputs"] == [str(scan.files[0])]

    one = annulus("integrate", *options, "-o", tmp_path / "a.nxs", "-q", scan.files[0])
    two = annulus("integrate", "--config", config, "-o", tmp_path / "b.nxs", "-q")
    assert one.returncode == two.returncode == 0, one.stderr + two.stderr
    with h5py.File(tmp_path / "a.nxs") as a, h5py.File(tmp_path / "b.nxs") as b:
        numpy.testing.assert_array_equal(a["entry/data/I"], b["entry/data/I"])
        stored = b["entry/reduction/input/configuration"][()].decode()
    config.write_text(stored)
    third = annulus("integrate", "--config", config, "-o", tmp_path / "c.nxs", "-q")
    assert third.returncode == 0, third.stderr


def test_summary_is_json_on_request_and_the_log_has_plain_lines(annulus, scan, tmp_path):
    done = integrate(annulus, scan, tmp_path / "a.nxs", "--json")
    summary = json.loads(done.stdout)
    assert summary["frames"] == 24 and summary["bad_frames"] == 0
    assert summary["plan"]["bins"] == 150 and summary["seconds"]["total"] > 0
    done = integrate(annulus, scan, tmp_path / "b.nxs")
    assert "24 frames in" in done.stdout and "frames/s" in done.stdout and "\r" not in done.stderr


def test_verify_accepts_frames_and_outputs_and_finds_changes(annulus, scan, reference, tmp_path):
    good = annulus("verify", scan.folder, reference)
    assert good.returncode == 0 and "48 frames verified, 0 bad" in good.stdout, good.stderr
    changed = tmp_path / "changed.nxs"
    shutil.copy(reference, changed)
    with h5py.File(changed, "r+") as file:
        file["entry/data/I"][5, 17] = numpy.nextafter(file["entry/data/I"][5, 17], 1e9)
    bad = annulus("verify", changed)
    assert bad.returncode == 3 and "frame 5" in bad.stderr and "bin 17" in bad.stderr


def test_simulation_is_reproducible_by_seed(annulus, scan, tmp_path):
    for folder, seed in (("same", 3), ("other", 4)):
        done = annulus("simulate", "-o", tmp_path / folder, "--detector", "Pilatus100k", "-n", 24, "--seed", seed,
                       "--threads", 1, "-q")
        assert done.returncode == 0, done.stderr
    for path in scan.files[:5]:
        assert (tmp_path / "same" / path.name).read_bytes() == path.read_bytes()
        assert (tmp_path / "other" / path.name).read_bytes() != path.read_bytes()


@pytest.fixture(scope="module")
def many_frames(scan, tmp_path_factory):
    """So many that a run can be caught in the middle: links to the same few files."""
    folder = tmp_path_factory.mktemp("many")
    for i in range(20000):
        (folder / f"f_{i:06d}.cbf").symlink_to(scan.files[i % 24])
    return folder


@pytest.mark.parametrize("how,shape", [
    (signal.SIGINT, []), (signal.SIGTERM, []), (signal.SIGKILL, []), (signal.SIGKILL, ["--npt-azim", "24"])])
def test_stopped_run_leaves_what_it_reduced(annulus, scan, many_frames, tmp_path, how, shape):
    output = tmp_path / "out.nxs"
    arguments = ["integrate", "-p", str(scan.poni), "-n", "150", "--error-model", "poisson", "--threads", "1", *shape]
    process = subprocess.Popen([os.environ["ANNULUS"], *arguments, "-o", str(output), str(many_frames)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = 0
    deadline = time.monotonic() + 60
    while seen < 50 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
        try:  # a reader beside the writer
            with h5py.File(output, "r", libver="latest", swmr=True) as file:
                seen = len(file["entry/frames/status"])
        except (OSError, KeyError):
            pass
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    assert seen >= 50, errors
    if how != signal.SIGKILL:
        assert process.returncode == 130, errors
        assert "interrupted" in errors
    with h5py.File(output, "r", libver="latest", swmr=how == signal.SIGKILL) as file:
        stored = len(file["entry/frames/status"])
        assert seen <= stored < 20000
        intensity = file["entry/data/I"][:seen]
        assert numpy.isfinite(intensity).reshape(seen, -1).any(axis=1).all()
    # And the scan can go on.
    more = annulus(*arguments, "-o", output, "--append", "-q", *scan.files[:3])
    assert more.returncode == 0, more.stderr
    with h5py.File(output) as file:
        assert len(file["entry/frames/status"]) >= seen + 3
        numpy.testing.assert_array_equal(file["entry/data/I"][-3:], file["entry/data/I"][:3])


def test_help_and_version_succeed(annulus):
    assert annulus("--version").stdout.startswith("annulus ")
    for command in ("integrate", "simulate", "plot", "info", "verify", "devices"):
        done = annulus(command, "--help")
        assert done.returncode == 0 and "Usage" in done.stdout
    devices = json.loads(annulus("devices", "--json").stdout)
    assert {"name": "cpu", "available": True} .items() <= devices[0].items()


def test_a_folder_is_followed_while_files_come(annulus, scan, reference, tmp_path):
    """Written in pieces: the results are those of the complete scan, and Ctrl-C ends the waiting."""
    folder = tmp_path / "live"
    folder.mkdir()
    process = subprocess.Popen([os.environ["ANNULUS"], "integrate", "--follow", "-p", str(scan.poni), "-n", "150",
                                "--error-model", "poisson", "-o", str(tmp_path / "out.nxs"), str(folder)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for path in scan.files:
            content = path.read_bytes()
            with open(folder / path.name, "wb", buffering=0) as file:
                for piece in range(4):
                    file.write(content[len(content) * piece // 4 : len(content) * (piece + 1) // 4])
                    time.sleep(0.01)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.1)
            try:
                with h5py.File(tmp_path / "out.nxs", swmr=True) as file:
                    if len(file["entry/frames/status"]) == len(scan.files):
                        break
            except (OSError, KeyError):
                pass
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and f"{len(scan.files)} frames are in" in errors, errors
    assert rows(tmp_path / "out.nxs") == rows(reference)
    done = annulus("integrate", "--follow", "-p", scan.poni, "-o", tmp_path / "b.nxs", folder, scan.files[0])
    assert done.returncode == 2 and "followed alone" in done.stderr, done.stderr
