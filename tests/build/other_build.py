"""Builds beside the one that is tested, which ANNULUS_BUILD names."""

import json
import os
import pathlib
import re
import shlex
import subprocess

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["ANNULUS_BUILD"])
CACHE = dict(re.findall(r"^(\w+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE))


def run(*command, check=True, **kwargs):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **kwargs)
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done


def configure(folder, *options, source=PROJECT, env=None):
    """Without optimisation and tests: what is built of it should be built soon."""
    return run("cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DBUILD_TESTING=OFF", "-DCMAKE_BUILD_TYPE=Debug",
               "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options, env=env).stdout


def words_that_matter(entry, build):
    """Of a command of the compiler: neither how much it optimises nor where it works."""
    words = shlex.split(entry["command"].replace(str(build), "BUILD"))
    first_option = next(i for i, word in enumerate(words) if word.startswith("-"))
    return [word for word in words[first_option:] if not re.fullmatch(r"-O.|-g.*|-DNDEBUG", word)]


def output_of(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def commands(build):
    """How each object is compiled."""
    entries = json.loads((build / "compile_commands.json").read_text())
    return {output_of(entry): words_that_matter(entry, build) for entry in entries}


def relink(objects, without, program):
    """The program of the build that is tested, with these objects instead of its own and without some libraries."""
    link = run("ninja", "-C", BUILD, "-t", "commands", "bin/annulus").stdout.strip().splitlines()[-1]
    words = shlex.split(link)
    words = words[words.index("&&") + 1:]
    words = words[:words.index("&&")] if "&&" in words else words
    words = [word for word in words if without not in word]
    place = words.index("-o")
    words[place + 1] = str(program)
    run(*words[:place], *objects, *words[place:], cwd=BUILD)
    assert without not in run("ldd", program).stdout
