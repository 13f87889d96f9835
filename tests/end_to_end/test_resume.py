"""A run that was ended, repeated with --append: the output is that of a run that nobody disturbed."""

import gzip
import os
import resource
import shutil
import signal
import subprocess
import time

import h5py
import numpy
import pytest

SOME_BAD = 7
# Dates and their checksums, and the options by which the runs of these tests differ.
APART = {"/entry/start_time", "/entry/end_time", "/entry/reduction/date", "/entry/checksums/header",
         "/entry/checksums/closing"} | {f"/entry/reduction/input/{name}" for name in (
             "append", "configuration", "follow", "follow_timeout", "keep_going", "output", "threads")}
OPTIONS = ["-n", 400, "--error-model", "poisson"]


def contents(path):
    found = {}

    def visit(name, item):
        name = "/" + name
        if isinstance(item, h5py.Dataset) and name not in APART:
            value = item[()]
            found[name] = (item.shape, str(item.dtype), value.tobytes() if hasattr(value, "tobytes") else value)
    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return found


def assert_same(path, expected, but=()):
    got = contents(path)
    assert set(got) == set(expected)
    different = [name for name in expected if got[name] != expected[name] and name not in but]
    assert different == []


def shape_of(scan):
    """The pixels of a frame of the scan."""
    import fabio
    return fabio.open(str(scan.files[0])).data.astype(numpy.int32)


def folder_of_files(scan, folder):
    folder.mkdir()
    for i in range(60):
        (folder / f"f_{i:03d}.cbf").symlink_to(scan.files[i % 24])
    return [folder]


def archives(scan, folder):
    folder.mkdir()
    for i in range(40):
        (folder / f"f_{i:03d}.cbf.gz").write_bytes(gzip.compress(scan.files[i % 24].read_bytes(), 1))
    return [folder]


def with_bad_frames(scan, folder):
    inputs = folder_of_files(scan, folder)
    for i in (0, 7, 30, 59):
        (folder / f"f_{i:03d}.cbf").unlink()
        (folder / f"f_{i:03d}.cbf").write_bytes(b"no image")
    return inputs


def npy_stack(scan, folder):
    folder.mkdir()
    image = shape_of(scan)
    numpy.save(folder / "stack.npy", numpy.stack([image + i for i in range(25)]))
    numpy.save(folder / "more.npy", numpy.stack([image + 100 + i for i in range(15)]))
    return [folder / "stack.npy", folder / "more.npy"]


def hdf5_stack(scan, folder):
    folder.mkdir()
    image = shape_of(scan)
    with h5py.File(folder / "stack.h5", "w") as file:
        file.create_dataset("/entry/data/data", data=numpy.stack([image + i for i in range(40)]), chunks=(1, *image.shape))
    return [folder / "stack.h5"]


def eiger_master(scan, folder):
    folder.mkdir()
    image = shape_of(scan).astype(numpy.uint32)
    with h5py.File(folder / "scan_master.h5", "w") as master:
        for part in range(3):
            name = f"scan_data_{part + 1:06d}.h5"
            with h5py.File(folder / name, "w") as data:
                frames = numpy.stack([image + 20 * part + i for i in range(15)])
                data.create_dataset("/entry/data/data", data=frames, chunks=(1, *image.shape))
            master[f"/entry/data/data_{part + 1:06d}"] = h5py.ExternalLink(name, "/entry/data/data")
    return [folder / "scan_master.h5"]


KINDS = [folder_of_files, archives, with_bad_frames, npy_stack, hdf5_stack, eiger_master]


def integrate(annulus, scan, output, inputs, *options, **kwargs):
    return annulus("integrate", "-p", scan.poni, *OPTIONS, "--keep-going", "-o", output, *options, *inputs, **kwargs)


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def undisturbed(request, annulus, scan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    inputs = request.param(scan, folder / "scan")
    done = integrate(annulus, scan, folder / "out.nxs", inputs)
    assert done.returncode in (0, SOME_BAD), done.stderr
    return inputs, contents(folder / "out.nxs"), (folder / "out.nxs").stat().st_size, done.returncode


def limit_files(size):
    def apply():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return apply


def stored(path):
    with h5py.File(path, "r", swmr=True) as file:
        return len(file["/entry/frames/status"])


release_only = pytest.mark.release_only


@pytest.mark.parametrize("part", [pytest.param(0.35, marks=release_only), 0.5, pytest.param(0.65, marks=release_only), 0.8,
                                  pytest.param(0.95, marks=release_only)])
def test_after_a_full_disk(annulus, scan, undisturbed, tmp_path, part):
    """Ends a run at a chosen place, as a kill there would."""
    inputs, expected, size, code = undisturbed
    output = tmp_path / "out.nxs"
    done = integrate(annulus, scan, output, inputs, preexec_fn=limit_files(int(size * part)))
    assert done.returncode == 5, done.stderr
    before = stored(output) if output.exists() else 0
    done = integrate(annulus, scan, output, inputs, "--append", "--json")
    assert done.returncode == code, done.stderr
    assert f'"already_stored": {before}' in done.stdout, done.stdout
    assert_same(output, expected)
    assert annulus("verify", output).returncode == 0


def test_once_more_when_nothing_is_missing(annulus, scan, undisturbed, tmp_path):
    inputs, expected, _, code = undisturbed
    output = tmp_path / "out.nxs"
    for _ in range(3):
        assert integrate(annulus, scan, output, inputs, "--append").returncode == code
        assert_same(output, expected)


def test_the_same_files_by_other_names(annulus, scan, undisturbed, tmp_path):
    """Absolute, relative, through a link, and from another folder: the same frames."""
    inputs, expected, _, code = undisturbed
    output = tmp_path / "out.nxs"
    base = inputs[0].parent
    (tmp_path / "link").symlink_to(base)
    (tmp_path / "other").mkdir()
    named = {"/entry/frames/source", "/entry/checksums/frames", "/entry/reduction/input/working_directory"}
    relative = [os.path.relpath(path, base) for path in inputs]
    assert integrate(annulus, scan, output, relative, "--append", cwd=base).returncode == code
    for names, folder in ((inputs, base), ([f"./{name}" for name in relative], base), (relative, tmp_path / "link"),
                          ([os.path.relpath(path, tmp_path) for path in inputs], tmp_path),
                          ([tmp_path / "link" / name for name in relative], tmp_path / "other")):
        done = integrate(annulus, scan, output, names, "--append", cwd=folder)
        assert done.returncode == code, done.stderr
        assert_same(output, expected, but=named)


def kill_when(path, frames, command):
    """Starts a run, and kills it when so many frames are in its output."""
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        deadline = time.time() + 60
        while time.time() < deadline and run.poll() is None:
            try:
                if stored(path) >= frames:
                    break
            except OSError:
                pass
            time.sleep(0.02)
        run.send_signal(signal.SIGKILL)
    assert stored(path) >= frames


@pytest.mark.parametrize("frames", [1, 9, 30])
def test_a_folder_that_is_followed_and_killed(annulus, scan, tmp_path, frames):
    """Frames come, the run is killed, more come: followed again, and at the end without."""
    inputs = folder_of_files(scan, tmp_path / "all")
    assert integrate(annulus, scan, tmp_path / "whole.nxs", inputs).returncode == 0
    folder = tmp_path / "scan"
    folder.mkdir()
    files = sorted(inputs[0].iterdir())
    output = tmp_path / "out.nxs"
    command = [os.environ["ANNULUS"], "integrate", "-p", scan.poni, *OPTIONS, "--keep-going", "-o", output, "--append",
               "--follow", "--follow-timeout", 30, folder]
    for end in (frames, frames + 10):
        for path in files[:end]:
            if not (folder / path.name).exists():
                (folder / path.name).symlink_to(path.resolve())
        kill_when(output, end, command)
        assert stored(output) == end
    for path in files:
        if not (folder / path.name).exists():
            (folder / path.name).symlink_to(path.resolve())
    done = integrate(annulus, scan, output, [folder], "--append")
    assert done.returncode == 0 and f"{frames + 10} frames were in the output already" in done.stdout, done.stderr
    assert_same(output, contents(tmp_path / "whole.nxs"),
                but={"/entry/frames/source", "/entry/frames/source_id", "/entry/checksums/frames"})


def test_a_series_that_is_followed_and_killed(annulus, scan, tmp_path):
    image = shape_of(scan)
    path = tmp_path / "scan.h5"
    output = tmp_path / "out.nxs"
    command = [os.environ["ANNULUS"], "integrate", "-p", scan.poni, *OPTIONS, "-o", output, "--append", "--follow",
               "--follow-timeout", 30, path]
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("/entry/data/data", (0, *image.shape), numpy.int32, maxshape=(None, *image.shape),
                                   chunks=(1, *image.shape))
        file.swmr_mode = True
        for end in (5, 11, 20):
            data.resize(end, axis=0)
            for i in range(max(0, end - 9), end):
                data[i] = image + i
            file.flush()
            kill_when(output, end, command)
            assert stored(output) == end
    assert integrate(annulus, scan, output, [path], "--append").returncode == 0
    assert integrate(annulus, scan, tmp_path / "whole.nxs", [path]).returncode == 0
    assert_same(output, contents(tmp_path / "whole.nxs"))


@release_only
def test_kills_at_any_time(annulus, scan, tmp_path):
    folder = tmp_path / "scan"
    folder.mkdir()
    for i in range(1500):
        (folder / f"f_{i:04d}.cbf").symlink_to(scan.files[i % 24])
    assert integrate(annulus, scan, tmp_path / "whole.nxs", [folder]).returncode == 0
    expected = contents(tmp_path / "whole.nxs")
    output = tmp_path / "out.nxs"
    command = [os.environ["ANNULUS"], "integrate", "-p", scan.poni, *OPTIONS, "--keep-going", "--threads", 1, "-o", output,
               "--append", folder]
    resumed = 0
    for delay in (0.05, 0.3, 0.6, 0.7, 0.9, 1.2):
        with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as run:
            time.sleep(delay)
            run.send_signal(signal.SIGKILL)
        if output.exists() and 0 < stored(output) < 1500:
            resumed += 1
    done = integrate(annulus, scan, output, [folder], "--append")
    assert done.returncode == 0, done.stderr
    assert_same(output, expected)
    assert annulus("verify", output).returncode == 0
    print(resumed, "kills left a part")


def repacked(source, target, **how):
    """A copy in which others have packed the cakes, or divided them into other chunks."""
    with h5py.File(source, "r") as file, h5py.File(target, "w", libver="latest") as copy:
        for name, value in file.attrs.items():
            copy.attrs[name] = value
        for name in file:
            file.copy(name, copy)
        for path in ("/entry/data/I", "/entry/reduction/accumulators/signal"):
            old = copy[path]
            values, attributes, fill = old[()], dict(old.attrs), old.fillvalue
            shape = old.shape
            del copy[path]
            new = copy.create_dataset(path, data=values, maxshape=(None, *shape[1:]), fillvalue=fill,
                                      **{"chunks": (1, *shape[1:]), **how})
            for name, value in attributes.items():
                new.attrs[name] = value


@pytest.mark.parametrize("how", [{"compression": "gzip"}, {"chunks": (1, 100, 500)}, {"chunks": (2, 50, 1000)}],
                         ids=["packed", "narrow chunks", "chunks of two frames"])
def test_cakes_that_others_have_packed(annulus, scan, tmp_path, how):
    options = ["-p", scan.poni, "-n", 1000, "--npt-azim", 100]
    assert annulus("integrate", *options, "-o", tmp_path / "whole.nxs", *scan.files[:4]).returncode == 0
    assert annulus("integrate", *options, "-o", tmp_path / "half.nxs", *scan.files[:2]).returncode == 0
    repacked(tmp_path / "half.nxs", tmp_path / "packed.nxs", **how)
    done = annulus("integrate", *options, "--append", "-o", tmp_path / "packed.nxs", *scan.files[:4])
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "whole.nxs") as whole, h5py.File(tmp_path / "packed.nxs") as packed:
        for path in ("/entry/data/I", "/entry/reduction/accumulators/signal", "/entry/checksums/frames"):
            assert numpy.array_equal(packed[path][()], whole[path][()], equal_nan="I" in path), path


def test_text_files(annulus, scan, tmp_path):
    inputs = [tmp_path / "scan"]
    folder_of_files(scan, inputs[0])
    options = ["-p", scan.poni, *OPTIONS, "--format", "xy"]
    assert annulus("integrate", *options, "-o", tmp_path / "whole", *inputs).returncode == 0
    files = sorted(inputs[0].iterdir())
    assert annulus("integrate", *options, "-o", tmp_path / "out", *files[:20]).returncode == 0
    for _ in range(2):
        assert annulus("integrate", *options, "-o", tmp_path / "out", "--append", *inputs).returncode == 0
    assert {p.name for p in (tmp_path / "out").iterdir()} == {p.name for p in (tmp_path / "whole").iterdir()}
    for path in (tmp_path / "whole").iterdir():
        numpy.testing.assert_array_equal(numpy.loadtxt(path), numpy.loadtxt(tmp_path / "out" / path.name))


def test_frames_that_are_left_out_are_not_read(annulus, scan, tmp_path):
    """Their payloads are gone: headers are enough, and archives are not opened at all."""
    folder = tmp_path / "scan"
    folder.mkdir()
    for i in range(12):
        shutil.copy(scan.files[i], folder / f"a_{i:02d}.cbf")
        (folder / f"b_{i:02d}.cbf.gz").write_bytes(gzip.compress(scan.files[i].read_bytes(), 1))
    output = tmp_path / "out.nxs"
    assert integrate(annulus, scan, output, [folder]).returncode == 0
    before = contents(output)
    for i in range(12):
        content = (folder / f"a_{i:02d}.cbf").read_bytes()
        start = content.index(b"\x0c\x1a\x04\xd5") + 4
        (folder / f"a_{i:02d}.cbf").write_bytes(content[:start] + b"\x80" * (len(content) - start))
        if i < 11:
            (folder / f"b_{i:02d}.cbf.gz").write_bytes(b"no archive")
    done = integrate(annulus, scan, output, [folder], "--append")
    assert done.returncode == 0 and "24 frames were in the output already" in done.stdout, done.stderr
    assert_same(output, before)


def test_a_stack_that_was_damaged_after_some_of_its_frames_were_stored_is_no_stored_fault(annulus, scan, tmp_path):
    """Its first frame is stored, and good: that it cannot be opened now has to be told."""
    stack = tmp_path / "stack.npy"
    frames = numpy.stack([shape_of(scan)] * 4)
    numpy.save(stack, frames[:2])
    output = tmp_path / "out.nxs"
    assert integrate(annulus, scan, output, [stack]).returncode == 0
    stack.write_bytes(b"no stack")
    other = tmp_path / "other.npy"
    numpy.save(other, frames[:1])
    for _ in range(2):  # the bad frame is then stored, and not stored again
        done = integrate(annulus, scan, output, [other, stack], "--append")
        assert done.returncode == SOME_BAD, done.stderr
    with h5py.File(output) as file:
        assert list(file["entry/frames/status"][()]) == [0, 0, 0, 1]
        assert list(file["entry/frames/frame_in_source"][()]) == [0, 1, 0, 2]
        assert file["entry/frames/source"][3, 0].endswith(b"stack.npy")


def test_an_archive_of_a_stack_is_asked_how_many_frames_it_has(annulus, scan, tmp_path):
    frames = numpy.stack([shape_of(scan)] * 4)
    numpy.save(tmp_path / "part.npy", frames[:2])
    numpy.save(tmp_path / "whole.npy", frames)
    numpy.save(tmp_path / "b.npy", frames[:1])
    archive = tmp_path / "s.npy.gz"
    archive.write_bytes(gzip.compress((tmp_path / "part.npy").read_bytes()))
    output = tmp_path / "out.nxs"
    assert integrate(annulus, scan, output, [archive]).returncode == 0
    assert integrate(annulus, scan, output, [tmp_path / "b.npy"], "--append").returncode == 0
    archive.write_bytes(gzip.compress((tmp_path / "whole.npy").read_bytes()))
    assert integrate(annulus, scan, output, [archive, tmp_path / "b.npy"], "--append").returncode == 0
    assert stored(output) == 5


def test_text_files_of_another_plan_are_refused(annulus, scan, tmp_path):
    options = ["-p", scan.poni, "--format", "xy", "-o", tmp_path / "out", *scan.files[:2]]
    assert annulus("integrate", *options, "-n", 50).returncode == 0
    done = annulus("integrate", *options, "-n", 70, "--append")
    assert done.returncode == 5 and "another plan" in done.stderr, (done.returncode, done.stderr)


FORMATS = [["out.nxs"], ["out", "--format", "xy"]]


def output_of(folder, form):
    output = folder / form[0]
    if form[0] == "out":
        output.mkdir()
    return output


def files_in(output):
    """How many frames an output of either format holds."""
    return len(list(output.glob("*.xy"))) if output.is_dir() else stored(output)


@pytest.mark.parametrize("form", FORMATS, ids=["nexus", "text"])
def test_names_that_are_too_long_to_be_stored_are_known_again(annulus, scan, tmp_path, form):
    """And a frame that shares the end of its name with another is not taken for it."""
    output = output_of(tmp_path, form)
    deep = "x" * 200 + "/" + "y" * 200
    files = []
    for name in ("one", "two"):
        folder = tmp_path / name / deep
        folder.mkdir(parents=True)
        shutil.copy(scan.files[0], folder / "f.cbf")
        files.append(folder / "f.cbf")
    first = files[0].parent / "g.cbf"
    shutil.copy(scan.files[1], first)
    integrate(annulus, scan, output, ["g.cbf"], *form[1:], "--append", cwd=first.parent)
    for known in (files[:1], files[:1], files, files):
        assert integrate(annulus, scan, output, known, *form[1:], "--append").returncode == 0
        assert files_in(output) == 1 + len(known)
    if form[0] == "out.nxs":
        with h5py.File(output) as file:
            names = file["entry/frames/source"][:, 0]
            assert names[1].startswith(b"...") and names[1] == names[2]  # so the names alone could not tell


@pytest.mark.parametrize("form", FORMATS, ids=["nexus", "text"])
def test_folders_and_files_that_are_not_utf8(annulus, scan, tmp_path, form):
    output = output_of(tmp_path, form)
    names = [os.fsdecode(b"a\xff.cbf"), os.fsdecode(b"a\xfe.cbf")]  # the same when made UTF-8
    folders = [tmp_path / os.fsdecode(b"d\xff"), tmp_path / os.fsdecode(b"d\xfe")]
    for folder in folders:
        folder.mkdir()
        for name in names:
            shutil.copy(scan.files[0], folder / name)
    known = 0
    for folder in folders:
        for name in names:
            known += 1
            for path, cwd in ((name, folder), (name, folder), (folder / name, tmp_path)):
                assert integrate(annulus, scan, output, [path], *form[1:], "--append", cwd=cwd).returncode == 0
                assert files_in(output) == known, (path, cwd)


def test_a_link_that_leads_elsewhere_now_is_another_folder(annulus, scan, tmp_path):
    for name in ("run1", "run2"):
        (tmp_path / name).mkdir()
        shutil.copy(scan.files[0], tmp_path / name / "f.cbf")
    link = tmp_path / "current"
    for target, frames in (("run1", 1), ("run2", 2), ("run1", 2)):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        assert integrate(annulus, scan, tmp_path / "out.nxs", [link / "f.cbf"], "--append").returncode == 0
        assert stored(tmp_path / "out.nxs") == frames


@pytest.mark.parametrize("form", FORMATS, ids=["nexus", "text"])
def test_a_stack_of_which_one_frame_was_stored_and_that_was_damaged_is_named(annulus, scan, tmp_path, form):
    """A bad second frame ends the first run; then the whole file is lost."""
    stack, output, other = tmp_path / "stack.h5", tmp_path / form[0], tmp_path / "other.npy"
    image = shape_of(scan)
    with h5py.File(stack, "w") as file:
        data = file.create_dataset("/entry/data/data", data=numpy.stack([image] * 4), chunks=(1, *image.shape), compression=1)
        place = data.id.get_chunk_info(1)
    with open(stack, "r+b") as file:
        file.seek(place.byte_offset)
        file.write(b"no zlib stream")
    options = ["integrate", "-p", scan.poni, *OPTIONS, *form[1:], "-o", output]
    url = f"{stack}::/entry/data/data"
    done = annulus(*options, url)
    assert done.returncode == 3 and files_in(output) == 1, done.stderr
    stack.write_bytes(b"no stack")
    numpy.save(other, image)
    done = annulus(*options, "--append", other, url)
    assert done.returncode == 3 and "stack.h5" in done.stderr, done.stderr
    for bad in (1, 0):  # recorded, and then not once more
        done = annulus(*options, "--append", "--keep-going", other, url)
        assert files_in(output) == 3 and f"{bad} of" * bad in done.stdout, (done.stdout, done.stderr)


@pytest.mark.parametrize("form", FORMATS, ids=["nexus", "text"])
def test_bad_frames_of_the_run_before_are_counted(annulus, scan, tmp_path, form):
    """But not those of other inputs that the output holds, too."""
    inputs = with_bad_frames(scan, tmp_path / "scan")
    output = output_of(tmp_path, form)
    assert integrate(annulus, scan, output, inputs, *form[1:]).returncode == SOME_BAD
    done = integrate(annulus, scan, output, inputs, *form[1:], "--append")
    assert done.returncode == SOME_BAD and "60 frames were in the output already and are left out; 4 of these" in done.stdout
    assert "4 of the frames that were in" in done.stderr
    done = integrate(annulus, scan, output, [sorted(inputs[0].iterdir())[1]], *form[1:], "--append", "--json")
    assert done.returncode == 0 and '"already_bad": 0' in done.stdout
