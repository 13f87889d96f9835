"""A machine that has little of something, and files that others have open."""

import resource

import h5py
import pytest

OUTPUT = 5


def limited(what, amount):
    def limit():
        resource.setrlimit(what, (amount, resource.getrlimit(what)[1]))

    return limit


@pytest.fixture(scope="module")
def large_frames(annulus, tmp_path_factory):
    """A list of 400 frames that are large enough to be mapped, of which there are ten."""
    folder = tmp_path_factory.mktemp("large")
    done = annulus("simulate", "-o", folder, "--detector", "Pilatus300k", "-n", 10, "-q")
    assert done.returncode == 0, done.stderr
    files = sorted(folder.glob("*.cbf"))
    assert min(path.stat().st_size for path in files) > 256 << 10
    (folder / "list.txt").write_text("".join(f"{path}\n" for path in 40 * files))
    return folder


@pytest.mark.parametrize("descriptors, options", [(48, []), (64, ["--batch", 256]), (128, ["--threads", 8, "--readers", 8])])
def test_few_descriptors_cost_no_frame(annulus, large_frames, tmp_path, descriptors, options):
    done = annulus("integrate", "-p", large_frames / "scan.poni", "-n", 100, "-o", tmp_path / "a.nxs", "-q", "--keep-going",
                   *options, f"@{large_frames / 'list.txt'}", preexec_fn=limited(resource.RLIMIT_NOFILE, descriptors))
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "a.nxs") as file:
        assert file["entry/frames/status"].shape == (400,) and not file["entry/frames/status"][()].any()


def test_threads_that_cannot_start_are_an_error_and_no_hang(annulus, scan, tmp_path):
    little = limited(resource.RLIMIT_AS, 2 << 30)
    if annulus("--version", preexec_fn=little).returncode != 0:
        pytest.skip("this build needs more memory to start")
    arguments = ["integrate", "-p", scan.poni, "-n", 100, "--plan-cache", tmp_path / "plans", scan.folder]
    assert annulus(*arguments, "-o", tmp_path / "a.nxs").returncode == 0
    done = annulus(*arguments, "-o", tmp_path / "b.nxs", "--latency", "--threads", 1000, preexec_fn=little, timeout=120)
    assert done.returncode == 1 and "annulus: error: " in done.stderr, (done.returncode, done.stderr)


def test_a_matrix_that_somebody_reads_stays_whole(annulus, scan, tmp_path):
    def save(*options, name="matrix.h5"):
        return annulus("integrate", "-p", scan.poni, "-n", 100, "-o", tmp_path / "a.nxs", "--overwrite", "-q", "--save-matrix",
                       tmp_path / name, *options, scan.files[0])

    assert save().returncode == 0
    with h5py.File(tmp_path / "matrix.h5") as file:
        before = file["indptr"][()]
        assert save("--split", "no").returncode == 0
        assert (file["indptr"][()] == before).all()
    with h5py.File(tmp_path / "matrix.h5") as file:
        assert (file["indptr"][()] != before).any()
    (tmp_path / "empty.h5").touch()
    assert save(name="empty.h5").returncode == 0
    done = save(name="nowhere/matrix.h5")
    assert done.returncode == OUTPUT and "nowhere does not exist" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nxs", "empty.h5", "matrix.h5"]


def test_a_matrix_for_which_there_is_no_room_leaves_the_old_one(annulus, scan, tmp_path):
    arguments = ["integrate", "-p", scan.poni, "-n", 100, "-o", tmp_path / "a.nxs", "--overwrite", "-q", "--save-matrix",
                 tmp_path / "matrix.h5", scan.files[0]]
    assert annulus(*arguments).returncode == 0
    whole = (tmp_path / "matrix.h5").read_bytes()
    done = annulus(*arguments, preexec_fn=limited(resource.RLIMIT_FSIZE, 500_000))
    assert done.returncode == OUTPUT and "the matrix cannot be written: File too large" in done.stderr, done.stderr
    assert (tmp_path / "matrix.h5").read_bytes() == whole
    assert not list(tmp_path.glob("*.part"))


def test_a_bench_keeps_what_it_cannot_replace(annulus, scan, tmp_path):
    kept = tmp_path / "kept.json"
    kept.write_text("kept")
    assert annulus("bench", "--only", "nonsense", "-o", kept).returncode == 2
    assert kept.read_text() == "kept"
    frame = tmp_path / "frame.cbf"
    frame.write_bytes(scan.files[0].read_bytes())
    done = annulus("bench", "-q", "--only", "decode", "-o", frame, frame)
    assert done.returncode == OUTPUT and "names an input" in done.stderr
    assert frame.read_bytes() == scan.files[0].read_bytes()
