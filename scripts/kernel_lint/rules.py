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


def check(program):
    found = {Finding(unit.name, line, name, message)
             for name, check in CHECKS for unit in program.units.values() for line, message in check(unit, program)}
    return sorted(found)
