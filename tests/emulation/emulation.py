"""Runs commands on the emulated card of the build that ANNULUS_BUILD names."""

import json
import os
import pathlib
import subprocess

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["ANNULUS_BUILD"])


def emulate(*command, settings=None, log=None, timeout=300, **kwargs):
    options = ["--build", BUILD]
    options += ["--settings", json.dumps(settings)] if settings else []
    options += ["--log", log] if log else []
    return subprocess.run([str(word) for word in [PROJECT / "scripts/emulate", *options, "--", *command]],
                          capture_output=True, text=True, check=False, timeout=timeout, **kwargs)


def integrate(scan, output, *options, settings=None, log=None, npt=300, **kwargs):
    return emulate("annulus", "integrate", "--backend", "xrt", "-p", scan / "scan.poni", "-n", npt, "--error-model",
                   "poisson", "--json", "-o", output, *options, scan, settings=settings, log=log, **kwargs)
