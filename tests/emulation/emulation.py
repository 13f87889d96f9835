"""Runs commands on the emulated card of the build that ANNULUS_BUILD names, and finds what they leave behind."""

import fcntl
import json
import os
import pathlib
import subprocess
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["ANNULUS_BUILD"])
PATIENCE = 120  # seconds: for what takes a moment, on a machine that has other things to do


def command(*program, settings=None, log=None):
    options = ["--build", BUILD]
    options += ["--settings", settings if isinstance(settings, (str, pathlib.Path)) else json.dumps(settings)] if settings else []
    options += ["--log", log] if log else []
    return [str(word) for word in [PROJECT / "scripts/emulate", *options, "--", *program]]


def emulate(*program, settings=None, log=None, timeout=300, **kwargs):
    return subprocess.run(command(*program, settings=settings, log=log), capture_output=True, text=True, check=False,
                          timeout=timeout, **kwargs)


def integrate_command(scan, output, *options, npt=300):
    return ["annulus", "integrate", "--backend", "xrt", "-p", scan / "scan.poni", "-n", npt, "--error-model", "poisson",
            "--json", "-o", output, *options, scan]


def integrate(scan, output, *options, settings=None, log=None, npt=300, **kwargs):
    return emulate(*integrate_command(scan, output, *options, npt=npt), settings=settings, log=log, **kwargs)


def xclbin_with(kernel, folder):
    """The emulated card's, with one of its kernels only, as those for cards are."""
    platform = PROJECT / "platform/emulation"
    lines = (platform / "connectivity.cfg").read_text().splitlines()
    connectivity = folder / f"{kernel}.cfg"
    connectivity.write_text("\n".join(line for line in lines if kernel in line or line == "[connectivity]"))
    subprocess.run([BUILD / "bin/annulus_pack_xclbin", "--header", PROJECT / "hls/kernels.hpp", "--library",
                    BUILD / "sim/emulation/xclbin_annulus_kernels.so", "--card", platform / "card.json", "--connectivity",
                    connectivity, "--output", folder / f"{kernel}.xclbin", "--emconfig", folder / "emconfig.json"], check=True)
    return folder / f"{kernel}.xclbin"


def eventually(condition):
    """What condition() gives, once that is true or patience has ended."""
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return result


def abandoned_folders():
    """Folders of emulations that nobody runs: those of a running one are locked."""
    found = set()
    for folder in pathlib.Path("/tmp").glob("annulus-emulation-*"):
        try:
            with open(folder / "lock") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found.add(folder)
        except OSError:
            pass  # locked, or gone meanwhile
    return found


def parent_of(process):
    """0 if it has just ended."""
    try:
        return int(pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def card_processes():
    """Of this build: process number -> that of its parent."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cmdline").read_bytes().startswith(str(BUILD / "emulation").encode()):
                found[int(path.name)] = parent_of(path.name)
        except OSError:
            pass  # it has just ended
    return found


def assert_nothing_is_left(folders_before):
    assert eventually(lambda: abandoned_folders() <= folders_before), abandoned_folders() - folders_before
    assert eventually(lambda: not card_processes()), card_processes()
