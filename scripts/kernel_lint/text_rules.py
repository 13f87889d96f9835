"""Rules that the text decides: form of a file, includes, words that no kernel uses."""

import re

from .rules import rule

LONGEST = 150
SYSTEM_HEADERS = {"cstdint", "hls_stream.h"}
SETTING = re.compile(r"#ifndef (ANNULUS_KERNEL_\w+)\n#define \1 \d+\n#endif\n")


@rule("file-length", f"a file has at most {LONGEST} lines")
def file_length(unit, program):
    count = unit.text.rstrip("\n").count("\n") + 1
    if count > LONGEST:
        yield LONGEST + 1, f"{count} lines, at most {LONGEST}: move a step or a stage to a file of its own"


@rule("first-comment", "a file begins with a comment that says what it does")
def first_comment(unit, program):
    if not re.match(r"// \S", unit.text):
        yield 1, "begin with a comment: what the thing does, its stream protocol, its II, its limits"


@rule("include-once", "a header has #pragma once before its first include")
def include_once(unit, program):
    if unit.is_header:
        once = re.search(r"^#pragma once$", unit.code, re.M)
        include = re.search(r"^\s*#\s*include", unit.code, re.M)
        if not once or (include and include.start() < once.start()):
            yield 1, "#pragma once is missing or follows an include"


@rule("include", "only <cstdint>, <hls_stream.h> and headers of this folder are included")
def include(unit, program):
    for number, line in enumerate(unit.lines, 1):
        found = re.match(r"\s*#\s*include\s*(.*)", line)
        if not found:
            continue
        name = re.match(r'<([^>]*)>|"([^"]*)"', found[1])
        if not name or (name[1] is not None and name[1] not in SYSTEM_HEADERS):
            yield number, f"{found[1]} is not for kernels: only {', '.join(sorted(SYSTEM_HEADERS))} and own headers are"
        elif name[2] is not None and name[2] not in program.units:
            yield number, f"{found[1]} is not in this folder: kernels depend on nothing else of the project"


@rule("preprocessor", "no conditions and no macros but the two settings of config.hpp")
def preprocessor(unit, program):
    code = unit.code
    if unit.name == "config.hpp":
        code = SETTING.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), code)
    for number, line in enumerate(code.split("\n"), 1):
        found = re.match(r"\s*#\s*(\w*)", line)
        if found and found[1] not in ("include", "pragma"):
            yield number, f"#{found[1]}: kernels are the same text for every compiler; use a constant of config.hpp"
        if line.rstrip().endswith("\\"):
            yield number, "continued line: a pragma or statement fits one line or is split as C++"
    if re.search(r"\b_Pragma\b", code):
        yield unit.line_of(code.index("_Pragma")), "_Pragma hides from the tools that read pragmas: use #pragma HLS"


# Rule: what it demands, words, what to do instead.
WORDS = {
    "heap": ("no memory is allocated", "new delete malloc calloc realloc free alloca",
             "hardware has no heap: declare an array of constant size"),
    "exception": ("no exceptions", "throw try catch", "set a status word and drain the streams"),
    "virtual": ("nothing is decided by a run-time type", "virtual override typeid dynamic_cast",
                "use a template argument"),
    "goto": ("no jumps", "goto setjmp longjmp", "use a loop with a condition"),
    "union": ("no unions", "union", "take bits apart with shifts and masks"),
    "cast": ("no casts that change what bits mean", "reinterpret_cast const_cast",
             "take bits apart with shifts and masks"),
    "width": ("integers have the width their type says", "long short unsigned signed size_t ptrdiff_t wchar_t",
              "use int, int8_t to int64_t or uint8_t to uint64_t"),
    "storage": ("variables are plain", "volatile mutable thread_local register asm __asm__ __attribute__",
                "what is fed back stands in a state that a function owns"),
    "std": ("nothing of the standard library but <cstdint>", "std assert printf abort",
            "kernels do without a library"),
}


def word_check(name, sentence, words, advice):
    pattern = re.compile(r"(?<![\w.])(" + "|".join(words.split()) + r")\b")

    @rule(name, sentence)
    def word(unit, program):
        for found in pattern.finditer(unit.code):
            yield unit.line_of(found.start()), f"{found[1]}: {advice}"


for name, row in WORDS.items():
    word_check(name, *row)
