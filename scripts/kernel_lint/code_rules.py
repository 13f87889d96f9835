"""Rules that clang's tree decides: what a kernel's types, variables, expressions and calls may be."""

import re

from .rules import rule
from .tree import CONSTANT, FUNCTIONS, LOOPS, RECORDS

DECLARATIONS = ("VAR_DECL", "PARM_DECL", "FIELD_DECL")
FLOATING = {"FLOAT", "DOUBLE", "LONGDOUBLE", "FLOAT16", "HALF", "FLOAT128"}
# A function is judged where it is called.
CONSTANT_TARGETS = {"ENUM_CONSTANT_DECL", "TEMPLATE_NON_TYPE_PARAMETER", "FUNCTION_DECL", "OVERLOADED_DECL_REF"}
ARRAYS = {"CONSTANTARRAY", "DEPENDENTSIZEDARRAY", "INCOMPLETEARRAY", "VARIABLEARRAY"}


def element_type(kind_of):
    while kind_of.kind.name in ARRAYS:
        kind_of = kind_of.element_type.get_canonical()
    return kind_of


def is_constexpr(node):
    return re.match(r"(static\s+)?constexpr\b", node.text) is not None


def is_constant(node, program, counters=()):
    """Whether an expression is known when it is compiled: literals, names kX, constexpr functions of such, and the
    counters of unrolled loops around it."""
    for part in node.nodes:
        if part.kind == "CALL_EXPR" and part.name:
            functions = program.functions.get(part.name, [])
            if not functions or not all(function.is_constexpr for function in functions):
                return False
        elif part.kind == "DECL_REF_EXPR":
            name = re.search(r"\w*$", part.text)[0]
            target = part.cursor.referenced
            if not (CONSTANT.fullmatch(name) or name in counters or target and target.kind.name in CONSTANT_TARGETS):
                return False
        elif part.kind in ("MEMBER_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR"):
            return False
    return True


@rule("clang", "clang compiles every file on its own as C++14 without a warning")
def clang(unit, program):
    for file, line, message in unit.diagnostics:
        if file == str(unit.path):
            yield line, message
        elif not any(file == str(other.path) for other in program.units.values()):
            yield 1, message


@rule("floating", "no floating point: sums are exact integers")
def floating(unit, program):
    for node in unit.nodes:
        declared = node.kind in DECLARATIONS and element_type(node.type).kind.name in FLOATING
        if declared or node.kind == "FLOATING_LITERAL":
            yield node.line, f"{node.text}: floating point; kernels compute with integers (docs/numerics.md)"
        elif node.kind in FUNCTIONS and node.cursor.result_type.get_canonical().kind.name in FLOATING:
            yield node.line, f"{node.name} returns floating point; kernels compute with integers (docs/numerics.md)"
    for found in re.finditer(r"\b(float|double)\b", unit.code):
        yield unit.line_of(found.start()), f"{found[1]}: kernels compute with integers (docs/numerics.md)"


@rule("global-state", "no variable outlives a call: globals and static locals are constexpr")
def global_state(unit, program):
    for node in unit.find("VAR_DECL"):
        if (not node.inside(FUNCTIONS) or re.match(r"static\b", node.text)) and not is_constexpr(node):
            yield node.line, f"{node.name} outlives a launch: make it constexpr, or local to the stage that owns it"


@rule("constant-name", "what is named kX is a constant, and constants are named kX")
def constant_name(unit, program):
    for node in unit.find("VAR_DECL", "TEMPLATE_NON_TYPE_PARAMETER", "PARM_DECL", "FIELD_DECL"):
        named = CONSTANT.fullmatch(node.name) is not None
        constant = node.kind == "TEMPLATE_NON_TYPE_PARAMETER" or is_constexpr(node)
        if named != constant and node.name:
            yield node.line, f"{node.name}: " + ("named like a constant, but no constexpr" if named
                                                 else "a constant; name it kLikeThis")


@rule("function-pointer", "no pointers to functions or members")
def function_pointer(unit, program):
    for node in unit.find(*DECLARATIONS, "TYPEDEF_DECL", "TYPE_ALIAS_DECL"):
        kind_of = node.cursor.underlying_typedef_type if node.kind.startswith("TYPE") else node.type
        kind_of = element_type(kind_of.get_canonical())
        pointee = kind_of.get_pointee().get_canonical().kind.name
        if kind_of.kind.name == "MEMBERPOINTER" or pointee in ("FUNCTIONPROTO", "FUNCTIONNOPROTO"):
            yield node.line, f"{node.name} points to a function: call the function, or use a template argument"


@rule("pointer", "pointers are arguments only, to one memory each, and no address is taken")
def pointer(unit, program):
    for node in unit.find(*DECLARATIONS):
        kind_of = element_type(node.type)
        if kind_of.kind.name in ("LVALUEREFERENCE", "RVALUEREFERENCE"):
            kind_of = element_type(kind_of.get_pointee().get_canonical())
            if kind_of.kind.name == "POINTER":
                yield node.line, f"{node.name} refers to a pointer: pass the pointer itself"
        elif kind_of.kind.name == "POINTER":
            pointee = kind_of.get_pointee().get_canonical().kind.name
            if node.kind != "PARM_DECL" or not node.parent or node.parent.kind not in FUNCTIONS:
                yield node.line, f"{node.name} is a stored pointer: index the argument instead"
            elif pointee in ("POINTER", "VOID"):
                yield node.line, f"{node.name}: a port points to elements of known width"
    for node in unit.find("UNARY_OPERATOR"):
        if re.match(r"&", node.text):
            yield node.line, f"{node.text}: no address is taken; pass a reference"


@rule("array-size", "arrays have a constant size")
def array_size(unit, program):
    for node in unit.find("VAR_DECL", "FIELD_DECL"):
        kind_of = node.type
        while kind_of.kind.name in ARRAYS:
            if kind_of.kind.name in ("VARIABLEARRAY", "INCOMPLETEARRAY"):
                yield node.line, f"{node.name}: the size is not a constant"
            kind_of = kind_of.element_type.get_canonical()


@rule("plain-struct", "structs are plain: no bases, constructors, destructors, operators or bit fields")
def plain_struct(unit, program):
    for node in unit.find("CXX_BASE_SPECIFIER", "CONSTRUCTOR", "DESTRUCTOR", "CONVERSION_FUNCTION"):
        yield node.line, f"{node.name}: structs hold values only; write a function that makes or takes one"
    for node in unit.find("FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD"):
        if re.match(r"operator\W", node.name):
            yield node.line, f"{node.name}: structs hold values only; write a named function"
    for node in unit.find("FIELD_DECL"):
        if node.cursor.is_bitfield():
            yield node.line, f"{node.name}: compilers place bit fields as they like; use shifts and masks"


@rule("lambda", "no lambdas and no variadic functions")
def no_lambda(unit, program):
    for node in unit.find("LAMBDA_EXPR"):
        yield node.line, "lambda: write a function with INLINE"
    for function in program.functions_of(unit):
        if re.search(r"\.\.\.\s*\)", function.node.text[:function.node.body.start - function.node.start]):
            yield function.node.line, f"{function.name} takes any number of arguments: name them"


@rule("c-cast", "casts are static_cast or Type{value}")
def c_cast(unit, program):
    for node in unit.find("CSTYLE_CAST_EXPR"):
        yield node.line, f"{node.text}: use static_cast"


@rule("division", "division and remainder by constants only")
def division(unit, program):
    for node in unit.find("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
        if node.operator in ("/", "%", "/=", "%=") and not is_constant(node.children[1], program):
            yield node.line, f"{node.text}: a divider of many clocks; divide by a constant, or count"


@rule("recursion", "no function calls itself; a recursive constexpr function stands in constants only")
def recursion(unit, program):
    recursive = {name for name, found in program.functions.items()
                 if name in program.reachable([call.name for function in found for call in function.calls])}
    for function in program.functions_of(unit):
        if function.name in recursive and not function.is_constexpr:
            yield function.node.line, f"{function.name} calls itself: hardware has no call stack; use a loop"
        for call in function.calls:
            if call.name in recursive and not function.is_constexpr:
                declaration = call.node.inside({"VAR_DECL"})
                if not (declaration and is_constexpr(declaration)) and not is_constant(call.node, program):
                    yield call.node.line, f"{call.name} is recursive: its value must be a constexpr here"


def condition_and_step(loop):
    """As text; a loop without the one or the other has "" for it."""
    body = loop.body
    around = loop.text[body.end - loop.start:] if loop.kind == "DO_STMT" else loop.text[:body.start - loop.start]
    inner = around[around.find("(") + 1:around.rfind(")")].split(";")
    condition, step = inner[1:] if loop.kind == "FOR_STMT" and len(inner) == 3 else (inner[0], "")
    return condition.strip(), step.strip()


def changes(name, text):
    place = rf"\b{name}\b(?:\.\w+|\[[^\]]*\])*"
    return any(re.search(pattern, text) for pattern in (
        rf"{place}\s*(?:[-+*/%|&^]|<<|>>)?=(?!=)", rf"(?:\+\+|--)\s*{place}", rf"{place}\s*(?:\+\+|--)",
        rf"[(,]\s*{place}\s*[,)]"))


@rule("endless-loop", "every loop can end")
def endless_loop(unit, program):
    for loop in unit.find(*LOOPS - {"CXX_FOR_RANGE_STMT"}):
        condition, step = condition_and_step(loop)
        body = loop.body.text + ";" + step
        if any(node.inside(LOOPS) is loop for node in loop.body.find("BREAK_STMT")) or \
                any(loop.body.find("RETURN_STMT")) or re.search(r"\.\s*read\s*\(", condition):
            continue
        names = re.findall(r"\b[a-zA-Z_]\w*", condition)
        if not any(changes(name, body) for name in names if name not in ("true", "false")):
            yield loop.line, f"{condition or 'no condition'}: nothing in the loop changes it, so it never ends"


@rule("switch-default", "a switch has a default, so that no input is forgotten")
def switch_default(unit, program):
    for node in unit.find("SWITCH_STMT"):
        if not any(node.find("DEFAULT_STMT")):
            yield node.line, "switch without default: say what hardware does with any other value"


@rule("struct-place", "types are declared at namespace scope")
def struct_place(unit, program):
    for node in unit.nodes:
        if node.kind in RECORDS and node.inside(FUNCTIONS):
            yield node.line, f"{node.name}: declare the type outside the function, where a test can name it"
