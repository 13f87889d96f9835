"""What a user does on a bad day: every fault has one clear message, its exit code, and leaves finished frames."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

import h5py
import numpy
import pytest

USAGE, INPUT, PLAN, OUTPUT, BACKEND, SOME_BAD = 2, 3, 4, 5, 6, 7


def run(annulus, scan, output, *args, poni=None, inputs=None, **kwargs):
    bins = [] if "-n" in args else ["-n", 100]
    return annulus("integrate", "-p", poni or scan.poni, *bins, "-o", output, *args,
                   *(inputs if inputs is not None else [scan.folder]), **kwargs)


def expect_error(done, code, *words):
    assert done.returncode == code, (done.returncode, done.stderr)
    errors = [line for line in done.stderr.splitlines() if line.startswith("annulus: error: ")]
    assert len(errors) == 1, done.stderr
    for word in words:
        assert str(word) in errors[0], (word, errors[0])


def stored_frames(path):
    with h5py.File(path) as file:
        assert numpy.isfinite(file["entry/data/I"][()]).any(axis=1).all()
        return len(file["entry/data/I"])


def damage(scan, folder, number, change):
    """A copy of the scan in which one file is changed: links but for that one."""
    folder.mkdir()
    for i, path in enumerate(scan.files):
        target = folder / path.name
        if i == number:
            target.write_bytes(change(path.read_bytes()))
        else:
            target.symlink_to(path)
    return folder / scan.files[number].name


def truncate(content):
    return content[: len(content) * 2 // 3]


def break_payload(content):
    """Escape codes where there were none: the bytes run out before the pixels do."""
    start = content.index(b"\x0c\x1a\x04\xd5") + 4
    return content[: start + 1000] + b"\x80" * 500 + content[start + 1500 :]


@pytest.mark.parametrize("change", [truncate, break_payload, lambda content: b"", lambda content: b"no image at all"])
@pytest.mark.parametrize("number", [0, 13])
def test_bad_frame_ends_the_scan_after_the_good_ones(annulus, scan, tmp_path, change, number):
    bad = damage(scan, tmp_path / "scan", number, change)
    done = run(annulus, scan, tmp_path / "out.nxs", inputs=[tmp_path / "scan"])
    expect_error(done, INPUT, bad)
    if number == 0:
        assert not (tmp_path / "out.nxs").exists()
    else:
        assert f"{number} frames are in" in done.stderr
        assert stored_frames(tmp_path / "out.nxs") == number


@pytest.mark.parametrize("change", [truncate, break_payload])
def test_keep_going_records_the_bad_frame_and_its_reason(annulus, scan, tmp_path, change):
    bad = damage(scan, tmp_path / "scan", 13, change)
    done = run(annulus, scan, tmp_path / "out.nxs", "--keep-going", inputs=[tmp_path / "scan"])
    assert done.returncode == SOME_BAD
    assert "1 of 24 frames are bad" in done.stderr and str(bad) in done.stderr
    with h5py.File(tmp_path / "out.nxs") as file:
        intensity = file["entry/data/I"][()]
        assert numpy.isnan(intensity[13]).all()
        assert numpy.isfinite(numpy.delete(intensity, 13, axis=0)).any(axis=1).all()
        assert list(numpy.flatnonzero(file["entry/frames/status"][()])) == [13]
        assert file["entry/frames/fault"][13, 0].decode().strip("\0 ")
        assert not file["entry/frames/fault"][12, 0].decode().strip("\0 ")
    verified = annulus("verify", tmp_path / "out.nxs")
    assert verified.returncode == 0 and "24 frames verified, 0 bad; 1 recorded as bad when reduced" in verified.stdout


def test_a_stored_fault_names_no_option_and_a_printed_one_names_the_flag(annulus, scan, tmp_path):
    """What is stored is data: the same whether the command line ran the scan or another program."""
    damage(scan, tmp_path / "scan", 13, break_payload)
    done = run(annulus, scan, tmp_path / "out.nxs", "--keep-going", "--json", inputs=[tmp_path / "scan"])
    with h5py.File(tmp_path / "out.nxs") as file:
        stored = file["entry/frames/fault"][13, 0].decode().strip("\0 ")
    assert stored and "keep" not in stored and "`" not in stored
    for printed in (done.stderr, json.loads(done.stdout)["first_fault"]):
        assert stored in printed and "--keep-going" in printed and "`" not in printed


def test_unreadable_file_in_the_middle(annulus, scan, tmp_path):
    if os.geteuid() == 0:
        inputs = [*scan.files[:5], tmp_path, *scan.files[5:]]  # root reads everything: a directory without images
        expect_error(run(annulus, scan, tmp_path / "out.nxs", inputs=inputs), INPUT, tmp_path)
    listing = tmp_path / "list.txt"
    missing = tmp_path / "gone.cbf"
    missing.symlink_to(tmp_path / "nowhere")
    listing.write_text("".join(f"{path}\n" for path in scan.files[:5]) + f"{missing}\n")
    expect_error(run(annulus, scan, tmp_path / "out.nxs", inputs=[f"@{listing}"]), INPUT, missing)


def test_wrong_checksum_is_found_on_request(annulus, scan, tmp_path):
    def flip(content):
        start = content.index(b"\x0c\x1a\x04\xd5") + 4
        value = content[start + 2000] ^ 1
        return content[: start + 2000] + bytes([value]) + content[start + 2001 :]

    bad = damage(scan, tmp_path / "scan", 2, flip)
    assert run(annulus, scan, tmp_path / "a.nxs", inputs=[tmp_path / "scan"]).returncode in (0, INPUT)
    expect_error(run(annulus, scan, tmp_path / "b.nxs", "--verify-checksum", inputs=[tmp_path / "scan"]), INPUT, bad, "MD5")
    verified = annulus("verify", tmp_path / "scan")
    assert verified.returncode == INPUT and "24 frames verified, 1 bad" in verified.stdout
    assert str(bad) in verified.stderr


def test_frame_of_another_shape(annulus, scan, tmp_path):
    other = tmp_path / "other.npy"
    numpy.save(other, numpy.zeros((100, 100), numpy.int32))
    expect_error(run(annulus, scan, tmp_path / "a.nxs", inputs=[other]), INPUT, other, "100 x 100", "195 x 487")
    expect_error(run(annulus, scan, tmp_path / "b.nxs", inputs=[scan.files[0], other]), INPUT, other, "100 x 100")
    assert stored_frames(tmp_path / "b.nxs") == 1


def test_geometry_that_cannot_be_used(annulus, scan, tmp_path):
    text = scan.poni.read_text()

    def poni(name, changed):
        path = tmp_path / name
        path.write_text(changed)
        return path

    no_wavelength = poni("a.poni", re.sub(r"Wavelength.*\n", "", text))
    expect_error(run(annulus, scan, tmp_path / "o", "-u", "q_A^-1", poni=no_wavelength), PLAN, no_wavelength, "wavelength", "q_A^-1")
    unknown = poni("b.poni", text.replace("Pilatus100k", "Pilatus7M"))
    expect_error(run(annulus, scan, tmp_path / "o", poni=unknown), PLAN, unknown, "Pilatus7M")
    no_distance = poni("c.poni", re.sub(r"Distance.*\n", "", text))
    expect_error(run(annulus, scan, tmp_path / "o", poni=no_distance), PLAN, no_distance, "istance")
    expect_error(run(annulus, scan, tmp_path / "o", poni=tmp_path / "no.poni"), PLAN, "no.poni")
    expect_error(run(annulus, scan, tmp_path / "o", poni=tmp_path), PLAN, tmp_path, "directory")
    expect_error(run(annulus, scan, tmp_path / "o", poni="/dev/zero"), PLAN, "ordinary file")
    assert not (tmp_path / "o").exists()


def test_masks_and_maps_that_do_not_fit(annulus, scan, tmp_path):
    small = tmp_path / "mask.npy"
    numpy.save(small, numpy.zeros((10, 10), numpy.uint8))
    for flag in ("--mask", "--dark", "--flat"):
        expect_error(run(annulus, scan, tmp_path / "o", flag, small), INPUT, small, flag[2:], "10 x 10", "195 x 487")
        expect_error(run(annulus, scan, tmp_path / "o", flag, tmp_path / "none.edf"), INPUT, "none.edf")
    full = tmp_path / "full.npy"
    numpy.save(full, numpy.ones((195, 487), numpy.uint8))
    expect_error(run(annulus, scan, tmp_path / "o", "--mask", full), PLAN, "masked")


def test_options_that_make_no_sense(annulus, scan, tmp_path):
    output = tmp_path / "o"
    expect_error(run(annulus, scan, output, "-n", 0), PLAN, "--npt")
    expect_error(run(annulus, scan, output, "-P", 3), PLAN, "--polarization")
    expect_error(run(annulus, scan, output, "--radial-range", 5, 4), PLAN, "--radial-range")
    expect_error(run(annulus, scan, output, "--azimuth-range", 5, 5), PLAN, "--azimuth-range")
    expect_error(run(annulus, scan, output, "--overwrite", "--append"), USAGE, "--overwrite")
    expect_error(run(annulus, scan, output, "--backend", "gpu"), BACKEND, "gpu", "cpu")
    expect_error(run(annulus, scan, output, inputs=[tmp_path / "*.cbf"]), INPUT, "no file matches")
    expect_error(run(annulus, scan, output, "--normalization-factor", -1), PLAN, "--normalization-factor")
    expect_error(run(annulus, scan, output, "--dummy", "nan"), USAGE, "--dummy")
    expect_error(run(annulus, scan, output, "--readers", 0), USAGE, "--readers")
    expect_error(run(annulus, scan, output, "--mask", ""), USAGE, "--mask")
    expect_error(annulus("frobnicate"), USAGE, "frobnicate")
    for arguments in (["-n", "many"], ["--unit", "furlong"], ["--split", "some"], ["--no-such-flag"], ["--threads", "-1"]):
        assert run(annulus, scan, output, *arguments).returncode == USAGE, arguments
    assert annulus().returncode == USAGE
    assert annulus("integrate").returncode == USAGE
    assert not output.exists()


@pytest.mark.parametrize("arguments, code, message", [
    (["-n", "-5"], USAGE, "--npt: '-5' is not a whole number from 0"),
    (["-n", "1e3"], USAGE, "--npt: '1e3' is not a whole number from 0"),
    (["--polarization", "x"], USAGE, "--polarization: 'x' is not a number"),
    (["--radial-range", "5"], USAGE, "' are not 2 numbers"),
    (["--radial-range", "nan", "5"], PLAN, "--radial-range: nan to 5 is no range"),
    (["--radial-range", "500", "600"], PLAN, "check the mask and the unit, 2th_deg"),
    (["--profile"], USAGE, "--profile: it means nothing to the cpu backend"),
    (["--batch", "3", "--backend", "model"], USAGE, "--batch: it means nothing to the model backend"),
    (["--device-timeout", "3"], USAGE, "--device-timeout: it means nothing to the cpu backend"),
    (["--backend", "cuda"], BACKEND, "there is no 'cuda' (known are cpu, model, xrt, opencl"),
])
def test_messages_are_ours_and_name_what_was_given(annulus, scan, tmp_path, arguments, code, message):
    expect_error(run(annulus, scan, tmp_path / "a.nxs", *arguments), code, message)


def test_messages_of_other_commands(annulus, scan):
    expect_error(annulus("bench", "--repetitions", 0), USAGE, "--repetitions: '0' is not a number above 0")
    expect_error(annulus("model-report", "--clock", 0, "-p", scan.poni, scan.folder), USAGE, "--clock: '0' is not")
    expect_error(annulus("plot", "a.nxs", "--scale", "cubic"), USAGE, "--scale: 'cubic' is not one of linear, sqrt, log")
    expect_error(annulus("plot", scan.poni), INPUT, "is not an HDF5 file (name a file that Annulus wrote")


def test_existing_output_is_kept_unless_told_otherwise(annulus, scan, tmp_path):
    output = tmp_path / "out.nxs"
    assert run(annulus, scan, output).returncode == 0
    before = output.read_bytes()
    expect_error(run(annulus, scan, output), OUTPUT, output, "--overwrite", "--append")
    assert output.read_bytes() == before
    assert run(annulus, scan, output, "--overwrite", inputs=scan.files[:2]).returncode == 0
    assert stored_frames(output) == 2
    expect_error(run(annulus, scan, output, "--append", "--split", "no"), OUTPUT, output)
    assert stored_frames(output) == 2
    precious = tmp_path / "precious.nxs"
    precious.write_text("my thesis")
    expect_error(run(annulus, scan, precious, "--overwrite"), OUTPUT, precious)
    assert precious.read_text() == "my thesis"


def test_results_never_replace_what_they_are_made_from(annulus, scan, tmp_path):
    stack = tmp_path / "stack.h5"
    with h5py.File(stack, "w") as file:
        file["/entry/data/data"] = numpy.zeros((2, 195, 487), numpy.int32)
    poni = tmp_path / "scan.poni"
    poni.write_bytes(scan.poni.read_bytes())
    link = tmp_path / "link.h5"
    link.symlink_to(stack)
    before = stack.read_bytes(), poni.read_bytes()
    for result in (stack, link, poni):
        for inputs in ([stack], [f"{stack}::/entry/data/data"]):
            for option in ("-o", "--save-matrix"):
                args = ["-o", result] if option == "-o" else ["-o", tmp_path / "out.nxs", "--save-matrix", result]
                done = annulus("integrate", "-p", poni, "-n", 10, *args, "--format", "nexus", "--overwrite", *inputs)
                expect_error(done, OUTPUT, result, option.replace("-o", "--output") if option == "-o" else option)
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["precious"] = 1
    for args in (["-o", other], ["-o", tmp_path / "out.nxs", "--save-matrix", other]):
        expect_error(annulus("integrate", "-p", poni, *args, "--overwrite", stack), OUTPUT, other, "not touched")
    assert (stack.read_bytes(), poni.read_bytes()) == before


def test_file_that_is_gone_keeps_its_place(annulus, scan, tmp_path):
    folder = tmp_path / "scan"
    folder.mkdir()
    for i, path in enumerate(scan.files[:6]):
        (folder / path.name).symlink_to(tmp_path / "nowhere" if i == 2 else path)
    done = run(annulus, scan, tmp_path / "out.nxs", "--keep-going", inputs=[folder])
    assert done.returncode == SOME_BAD, done.stderr
    with h5py.File(tmp_path / "out.nxs") as file:
        assert list(file["entry/frames/status"][()]) == [0, 0, 1, 0, 0, 0]


def test_masked_pixels_have_no_say_in_float_frames(annulus, scan, tmp_path):
    rng = numpy.random.default_rng(5)
    image = rng.poisson(100, (195, 487)).astype(numpy.float32) + 0.5
    mask = numpy.zeros((195, 487), numpy.uint8)
    mask[5, 5] = 1
    numpy.save(tmp_path / "mask.npy", mask)
    patterns = []
    for value in (100.0, 1e11, 1e30):
        image[5, 5] = value
        numpy.save(tmp_path / "image.npy", image)
        done = run(annulus, scan, tmp_path / "out.nxs", "-m", tmp_path / "mask.npy", "--overwrite",
                   inputs=[tmp_path / "image.npy"])
        assert done.returncode == 0, done.stderr
        with h5py.File(tmp_path / "out.nxs") as file:
            patterns.append(file["entry/data/I"][0])
    numpy.testing.assert_array_equal(patterns[0], patterns[1])
    numpy.testing.assert_array_equal(patterns[0], patterns[2])


def test_map_with_one_huge_value_is_refused_not_rounded_away(annulus, scan, tmp_path):
    for flag, ordinary in (("--flat", 1.3), ("--dark", 0.4)):
        image = numpy.full((195, 487), ordinary)
        image[100, 200] = 2.0**32
        numpy.save(tmp_path / "map.npy", image)
        expect_error(run(annulus, scan, tmp_path / "o", flag, tmp_path / "map.npy"), PLAN, "map.npy", "row 100",
                     "column 200")


def test_saturation_of_the_file_counts_for_every_type_and_must_not_change(annulus, scan, tmp_path):
    image = numpy.full((195, 487), 10)
    image[::2] = 100000
    patterns = []
    for kind in ("uint32", "uint64", "float32"):
        path = tmp_path / f"{kind}.h5"
        with h5py.File(path, "w") as file:
            file["/entry/data/data"] = image[None].astype(kind)
            file["/entry/instrument/detector/saturation_value"] = 50000
        done = run(annulus, scan, tmp_path / f"{kind}.nxs", "--no-solid-angle", inputs=[path])
        assert done.returncode == 0, done.stderr
        with h5py.File(tmp_path / f"{kind}.nxs") as file:
            patterns.append(file["entry/data/I"][0])
        assert numpy.nanmax(patterns[-1]) == 10
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["/entry/data/data"] = image[None].astype("uint32")
        file["/entry/instrument/detector/saturation_value"] = 60000
    two = run(annulus, scan, tmp_path / "two.nxs", inputs=[tmp_path / "uint32.h5", other])
    expect_error(two, INPUT, other, "60000", "50000", "--max-count")


def test_output_that_cannot_be_written(annulus, scan, tmp_path):
    expect_error(run(annulus, scan, tmp_path / "no" / "such" / "folder.nxs"), OUTPUT, "folder.nxs")


@pytest.mark.parametrize("limit", [pytest.param(300_000, marks=pytest.mark.release_only), 900_000,
                                   pytest.param(1_500_000, marks=pytest.mark.release_only)])
def test_full_disk_leaves_a_readable_file(annulus, scan, tmp_path, limit):
    folder = tmp_path / "scan"
    folder.mkdir()
    for i in range(600):
        (folder / f"f_{i:04d}.cbf").symlink_to(scan.files[i % 24])

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    output = tmp_path / "out.nxs"
    done = run(annulus, scan, output, "--error-model", "poisson", inputs=[folder], preexec_fn=small_files)
    expect_error(done, OUTPUT, output)
    assert output.stat().st_size <= limit
    stored = int(re.search(r"(\d+) frames", done.stderr)[1])
    with h5py.File(output) as file:
        frames = len(file["entry/frames/status"])
        assert frames == stored < 600
        if frames:
            assert numpy.isfinite(file["entry/data/I"][:frames]).any(axis=1).all()


def scale(name, factor):
    def change(entry):
        entry[name][...] = entry[name][...] * factor
    return change


def shift_middle(name):
    def change(entry):
        entry[name][5] += 1e-3 * (entry[name][6] - entry[name][5])
    return change


def remove(name):
    def change(entry):
        del entry[name]
    return change


def one_more_invalid(entry):
    entry["reduction/accumulators/invalid_pixels"][1] += 1


@pytest.mark.parametrize("change, word", [
    (scale("data/norm", 1 + 2**-50), "norm"), (remove("data/norm"), "norm"),
    (shift_middle("data/radial_axis"), "radial axis"), (shift_middle("data/radial_axis_edges"), "radial axis"),
    (scale("data/radial_axis_edges", -1), "radial axis"), (remove("data/radial_axis_edges"), "radial axis"),
    (shift_middle("data/azimuthal_axis"), "azimuthal axis"), (remove("data/azimuthal_axis_edges"), "azimuthal axis"),
    (remove("data/I_errors"), "I_errors"), (remove("reduction/accumulators/variance"), "variance"),
    (one_more_invalid, "invalid")])
def test_verify_finds_what_does_not_belong_together(annulus, scan, tmp_path, change, word):
    output = tmp_path / "out.nxs"
    assert run(annulus, scan, output, "--npt-azim", 12, "--error-model", "poisson", inputs=scan.files[:3]).returncode == 0
    assert annulus("verify", output).returncode == 0
    with h5py.File(output, "r+") as file:
        change(file["entry"])
    done = annulus("verify", output)
    assert done.returncode not in (0, 1), done.stderr
    assert word in done.stdout + done.stderr


def test_a_reader_that_has_the_output_open_is_not_called_a_writer(annulus, scan, tmp_path):
    output = tmp_path / "out.nxs"
    assert run(annulus, scan, output, inputs=scan.files[:1]).returncode == 0
    with h5py.File(output, "r"):
        done = run(annulus, scan, output, "--append", inputs=scan.files[:1])
    expect_error(done, OUTPUT, output, "another program has this file open for reading", "close it there")
    assert stored_frames(output) == 1
    assert run(annulus, scan, output, "--append", inputs=scan.files[1:2]).returncode == 0


def test_a_reader_keeps_the_output_that_is_replaced(annulus, scan, tmp_path):
    output = tmp_path / "out.nxs"
    assert run(annulus, scan, output, inputs=scan.files[:3]).returncode == 0
    with h5py.File(output, "r") as file:
        assert run(annulus, scan, output, "--overwrite", inputs=scan.files[:1]).returncode == 0
        assert len(file["entry/data/I"][()]) == 3
    assert stored_frames(output) == 1


@pytest.fixture(scope="module")
def one_frame(annulus, scan, tmp_path_factory):
    output = tmp_path_factory.mktemp("one") / "out.nxs"
    assert run(annulus, scan, output, inputs=scan.files[:1]).returncode == 0
    return output


@pytest.mark.parametrize("command", [
    ["--version"], ["--help"], ["integrate", "--help"], ["info", "--detectors"], ["info", "OUTPUT"],
    ["info", "--json", "OUTPUT"], ["info", "IMAGE"], ["verify", "OUTPUT"], ["verify", "IMAGE"], ["devices"],
    ["integrate", "--dump-config", "IMAGE"], ["integrate", "--overwrite", "--output", "NEW", "IMAGE"],
    ["integrate", "--json", "--overwrite", "--output", "NEW", "IMAGE"]])
@pytest.mark.parametrize("where", ["full", "closed"])
def test_what_cannot_be_printed_is_an_error(scan, one_frame, tmp_path, command, where):
    names = {"OUTPUT": one_frame, "NEW": tmp_path / "new.nxs", "IMAGE": scan.files[0]}
    words = [str(names.get(word, word)) for word in command]
    if words[0] == "integrate" and "--help" not in words:
        words += ["--poni", str(scan.poni)]
    line = " ".join(f"'{word}'" for word in [os.environ["ANNULUS"], *words])
    target = "/dev/full" if where == "full" else "&-"
    done = subprocess.run(["sh", "-c", f"{line} >{target}"], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == OUTPUT, done.stderr
    assert "standard output: cannot be written" in done.stderr
    if "NEW" in command:  # what was to be stored is stored
        assert stored_frames(names["NEW"]) == 1


@pytest.mark.parametrize("harm, words", [
    ("delete", "was deleted while it was being written"), ("truncate", "was made shorter by another program"),
    ("move", "was moved away or replaced while it was being written")])
def test_an_output_that_is_gone_is_an_error(annulus, scan, tmp_path, harm, words):
    folder = tmp_path / "growing"
    folder.mkdir()
    output = tmp_path / "out.nxs"
    program = subprocess.Popen(
        [os.environ["ANNULUS"], "integrate", "--follow", "--follow-timeout", "1.5", "--poni", str(scan.poni), "--output",
         str(output), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    shutil.copy(scan.files[0], folder)
    deadline = time.monotonic() + 20
    while not output.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    if harm == "delete":
        output.unlink()
    elif harm == "truncate":
        os.truncate(output, 0)
    else:
        output.rename(tmp_path / "moved.nxs")
    for file in scan.files[1:3]:
        shutil.copy(file, folder)
    _, errors = program.communicate(timeout=60)
    assert program.returncode == OUTPUT, errors
    assert str(output) in errors and words in errors
    if harm == "move":
        assert stored_frames(tmp_path / "moved.nxs") == 3


def test_frames_below_zero_cannot_be_drawn(annulus, scan, tmp_path):
    output = tmp_path / "out.nxs"
    assert run(annulus, scan, output, inputs=scan.files[:1]).returncode == 0
    expect_error(annulus("plot", output, "--frame", "-1", "-o", tmp_path / "a.png"), USAGE, "--frame", "-1")


def test_append_speaks_of_cakes_where_there_are_cakes(annulus, scan, tmp_path):
    output = tmp_path / "out.nxs"
    assert run(annulus, scan, output, "-n", 30, "--npt-azim", 12, inputs=scan.files[:1]).returncode == 0
    for bins, words in (((31, 12), "cakes of 30 radial bins"), ((30, 13), "cakes of 12 azimuthal bins")):
        done = run(annulus, scan, output, "-n", bins[0], "--npt-azim", bins[1], "--append", inputs=scan.files[:1])
        expect_error(done, OUTPUT, words)


def into_a_closed_pipe(words):
    """As `annulus ... | head -1`, whose reader is gone before the first byte: the code and the messages."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([os.environ["ANNULUS"], *map(str, words)], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    return done.returncode, done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(annulus, scan, tmp_path):
    output = tmp_path / "out.nxs"
    broken = tmp_path / "broken.cbf"
    broken.write_bytes(b"no image")
    assert run(annulus, scan, output, "-n", 3000, inputs=scan.files[:1]).returncode == 0
    for words in (["--help"], ["integrate", "--help"], ["info", "--detectors"], ["info", "--json", "--detectors"], ["info", output],
                  ["info", *scan.files[:10]], ["verify", output], ["devices"]):
        assert into_a_closed_pipe(words) == (0, ""), words
    integrate = ["integrate", "--poni", scan.poni, "--overwrite", "--json", "--output", tmp_path / "new.nxs"]
    assert into_a_closed_pipe([*integrate, *scan.files[:2]]) == (0, "")
    assert stored_frames(tmp_path / "new.nxs") == 2
    code, errors = into_a_closed_pipe([*integrate, "--keep-going", *scan.files[:2], broken])
    assert code == SOME_BAD and "1 of 3 frames are bad" in errors and "standard output" not in errors
    # Longer than what is written at once.
    many = [tmp_path / f"{'n' * 200}{i}.cbf" for i in range(40)]
    for path in many:
        path.write_bytes(b"no image")
    assert into_a_closed_pipe(["verify", "--json", *many])[0] == INPUT


def test_a_command_that_fails_says_too_what_could_not_be_printed(annulus, scan, tmp_path):
    broken = tmp_path / "broken.cbf"
    broken.write_bytes(b"no image")
    words = [os.environ["ANNULUS"], "info", str(scan.files[0]), str(broken)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == INPUT
    assert "broken.cbf" in done.stderr and "standard output: cannot be written" in done.stderr
