"""What a planted case is."""

import typing


class Case(typing.NamedTuple):
    rule: str  # that must find it; of a harmless case: what it stays clear of
    file: str
    old: str  # stands in the file exactly once; "" for a file of its own
    new: str
    at: str = ""  # where the finding must point: at this text, or else at the first line that differs
    at_file: str = ""  # if that is in another file


def planted(rule, code, at="", includes=""):
    """A header of its own with `code` in it; the finding must point at `at`, or else at the first line of the code."""
    text = f'// Planted.\n#pragma once\n\n#include <hls_stream.h>\n{includes}\n#include "streams.hpp"\n\n' \
           f"namespace kernels {{\n\n{code.strip()}\n\n}}  // namespace kernels\n"
    return Case(rule, "planted.hpp", "", text, at or code.strip().split("\n")[0])


def planted_top(rule, code, at):
    """A kernel of its own, after `before`."""
    text = f'// Planted.\n#include "depths.hpp"\n#include "kernels.hpp"\n#include "write_memory.hpp"\n\n' \
           f"using namespace kernels;\n\n{code.strip()}\n"
    return Case(rule, "planted.cpp", "", text, at)
