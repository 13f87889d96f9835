"""Everything that an output stores is verified: each dataset, attribute and chunk is changed in turn, and noticed.

The files are walked with h5py, which knows nothing of what Annulus means to store."""

import ctypes
import ctypes.util
import itertools
import os
import shutil
import signal
import subprocess
import time

import h5py
import numpy
import pytest

INPUT = 3
SOME_BAD = 7


def make_scan(scan, folder, bad):
    """Links to the frames, of which some are truncated."""
    folder.mkdir()
    for i, path in enumerate(scan.files[:9]):
        if i in bad:
            (folder / path.name).write_bytes(path.read_bytes()[:20000])
        else:
            (folder / path.name).symlink_to(path)
    return folder


KINDS = {
    "patterns": ([], set()),
    "errors": (["--error-model", "poisson", "--normalization-factor", 3], set()),
    "bad frames": (["--error-model", "poisson", "--keep-going", "-P", 0.9], {0, 4, 8}),
    "cakes": (["--error-model", "poisson", "--npt-azim", 12], set()),
    "large cakes": (["-n", 600, "--npt-azim", 60, "--keep-going"], {3}),
}


# What does not depend on the size of a frame.
of_small_files = pytest.mark.parametrize("output", [kind for kind in KINDS if kind != "large cakes"], indirect=True)


@pytest.fixture(scope="module")
def outputs(annulus, scan, tmp_path_factory):
    """One of each kind, of two runs, the second appended to the first."""
    made = {}
    for kind, (options, bad) in KINDS.items():
        folder = tmp_path_factory.mktemp("verify")
        frames = sorted(make_scan(scan, folder / "scan", bad).iterdir())
        bins = [] if "-n" in options else ["-n", 50]
        if bad:  # pixels that are missing: whatever is large counts as invalid
            options = [*options, "--max-count", 200]
        made[kind] = folder / "out.nxs"
        for part in (frames[:5], frames[5:]):
            done = annulus("integrate", "-p", scan.poni, *bins, *options, "--append", "-o", made[kind], *part)
            assert done.returncode in (0, SOME_BAD), done.stderr
    return made


@pytest.fixture(params=KINDS)
def output(request, outputs):
    return outputs[request.param]


def not_before(outputs, output, content):
    """Names in content(output) that no kind before it has with the same value: those were changed there."""
    before = [content(path) for path in itertools.takewhile(lambda path: path != output, outputs.values())]
    return [name for name, value in content(output).items() if all(other.get(name, nothing) != value for other in before)]


def verify(annulus, path):
    return annulus("verify", path)


def assert_caught(annulus, path, what):
    done = verify(annulus, path)
    assert done.returncode == INPUT, (what, done.returncode, done.stdout, done.stderr)


def all_objects(path):
    """Paths of all groups and datasets, and the root."""
    found = ["/"]
    with h5py.File(path, "r") as file:
        file.visit(lambda name: found.append("/" + name))
    return found


nothing = object()


def described(value):
    value = numpy.asarray(value)
    return value.dtype.str, value.tolist() if value.dtype.kind in "OS" else (value.shape, value.tobytes())


def names(path):
    return dict.fromkeys(all_objects(path))


def datasets(path):
    with h5py.File(path, "r") as file:
        return {name: described(file[name][()]) for name in all_objects(path) if isinstance(file[name], h5py.Dataset)}


def attributes(path):
    with h5py.File(path, "r") as file:
        return {(name, attribute): described(value) for name in all_objects(path)
                for attribute, value in file[name].attrs.items()}


def changed(value):
    """The same type and shape, another value."""
    if isinstance(value, (str, bytes)):
        return value[:-1] + (b"~" if isinstance(value, bytes) else "~")
    value = numpy.array(value)
    if value.dtype.kind in "OS":
        flat = value.reshape(-1)
        flat[-1] = changed(flat[-1])
        return value
    if value.dtype.kind == "b":
        return ~value
    raw = bytearray(value.tobytes())
    raw[-value.dtype.itemsize] ^= 1  # the last bit of the last value
    return numpy.frombuffer(bytes(raw), value.dtype).reshape(value.shape)


def test_a_file_that_nobody_changed_is_good(annulus, output):
    done = verify(annulus, output)
    assert done.returncode == 0, done.stderr
    assert "9 frames verified, 0 bad" in done.stdout and "checksum" not in done.stderr and "closed" not in done.stderr


@of_small_files
def test_every_dataset(annulus, outputs, output, tmp_path):
    seen = not_before(outputs, output, datasets)
    for name in seen:
        copy = tmp_path / "changed.nxs"
        shutil.copy(output, copy)
        with h5py.File(copy, "r+") as file:
            before = file[name][()]
            file[name][()] = changed(before)
            assert not numpy.array_equal(file[name][()], before), name
        assert_caught(annulus, copy, name)
    assert len(seen) > (60 if output == outputs["patterns"] else 10)  # the first kind has them all to itself


def test_every_row_of_what_belongs_to_frames(annulus, output, tmp_path):
    """The first and a middle value too, and two rows that changed places."""
    for name in all_objects(output):
        with h5py.File(output, "r") as file:
            if not isinstance(file[name], h5py.Dataset) or file[name].maxshape[:1] != (None,):
                continue
            values = file[name][()]
        for at in (0, len(values) // 2):
            copy = tmp_path / "changed.nxs"
            shutil.copy(output, copy)
            with h5py.File(copy, "r+") as file:
                file[name][at] = changed(values[at])
            assert_caught(annulus, copy, (name, at))
        if not numpy.array_equal(values[1], values[2], equal_nan=values.dtype.kind == "f"):
            shutil.copy(output, copy)
            with h5py.File(copy, "r+") as file:
                file[name][1], file[name][2] = values[2], values[1]
            assert_caught(annulus, copy, (name, "exchanged"))


@of_small_files
def test_every_attribute(annulus, outputs, output, tmp_path):
    seen = not_before(outputs, output, attributes)
    objects = set()
    for name, attribute in seen:
        for how in ("changed",) if name in objects else ("changed", "removed"):
            copy = tmp_path / "changed.nxs"
            shutil.copy(output, copy)
            with h5py.File(copy, "r+") as file:
                attrs = file[name].attrs
                if how == "removed":
                    del attrs[attribute]
                else:
                    attrs.modify(attribute, changed(attrs[attribute]))
            assert_caught(annulus, copy, (name, attribute, how))
        objects.add(name)
    assert len(seen) > 40 or output != outputs["patterns"]


@of_small_files
def test_what_is_removed_added_or_renamed(annulus, outputs, output, tmp_path):
    copy = tmp_path / "changed.nxs"
    options = "/entry/reduction/input/"
    for name in not_before(outputs, output, names):
        if name == "/" or name.startswith(options) and name not in (options + "unit", options + "npt"):  # of the options, two
            continue
        for how in ("removed", "renamed"):
            shutil.copy(output, copy)
            with h5py.File(copy, "r+") as file:
                if how == "renamed":
                    file[name + "_"] = file[name]
                del file[name]
            done = verify(annulus, copy)
            # Without what makes it an output it is a file of frames that cannot be read, or one without checksums.
            ours = name == "/entry/checksums"
            assert done.returncode in (2, INPUT) or ours and "without checksums" in done.stderr, (name, how, done.stderr)
    for add in (lambda f: f.create_group("more"), lambda f: f["entry"].create_dataset("more", data=1),
                lambda f: f["entry/data"].attrs.create("more", 1)):
        shutil.copy(output, copy)
        with h5py.File(copy, "r+") as file:
            add(file)
        assert_caught(annulus, copy, "added")


def test_every_chunk_that_is_zeroed(annulus, output, tmp_path):
    chunks = []
    with h5py.File(output, "r") as file:
        for name in all_objects(output):
            dataset = file[name]
            if not isinstance(dataset, h5py.Dataset) or dataset.chunks is None:
                continue
            count = dataset.id.get_num_chunks()
            for i in range(0, count, max(1, count // 10)):  # large cakes have hundreds
                info = dataset.id.get_chunk_info(i)
                chunks.append((name, info.byte_offset, info.size))
    seen = 0
    for name, offset, size in chunks:
        copy = tmp_path / "changed.nxs"
        shutil.copy(output, copy)
        with open(copy, "r+b") as raw:
            raw.seek(offset)
            raw.write(b"\0" * size)
        with h5py.File(copy, "r") as after, h5py.File(output, "r") as before:
            if numpy.array_equal(after[name][()], before[name][()]):
                continue  # it held nothing but zeros
        assert_caught(annulus, copy, (name, offset))
        seen += 1
    assert seen > 8


def test_frames_that_are_cut_off_a_closed_file(annulus, output, tmp_path):
    copy = tmp_path / "changed.nxs"
    shutil.copy(output, copy)
    with h5py.File(copy, "r+") as file:
        for name in all_objects(output):
            if isinstance(file[name], h5py.Dataset) and file[name].maxshape[:1] == (None,):
                file[name].resize(7, axis=0)
    done = verify(annulus, copy)
    assert done.returncode == INPUT and "frames were taken away" in done.stderr, done.stderr


def test_checksums_are_those_of_the_documentation(output):
    """The formula of docs/output_format.md, with the library of XXH3's authors."""
    name = ctypes.util.find_library("xxhash")
    if name is None:
        pytest.skip("no libxxhash")
    xxh3 = ctypes.CDLL(name).XXH3_64bits_withSeed
    xxh3.restype, xxh3.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)

    def digest(content, seed=0):
        return xxh3(content, len(content), seed)

    with h5py.File(output, "r") as file:
        stored = file["/entry/checksums/frames"][()]
        sums = [0] * len(stored)
        for path in all_objects(output):
            dataset = file[path]
            if isinstance(dataset, h5py.Dataset) and dataset.maxshape[:1] == (None,) and path != "/entry/checksums/frames":
                for frame in range(len(stored)):
                    raw = numpy.asarray(dataset[frame]).astype(dataset.dtype)
                    sums[frame] += digest(raw.tobytes(), digest(path.encode()))
        expected = [digest((total % 2**64).to_bytes(8, "little"), frame) for frame, total in enumerate(sums)]
        assert list(stored) == expected


def test_a_file_without_checksums_is_verified_as_far_as_it_goes(annulus, output, tmp_path):
    """As earlier versions wrote it."""
    copy = tmp_path / "old.nxs"
    shutil.copy(output, copy)
    with h5py.File(copy, "r+") as file:
        del file["/entry/checksums"]
        for name in ("/entry/frames/source", "/entry/frames/fault"):
            texts = file[name][:, 0]
            del file[name]
            file.create_dataset(name, data=texts, maxshape=(None,), chunks=True)
    done = verify(annulus, copy)
    assert done.returncode == 0 and "without checksums" in done.stderr, done.stderr
    described = annulus("info", copy)
    assert described.returncode == 0 and "9" in described.stdout, described.stderr
    with h5py.File(copy, "r+") as file:
        file["/entry/data/I"][1, ..., 20] *= 1.5
    assert_caught(annulus, copy, "an intensity")


def test_a_file_that_grows_or_was_left_by_a_killed_run_is_good(annulus, scan, tmp_path):
    folder = tmp_path / "scan"
    folder.mkdir()
    for i in range(4):
        (folder / f"f_{i:03d}.cbf").symlink_to(scan.files[i])
    path = tmp_path / "out.nxs"
    command = [os.environ["ANNULUS"], "integrate", "--follow", "--follow-timeout", "30", "-p", scan.poni, "-n", "50",
               "-o", path, folder]
    with subprocess.Popen([str(part) for part in command], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
        try:
            for i in range(4, 12):
                (folder / f"f_{i:03d}.cbf").symlink_to(scan.files[i])
                time.sleep(0.3)
                if not path.exists():
                    continue
                done = verify(annulus, path)
                assert done.returncode == 0 and "not closed" in done.stderr, done.stderr
            time.sleep(1.5)
        finally:
            run.send_signal(signal.SIGKILL)
    done = verify(annulus, path)
    assert done.returncode == 0 and "not closed" in done.stderr and not done.stdout.startswith("0 "), done.stderr
    assert annulus("integrate", "-p", scan.poni, "-n", 50, "-o", path, "--append", scan.files[20]).returncode == 0
    done = verify(annulus, path)
    assert done.returncode == 0 and "not closed" not in done.stderr, done.stderr
