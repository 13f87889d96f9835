"""Rules for pragmas: known, well formed, about something that exists, and where they govern what they are meant to."""

import re

from . import directives
from .code_rules import is_constexpr
from .directives import COUNT, DECLARATION, FLAG, FUNCTION, IMPOSSIBLE_STORAGE, LOOP, NAME, NUMBER, TOP, VARIABLE
from .program import STREAM_TYPE
from .rules import rule
from .tree import FUNCTIONS, RECORDS

LARGE = 4096  # bytes: what does not fit registers


def forms(unit):
    """The pragmas whose directive is known, with form and options."""
    for pragma in unit.pragmas:
        form, options = directives.form_of(pragma)
        if form and pragma.words[1] == "HLS":
            yield pragma, form, options


def function_of(pragma):
    if pragma.in_function:
        return pragma.owner
    return pragma.scope.inside(FUNCTIONS) if pragma.scope else None


def variables_at(pragma):
    """Declarations that the pragma sees, by name."""
    found = {}
    for scope in [pragma.scope, *pragma.scope.ancestors()] if pragma.scope else []:
        before = pragma.before if scope is pragma.scope else [n for n in scope.children if n.start < pragma.scope.start]
        for statement in before:
            for node in statement.children if statement.kind == "DECL_STMT" else [statement]:
                if node.kind in ("VAR_DECL", "PARM_DECL"):
                    found.setdefault(node.name, node)
    return found


def is_known_constant(value, pragma, unit, program):
    function = function_of(pragma)
    local = [n.name for n in function.children if n.kind == "TEMPLATE_NON_TYPE_PARAMETER"] if function else []
    declared = variables_at(pragma).get(value)
    return value in local or value in program.constants(unit) or \
        (declared is not None and declared.text.startswith("constexpr"))


def fault_of_value(value, takes, pragma, unit, program):
    """Why a value is not of the kind that an option takes; None if it is."""
    if takes is FLAG:
        return "takes no value" if value is not None else None
    if value is None or value == "":
        return "needs a value"
    if isinstance(takes, set):
        return None if value in takes else f"{value} is not {directives.said(takes)}"
    if takes is NAME:
        return None if re.fullmatch(r"[a-zA-Z_]\w*", value) else f"{value} is no name"
    if takes in (COUNT, NUMBER):
        if re.fullmatch(r"\d+", value):
            return "must be at least 1" if takes is COUNT and int(value) == 0 else None
        if not is_known_constant(value, pragma, unit, program):
            return f"{value} is no integer and no constant here"
    return None  # names of variables and ports have rules of their own


@rule("pragma-unknown", "every pragma is one that kernels here use")
def pragma_unknown(unit, program):
    for pragma in unit.pragmas:
        if pragma.words[1:2] != ["HLS"]:
            yield pragma.line, f"{' '.join(pragma.words)}: only #pragma HLS and #pragma once"
        elif directives.form_of(pragma)[0] is None:
            known = "m_axi and s_axilite" if pragma.directive == "INTERFACE" else ", ".join(sorted(directives.FORMS))
            yield pragma.line, f"{' '.join(pragma.words[2:])}: unknown here; known are {known}"


@rule("pragma-option", "a pragma has all the options it needs, each once, and no others")
def pragma_option(unit, program):
    for pragma, form, options in forms(unit):
        names = [name for name, _ in options]
        for name in sorted(set(names)):
            if form.option(name) is None:
                yield pragma.line, f"{pragma.directive} has no option {name}"
            elif names.count(name) > 1:
                yield pragma.line, f"{name} is given {names.count(name)} times"
        for name in form.required:
            if name not in names:
                yield pragma.line, f"{pragma.directive} needs {name}: {directives.said(form.required[name])}"
        values = dict(options)
        if pragma.directive in ("ARRAY_PARTITION", "ARRAY_RESHAPE"):
            if (values.get("type") == "complete") == ("factor" in values):
                yield pragma.line, "cyclic and block need a factor, complete has none"
        if "distance" in values and (values.get("dependent"), values.get("type")) != ("true", "inter"):
            yield pragma.line, "a distance belongs to a true dependence between iterations"
        if pragma.directive == "DEPENDENCE" and "direction" in values and values.get("type") == "intra":
            yield pragma.line, "a direction belongs to a dependence between iterations"


@rule("pragma-value", "every option of a pragma has a value of its kind")
def pragma_value(unit, program):
    for pragma, form, options in forms(unit):
        for name, value in options:
            takes = form.option(name)
            fault = takes and fault_of_value(value, takes, pragma, unit, program)
            if fault:
                yield pragma.line, f"{name}: {fault}"
        values = dict(options)
        if (values.get("type"), values.get("impl")) in IMPOSSIBLE_STORAGE and pragma.directive == "BIND_STORAGE":
            yield pragma.line, f"{values['impl']} cannot be {values['type']}"
        variable = variables_at(pragma).get(values.get("variable"))
        dim = values.get("dim") or ""
        if variable and dim.isdigit() and int(dim) > variable.type.spelling.count("["):
            yield pragma.line, f"{variable.name} has {variable.type.spelling.count('[')} dimensions, no {dim}"


def has_members(node, members, program):
    """Whether a variable or field has a member, that one a member, and so on."""
    if not members:
        return True
    record = re.sub(r"\b(const|struct|kernels::)\s*|<.*|\W*\[.*|\s*&", "", node.cursor.type.spelling)
    return any(has_members(field, members[1:], program)
               for unit in program.units.values() for other in unit.find(*RECORDS) if other.name == record
               for field in other.children if (field.kind, field.name) == ("FIELD_DECL", members[0]))


@rule("pragma-variable", "the variable of a pragma exists in its scope and is what the pragma is about")
def pragma_variable(unit, program):
    for pragma, form, options in forms(unit):
        value = dict(options).get("variable")
        if form.option("variable") is not VARIABLE or not value:
            continue
        base, *members = value.split(".")
        node = variables_at(pragma).get(base)
        if node is None:
            yield pragma.line, f"{base} is not declared before the pragma in its scope"
        elif not has_members(node, members, program):
            yield pragma.line, f"{value}: no such member"
        elif pragma.directive == "DEPENDENCE" and members:
            yield pragma.line, f"{value}: the compiler takes no dependence of a member; name a variable"
        elif (pragma.directive == "STREAM") != bool(STREAM_TYPE.search(node.text)):
            yield pragma.line, f"{value}: STREAM is for streams, and every other pragma for arrays and structs"
        elif pragma.directive in ("ARRAY_PARTITION", "ARRAY_RESHAPE", "BIND_STORAGE") and not members and \
                "[" not in node.type.spelling:
            yield pragma.line, f"{value} is no array"


def fault_of_place(pragma, form, options, program):
    variable = (dict(options).get("variable") or "").split(".")[0]
    if LOOP in form.places and pragma.in_loop and pragma.first:
        return None
    if FUNCTION in form.places and pragma.in_function and pragma.first:
        return None
    if TOP in form.places and pragma.in_function and pragma.first:
        tops = [top.node for top in program.tops]
        return None if pragma.owner in tops else "belongs into a top"
    if DECLARATION in form.places:
        last = pragma.before[-1] if pragma.before else None
        if last and last.kind == "DECL_STMT" and any(child.name == variable for child in last.children):
            return None
        parameters = [node.name for node in pragma.owner.children if node.kind == "PARM_DECL"] if pragma.owner else []
        if pragma.in_function and pragma.first and variable in parameters:
            return None
    where = {LOOP: "first in the braces of a loop", FUNCTION: "first in the braces of a function",
             TOP: "first in the braces of a top", DECLARATION: "right after the declaration of its variable"}
    return "stands " + " or ".join(where[place] for place in form.places)


@rule("pragma-place", "a pragma stands first in the scope it governs, or right after the declaration it is about")
def pragma_place(unit, program):
    for pragma, form, options in forms(unit):
        fault = fault_of_place(pragma, form, options, program)
        if fault:
            yield pragma.line, f"{pragma.directive} {fault}"


@rule("memory-storage", f"arrays beyond {LARGE} bytes are bound to a memory, and partitioned in all dimensions but one")
def memory_storage(unit, program):
    for node in unit.find("VAR_DECL"):
        if node.type.get_size() <= LARGE or "[" not in node.type.spelling or is_constexpr(node):
            continue
        about = [(pragma, dict(options)) for pragma, _, options in forms(unit)
                 if variables_at(pragma).get(dict(options).get("variable")) is node]
        bound = [options for pragma, options in about if pragma.directive == "BIND_STORAGE"]
        whole = {options.get("dim") for pragma, options in about
                 if pragma.directive == "ARRAY_PARTITION" and options.get("type") == "complete"}
        dimensions = node.type.spelling.count("[")
        if not bound:
            yield node.line, f"{node.name} has {node.type.get_size()} bytes and no BIND_STORAGE: say which memory it is"
        elif len(whole & {str(n) for n in range(1, dimensions + 1)}) != dimensions - 1:
            yield node.line, f"{node.name} has {dimensions} dimensions: all but the address of a memory are partitioned"


@rule("uram-content", "a memory in URAM has no initial value: the device gives it none")
def uram_content(unit, program):
    for pragma, _, options in forms(unit):
        variable = variables_at(pragma).get(dict(options).get("variable"))
        if variable and dict(options).get("impl") == "uram" and re.search(r"[={]", variable.text):
            yield variable.line, f"{variable.name} has an initial value: clear it in a loop"


@rule("pragma-twice", "a scope or variable has a directive once")
def pragma_twice(unit, program):
    seen = {}
    for pragma, _, options in forms(unit):
        values = dict(options)
        about = tuple(values.get(key) for key in ("variable", "port", "dim", "mode", "type", "direction"))
        key = (pragma.directive, pragma.scope, about)
        if key in seen:
            yield pragma.line, f"{pragma.directive} repeats line {seen[key]}"
        seen.setdefault(key, pragma.line)


@rule("dependence-proof", "a comment above DEPENDENCE proves it: no tool checks what it claims")
def dependence_proof(unit, program):
    for pragma in unit.pragmas:
        if pragma.directive == "DEPENDENCE" and not re.match(r"\s*// \S", unit.lines[pragma.line - 2]):
            yield pragma.line, "DEPENDENCE without a comment above it that says why it holds"
