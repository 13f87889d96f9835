"""The library knows no command line and leaves the process alone: others embed it."""

import os
import pathlib
import re
import subprocess

PROJECT = pathlib.Path(__file__).resolve().parents[2]
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
COMMENT = re.compile(r"//[^\n]*")


def sources(*folders):
    found = [path for folder in folders for path in (PROJECT / folder).rglob("*.[hc]pp")]
    assert found
    return found


def literals(path):
    """The texts of a file, those that are written in several pieces as one."""
    text = re.sub(r'"\s*\n\s*"', "", path.read_text())
    for line in text.splitlines():
        if not line.lstrip().startswith(("#include", "//")):
            yield from (literal[1:-1] for literal in LITERAL.findall(line))


def code(path):
    """A file without its comments and texts."""
    return COMMENT.sub("", LITERAL.sub('""', path.read_text()))


def test_messages_name_options_by_their_keys():
    for path in sources("host/annulus", "host/tools"):
        for text in literals(path):
            assert not re.search(r"(?<![\w-])--[a-z]", text), f"{path}: {text}: write the option's key in backticks"
            assert not re.search(r"'annulus |annulus (integrate|merge|renormalise|tomo|correlate|plot|info|devices|verify|bench|simulate)\b", text), f"{path}: {text}"


def test_the_program_has_an_option_for_every_key_in_messages():
    """So the user never reads a key: what in_our_words() does not know stays in backticks."""
    program = os.environ["ANNULUS"]
    commands = ["integrate", "merge", "renormalise", "map", "tomo", "correlate", "simulate", "plot", "info", "verify", "devices", "model-report", "bench"]
    helps = "".join(subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout for command in commands)
    known = {flag.replace("-", "_") for flag in re.findall(r"--([a-z][a-z0-9-]*)", helps)} | {"inputs", "input"}
    translated = (PROJECT / "host/app/option_names.cpp").read_text()
    assert "`" not in helps
    keys = {key for path in sources("host") for text in literals(path) for key in re.findall(r"`([a-z][a-z0-9_]*(?:\(\))?)`", text)}
    assert {"max_count", "inputs", "describe_backends()"} <= keys
    for key in keys:
        assert key in known or f'"{key}"' in translated, f"`{key}` is no option of the program"


def test_only_the_program_ends_the_process_or_changes_it():
    """Two exceptions: the guard of mapped files, of which docs/library.md says how to do without it, and the process
    that opens HDF5 files first, which a program starts by a command of its own."""
    guard = PROJECT / "host/annulus/core/guarded_mapping.cpp"
    probe = PROJECT / "host/annulus/hdf5/probe.cpp"
    deed = re.compile(r"\b_?exit\(|\bstd::(exit|_Exit|quick_exit|abort|terminate|atexit|signal|raise)\b|\babort\(|\batexit\(|\bmallopt\(|"
                      r"\bsigaction\(|::signal\(|\braise\(|\bpthread_atfork\(|\bp?thread_sigmask\(|\b(un)?setenv\(|\bputenv\(|"
                      r"#include <(csignal|signal\.h|malloc\.h)>")
    for path in (guard, probe):
        assert deed.search(code(path))
    for path in sources("host/annulus", "host/tools"):
        if path not in (guard, probe):
            found = deed.search(code(path))
            assert not found, f"{path}: {found[0]} is for programs"


def test_only_the_command_line_knows_its_parser():
    """Its header takes longer to compile than all else."""
    users = {path.name for path in sources("host") if re.search(r"#include [<\"]CLI/", path.read_text())}
    assert users == {"command_line.cpp"}
