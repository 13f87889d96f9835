"""What a planted case is, and how those of a text file are read."""

import pathlib
import re
import typing

MARK = "  // HERE"
HEADER = """// Planted.
#pragma once

{includes}#include <hls_stream.h>

#include "streams.hpp"

namespace kernels {{

{code}

}}  // namespace kernels
"""
TOP = """// Planted.
{includes}#include "kernels.hpp"
#include "write_memory.hpp"

using namespace kernels;

{code}
"""


class Case(typing.NamedTuple):
    rule: str  # that must find it; of a harmless case: what it stays clear of
    file: str
    old: str  # stands in the file exactly once; "" for a file of its own
    new: str
    at: str = ""  # where the finding must point: at this text, or else at the first line that differs
    at_file: str = ""  # if that is in another file


def planted(rule, section, is_top=False):
    """A file of its own, with the marked line as the place of the finding."""
    includes = "".join(line + "\n" for line in section.split("\n") if line.startswith("#include"))
    code = "\n".join(line for line in section.split("\n") if not line.startswith("#include"))
    marked = (TOP if is_top else HEADER).format(includes=includes, code=code)
    text = marked.replace(MARK, "")
    start = marked.rindex("\n", 0, marked.index(MARK)) + 1 if MARK in marked else 0
    return Case(rule, "planted.cpp" if is_top else "planted.hpp", "", text, text[start:])


def read_planted(name):
    text = (pathlib.Path(__file__).parent / name).read_text()
    found = []
    for head, section in re.findall(r"^== ([\w -]+)\n(.*?)\n*(?=^== |\Z)", text, re.M | re.S):
        rule, *kind = head.split()
        found.append(planted(rule, section, kind == ["top"]))
    return found
