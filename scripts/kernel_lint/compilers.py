"""The compilers' own opinion of the kernels, as C++14 with warnings as errors."""

import pathlib
import re
import subprocess

from .rules import SENTENCES, Finding
from .tree import FLAGS

SENTENCES["compiler"] = "g++ and clang++ compile every kernel, in every variant, as C++14 without a warning"

# g++ sees uninitialised variables and accesses beyond an array only while it optimises.
COMMANDS = {"g++": ["-O2", "-S", "-o", "/dev/null"], "clang++": ["-fsyntax-only"]}
VARIANTS = (["-DANNULUS_KERNEL_VARIANCE=0"], ["-DANNULUS_KERNEL_VARIANCE=1", "-DANNULUS_KERNEL_BINS=1024"])


def compile_file(path, compiler, variant=()):
    """What one compiler finds in one file and what it includes."""
    done = subprocess.run([compiler, *COMMANDS[compiler], *FLAGS, *variant, str(path)], capture_output=True, text=True)
    found = [Finding(pathlib.Path(match[1]).name, int(match[2]), "compiler", f"{compiler}: {match[3]}")
             for match in re.finditer(r"^([^\s:]+):(\d+):\d+: (?:fatal )?error: (.*)$", done.stderr, re.M)]
    if done.returncode != 0 and not found:
        found = [Finding(pathlib.Path(path).name, 1, "compiler", f"{compiler}: {done.stderr.strip()}")]
    return found


def compile_all(folder):
    return sorted({finding for path in sorted(pathlib.Path(folder).glob("*.cpp")) for compiler in COMMANDS
                   for variant in VARIANTS for finding in compile_file(path, compiler, variant)})
