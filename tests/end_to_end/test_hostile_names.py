"""What others put into names, and beside our outputs, does no harm: terminals, planted links, pictures of other programs."""

import os
import shlex
import signal
import subprocess
import time
import xml.etree.ElementTree
import zlib

import h5py
import numpy
import pytest

EVIL = "a\x1b[31mred\x07\x7f\u009b31m\nannulus"


def assert_harmless(done, shown="\\x1b[31mred"):
    text = done.stdout + done.stderr
    assert shown in text, text
    bad = [c for c in text if (ord(c) < 0x20 and c not in "\t\n") or 0x7F <= ord(c) < 0xA0]
    assert not bad, (bad, text)


@pytest.fixture
def evil_frame(scan, tmp_path):
    path = tmp_path / f"{EVIL}.cbf"
    path.write_bytes(scan.files[0].read_bytes())
    return path


@pytest.fixture
def patterns(annulus, scan, tmp_path):
    path = tmp_path / "patterns.nxs"
    assert annulus("integrate", "-p", scan.poni, "-o", path, "-q", scan.files[0]).returncode == 0
    return path


def test_names_do_not_reach_the_terminal_raw(annulus, scan, evil_frame, tmp_path):
    assert_harmless(annulus("info", evil_frame))
    output = tmp_path / f"{EVIL}.nxs"
    done = annulus("integrate", "-p", scan.poni, "-o", output, evil_frame)
    assert done.returncode == 0
    assert_harmless(done)
    assert done.stdout.count("\nannulus") == 0, "a name makes no line of its own"
    for command in ("info", "plot"):
        assert_harmless(annulus(command, output, **({"cwd": tmp_path} if command == "plot" else {})))
    assert_harmless(annulus("integrate", "-p", scan.poni, "-o", output, evil_frame))  # it exists
    evil_frame.write_bytes(evil_frame.read_bytes()[:3000])
    assert_harmless(annulus("verify", evil_frame))
    assert_harmless(annulus("integrate", "-p", scan.poni, "-o", tmp_path / "a.nxs", evil_frame))
    assert_harmless(annulus("integrate", "-p", scan.poni, "-o", tmp_path / "a.nxs", "--keep-going", evil_frame, scan.files[0]))
    assert_harmless(annulus("integrate", "-p", scan.poni, tmp_path / f"missing {EVIL}"))
    assert_harmless(annulus("integrate", f"--{EVIL}", scan.files[0]))
    assert_harmless(annulus(EVIL))
    assert_harmless(annulus("simulate", "-n", 1, "--detector", "Pilatus100k", "-o", tmp_path / f"simulated {EVIL}"))


def test_names_of_datasets_do_not_reach_the_terminal_raw(annulus, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file[f"/entry/{EVIL}"] = numpy.zeros((2, 195, 487), "int32")
    assert_harmless(annulus("info", tmp_path / "a.h5"))


@pytest.mark.parametrize("ignored", [False, True])
def test_a_lost_terminal_ends_a_run_in_order_unless_it_is_ignored(scan, tmp_path, ignored):
    folder = tmp_path / "growing"
    folder.mkdir()
    (folder / scan.files[0].name).write_bytes(scan.files[0].read_bytes())
    process = subprocess.Popen(
        [os.environ["ANNULUS"], "integrate", "-p", str(scan.poni), "--follow", "--follow-timeout", "6", "-o",
         str(tmp_path / "out.nxs"), str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=(lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) if ignored else None)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "out.nxs").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == (0 if ignored else 130), errors
    with h5py.File(tmp_path / "out.nxs") as file:
        assert len(file["entry/data/I"]) == 1


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_replaces_only_pictures_of_ours(annulus, patterns, tmp_path, ending):
    picture = tmp_path / f"a.{ending}"
    for _ in range(2):
        assert annulus("plot", patterns, "-o", picture).returncode == 0
    picture.write_bytes(b"a photograph of somebody else")
    done = annulus("plot", patterns, "-o", picture)
    assert done.returncode == 5 and "--overwrite" in done.stderr, done.stderr
    assert picture.read_bytes() == b"a photograph of somebody else"
    assert annulus("plot", patterns, "-o", picture, "--overwrite").returncode == 0
    assert picture.stat().st_size > 1000
    if ending == "png":
        data, at, kinds = picture.read_bytes(), 8, []
        while at < len(data):
            length, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
            checksum = int.from_bytes(data[at + 8 + length:at + 12 + length], "big")
            assert zlib.crc32(data[at + 4:at + 8 + length]) == checksum, kind
            kinds.append(kind)
            at += 12 + length
        assert at == len(data) and kinds[-2:] == [b"tEXt", b"IEND"]
    else:
        xml.etree.ElementTree.parse(picture)


def in_a_process_of_known_number(command, folder, link, victim):
    """Plants `link`, in which $$ is the number that the program will have, before the program starts."""
    script = f"ln -s {shlex.quote(str(victim))} {link} && exec {shlex.join(map(str, command))}"
    return subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("link", [".a.part$$.png", ".a.xy.part$$", "m.h5.$$.part", "a.nxs.$$-0.part", "m.h5.$$-0.part"])
def test_planted_links_are_not_followed(scan, patterns, tmp_path, link):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "shared"
    folder.mkdir()
    program = os.environ["ANNULUS"]
    commands = {".png": [program, "plot", patterns, "-o", "a.png"],
                ".xy": [program, "integrate", "-p", scan.poni, "--format", "xy", "-o", "a.xy", scan.files[0]],
                ".h5": [program, "integrate", "-p", scan.poni, "--save-matrix", "m.h5", "-o", "b.nxs", scan.files[0]],
                ".nxs": [program, "integrate", "-p", scan.poni, "-o", "a.nxs", scan.files[0]]}
    command, = [command for ending, command in commands.items() if ending in link]
    done = in_a_process_of_known_number(command, folder, link, victim)
    assert done.returncode == 0, done.stderr
    assert victim.read_text() == "precious"
    results = [path.name for path in folder.iterdir() if not path.is_symlink()]
    assert not [name for name in results if ".part" in name]
