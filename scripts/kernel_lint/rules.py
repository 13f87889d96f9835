"""The list of rules, and what they report."""

import typing


class Finding(typing.NamedTuple):
    file: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.file}:{self.line}: [{self.rule}] {self.message}"


SENTENCES = {}  # what each rule demands
CHECKS = []


def rule(name, sentence):
    """Registers a check: a generator of (line, message) for one file (`unit`) of a `program`."""

    def register(check):
        SENTENCES[name] = sentence
        CHECKS.append((name, check))
        return check

    return register


def check(program, files=None):
    """The findings in all files of a program, or in the files that are named."""
    units = [unit for unit in program.units.values() if files is None or unit.name in files]
    return sorted({Finding(unit.name, line, name, message)
                   for name, check in CHECKS for unit in units for line, message in check(unit, program)})
