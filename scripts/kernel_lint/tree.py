"""A source file as plain Python objects: clang's tree of it, and its pragmas with the scopes they stand in."""

import pathlib
import re

from clang import cindex

FUNCTIONS = {"FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR"}
LOOPS = {"FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT"}
RECORDS = {"STRUCT_DECL", "CLASS_DECL", "CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"}
CONSTANT = re.compile(r"k[A-Z]\w*")
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-label"]
FLAGS = ["-x", "c++", "-std=c++14", *WARNINGS, f"-I{pathlib.Path(__file__).parent / 'include'}"]


def without_comments(text):
    """The text with comments and the insides of strings blanked: every character stays where it is."""

    def blank(match):
        found = match[0]
        return found[0] + " " * (len(found) - 2) + found[0] if found[0] in "\"'" else re.sub(r"[^\n]", " ", found)

    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', blank, text, flags=re.S)


class Node:
    """One cursor of clang. Where a template's argument decides, clang knows neither type nor target of an expression;
    its name is then what the source says."""

    def __init__(self, cursor, parent, code):
        self.cursor = cursor
        self.parent = parent
        self.kind = cursor.kind.name
        extent = cursor.extent
        self.start, self.end = extent.start.offset, extent.end.offset
        self.line, self.end_line = extent.start.line, extent.end.line
        self.text = code[self.start:self.end]
        self.name = cursor.spelling
        self.children = [Node(child, self, code) for child in cursor.get_children()]
        self.nodes = [self, *(node for child in self.children for node in child.nodes)]
        if self.kind == "CALL_EXPR":
            self.name = self.called_name()
        elif self.kind == "MEMBER_REF_EXPR":
            self.name = self.name or re.search(r"\w*$", self.text)[0]

    def called_name(self):
        """Of what is written as a call; clang also counts copies, conversions and constructors, which have none."""
        first = self.children[0] if self.children else self
        is_call = first.start == self.start and self.text[len(first.text):].lstrip().startswith("(")
        if not is_call or first.kind in ("TYPE_REF", "TEMPLATE_REF"):
            return ""
        name = re.search(r"(\w+)\s*(?:<.*>)?\s*$", first.text, re.S)
        return name[1] if name else first.text

    @property
    def type(self):
        return self.cursor.type.get_canonical()

    def find(self, *kinds):
        return [node for node in self.nodes if node.kind in kinds]

    def ancestors(self):
        node = self.parent
        while node:
            yield node
            node = node.parent

    def inside(self, kinds):
        return next((node for node in self.ancestors() if node.kind in kinds), None)

    @property
    def body(self):
        """What a function or loop governs; None of a mere declaration."""
        if self.kind == "DO_STMT":
            return self.children[0]
        last = self.children[-1] if self.children else None
        return last if last and (self.kind in LOOPS or last.kind == "COMPOUND_STMT") else None

    @property
    def operator(self):
        """Of an operator with two operands."""
        if self.kind not in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR") or len(self.children) != 2:
            return ""
        offset = self.children[0].end - self.start
        return self.text[offset:self.children[1].start - self.start].strip()


class Pragma:
    """`#pragma HLS <directive> <options>`, in the innermost braces around it. Of an option without a value the value
    is None."""

    def __init__(self, line, offset, words, scopes):
        self.line = line
        self.words = words
        self.directive = words[2] if len(words) > 2 else ""
        self.options = [tuple(word.split("=", 1)) if "=" in word else (word, None) for word in words[3:]]
        around = [scope for scope in scopes if scope.start < offset < scope.end]
        self.scope = max(around, key=lambda scope: scope.start, default=None)
        self.owner = self.scope.parent if self.scope else None
        self.before = [node for node in self.scope.children if node.start < offset] if self.scope else []

    @property
    def in_loop(self):
        return self.owner is not None and self.owner.kind in LOOPS

    @property
    def in_function(self):
        return self.owner is not None and self.owner.kind in FUNCTIONS

    @property
    def first(self):
        return not self.before


class Unit:
    """One file, parsed on its own with what it includes; `others` replace files of its folder."""

    def __init__(self, path, others=None):
        path = pathlib.Path(path)
        self.path = path
        self.name = path.name
        others = dict(others or {})
        text = others.get(self.name)
        self.text = text if text is not None else path.read_bytes().decode("latin-1")  # clang counts bytes
        self.code = without_comments(self.text)
        self.lines = self.text.split("\n")
        self.is_header = path.suffix == ".hpp"
        self.includes = re.findall(r'^\s*#\s*include\s*"([^"]*)"', self.text, re.M)
        main = path
        if self.is_header:
            main = path.with_name("lint_unit.cpp")
            others[main.name] = f'#include "{self.name}"\n'
        parsed = cindex.Index.create().parse(
            str(main), FLAGS, [(str(path.with_name(name)), text) for name, text in others.items()])
        self.diagnostics = [(d.location.file.name if d.location.file else "", d.location.line, d.spelling)
                            for d in parsed.diagnostics if d.severity >= cindex.Diagnostic.Warning]
        roots = [Node(cursor, None, self.code) for cursor in parsed.cursor.get_children()
                 if cursor.location.file and cursor.location.file.name == str(path)]
        self.nodes = [node for root in roots for node in root.nodes]
        self.by_kind = {}
        for node in self.nodes:
            self.by_kind.setdefault(node.kind, []).append(node)
        self.functions = [node for node in self.nodes if node.kind in FUNCTIONS and node.body]
        self.pragmas = self.find_pragmas()

    def find_pragmas(self):
        scopes = self.find("COMPOUND_STMT")
        found = []
        offset = 0
        for number, line in enumerate(self.code.split("\n"), 1):
            words = re.sub(r"\s*=\s*", "=", re.sub(r"^\s*#\s*", "#", line)).split()
            if words and words[0] == "#pragma" and words[1:] != ["once"]:
                found.append(Pragma(number, offset + line.index("#"), words, scopes))
            offset += len(line) + 1
        return found

    def find(self, *kinds):
        return [node for kind in kinds for node in self.by_kind.get(kind, ())]

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1
