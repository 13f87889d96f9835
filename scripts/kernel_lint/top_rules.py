"""Rules for tops: ports, streams between stages, and nothing else."""

import re

from .code_rules import is_constant
from .directives import form_of
from .loop_rules import counters_of, has
from .program import STREAM_TYPE
from .rules import rule
from .tree import CONSTANT, LOOPS

WIDEST = 64  # bytes of a port: 512 bits, what a channel of memory transfers at once
LONGEST_BURST, BURST_BYTES = 256, 4096  # of AXI4
INTEGERS = {"BOOL", "UCHAR", "SCHAR", "CHAR_S", "USHORT", "SHORT", "UINT", "INT", "ULONG", "LONG", "ENUM"}


def tops_of(unit, program):
    return [top for top in program.tops if top.unit is unit]


def pragmas_of(top, directive):
    """Options of the pragmas of a top, each with its line."""
    return [(pragma.line, dict(form_of(pragma)[1])) for pragma in top.unit.pragmas
            if pragma.directive == directive and pragma.owner is top.node]


def statements(top):
    return top.node.body.children


def streams(top):
    """Declarations of streams by name."""
    return {node.name: node for statement in statements(top) if statement.kind == "DECL_STMT"
            for node in statement.children if node.kind == "VAR_DECL" and STREAM_TYPE.search(node.text)}


def stages(top):
    """The calls of a top, in order: (line, name of the stage, texts of the arguments)."""
    return [(node.line, node.name, [argument.text for argument in node.children[1:]])
            for node in statements(top) if node.kind == "CALL_EXPR"]


def elements_of(name, node):
    """A stream's own name, or those of an array's streams."""
    kind_of = node.type
    return [f"{name}[{i}]" for i in range(kind_of.element_count)] if kind_of.kind.name == "CONSTANTARRAY" else [name]


def is_pointer(parameter):
    return parameter.type.kind.name == "POINTER"


@rule("top-declared", "a .cpp defines kernels, each declared in kernels.hpp with C linkage; a header defines none")
def top_declared(unit, program):
    declared = program.units.get("kernels.hpp")
    names = {node.name for node in declared.find("FUNCTION_DECL")} if declared else set()
    for function in program.functions_of(unit):
        if unit.is_header and function.is_top:
            yield function.node.line, f"{function.name} has C linkage: a kernel is defined in a .cpp of its name"
        elif not unit.is_header and (not function.is_top or function.name not in names):
            yield function.node.line, f"{function.name} is not declared in kernels.hpp: stages belong into headers"
        elif not unit.is_header and f"{function.name}.cpp" != unit.name:
            yield function.node.line, f"{function.name} stands in {unit.name}: a kernel has a .cpp of its name"


@rule("top-content", "a top declares streams and calls stages with plain names: no arithmetic, no loops")
def top_content(unit, program):
    for top in tops_of(unit, program):
        for node in statements(top):
            if node.kind == "DECL_STMT":
                for child in node.children:
                    if child.name not in streams(top):
                        yield child.line, f"{child.text}: a top declares streams only"
            elif node.kind == "CALL_EXPR":
                yield from faults_of_call(node, program)
            else:
                yield node.line, f"{node.text.splitlines()[0]}: a top only declares streams and calls stages"


def faults_of_call(node, program):
    found = program.functions.get(node.name, [])
    if not found:
        yield node.line, f"{node.name} is no stage of these sources"
    for function in found:
        if function.node.cursor.result_type.spelling != "void":
            yield node.line, f"{node.name} returns a value: a stage hands on through streams"
        if function.is_inlined:
            yield node.line, f"{node.name} is INLINE, so it would not be a process of the dataflow"
    for argument in node.children[1:]:
        if not re.fullmatch(r"\w+(\[\d+\])?", argument.text):
            yield argument.line, f"{argument.text}: a top passes names and numbers only; compute in the stage"


@rule("top-dataflow", "a top has DATAFLOW")
def top_dataflow(unit, program):
    for top in tops_of(unit, program):
        if len(pragmas_of(top, "DATAFLOW")) != 1:
            yield top.node.line, f"{top.name} needs #pragma HLS DATAFLOW once, or its stages run one after the other"


@rule("port-interface", "every pointer of a top is m_axi; every scalar, and return, s_axilite")
def port_interface(unit, program):
    for top in tops_of(unit, program):
        wanted = {node.name: "m_axi" if is_pointer(node) else "s_axilite" for node in top.parameters}
        wanted["return"] = "s_axilite"
        given = {}
        for line, options in pragmas_of(top, "INTERFACE"):
            port = options.get("port")
            if port not in wanted:
                yield line, f"{port} is no argument of {top.name}"
            elif options.get("mode") != wanted[port] and wanted[port] == "s_axilite":
                yield line, f"{port} is {options.get('mode')}, but should be {wanted[port]}"
            given.setdefault(port, set()).add(options.get("mode"))
        for port, mode in wanted.items():
            if mode not in given.get(port, ()):
                yield top.node.line, f"{port} of {top.name} has no INTERFACE {mode}"


@rule("port-bundle", "every pointer has a bundle of its own, so that no stage waits for another's transfers")
def port_bundle(unit, program):
    for top in tops_of(unit, program):
        seen = {}
        for line, options in pragmas_of(top, "INTERFACE"):
            bundle = options.get("bundle")
            if options.get("mode") == "m_axi" and bundle in seen:
                yield line, f"bundle {bundle} is also that of {seen[bundle]}"
            seen.setdefault(bundle, options.get("port"))


@rule("port-width", f"elements of a port are plain, without gaps, and a power of two of bytes, at most {WIDEST}")
def port_width(unit, program):
    for top in tops_of(unit, program):
        for node in top.parameters:
            element = node.type.get_pointee() if is_pointer(node) else node.type
            size = element.get_size()
            if size < 1 or size & (size - 1) or size > WIDEST:
                yield node.line, f"{node.name}: elements of {size} bytes; fill up to a power of two, at most {WIDEST}"
            elif fault_of_element(element):
                yield node.line, f"{node.name}: {fault_of_element(element)}"
            elif filled_bytes(element) != size:
                yield node.line, f"{node.name}: {size - filled_bytes(element)} bytes are padding; give them a name"
            elif not is_pointer(node) and element.get_canonical().kind.name not in INTEGERS:
                yield node.line, f"{node.name}: a register holds an integer; pass the members one by one"


def filled_bytes(kind_of):
    """Bytes of a plain type that belong to a member."""
    kind_of = kind_of.get_canonical()
    if kind_of.kind.name == "CONSTANTARRAY":
        return kind_of.element_count * filled_bytes(kind_of.element_type)
    if kind_of.kind.name == "RECORD":
        return sum(filled_bytes(field.type) for field in kind_of.get_fields())
    return kind_of.get_size()


@rule("port-burst", f"a burst has at most {LONGEST_BURST} transfers and {BURST_BYTES} bytes, as AXI4 demands")
def port_burst(unit, program):
    for top in tops_of(unit, program):
        sizes = {node.name: node.type.get_pointee().get_size() for node in filter(is_pointer, top.parameters)}
        for line, options in pragmas_of(top, "INTERFACE"):
            for name in ("max_read_burst_length", "max_write_burst_length"):
                length = int(options[name]) if (options.get(name) or "").isdigit() else 0
                if length > LONGEST_BURST or length * sizes.get(options.get("port"), 0) > BURST_BYTES:
                    yield line, f"{name}: {length} transfers are more than {LONGEST_BURST}, or than {BURST_BYTES} bytes"


@rule("port-stage", "a port is used by one stage")
def port_stage(unit, program):
    for top in tops_of(unit, program):
        for node in filter(is_pointer, top.parameters):
            users = [name for _, name, arguments in stages(top) for argument in arguments if argument == node.name]
            if len(users) != 1:
                yield node.line, f"{node.name} is used by {len(users)} stages ({', '.join(users)}), not by one"


def fault_of_element(kind_of):
    """Why a type cannot travel through a FIFO or port; None if it can: integers, arrays and plain structs of such."""
    kind_of = kind_of.get_canonical()
    kind = kind_of.kind.name
    if kind in INTEGERS:
        return None
    if kind == "CONSTANTARRAY":
        return fault_of_element(kind_of.element_type)
    if kind != "RECORD":
        return f"{kind_of.spelling} is no integer and no struct of integers"
    if not kind_of.is_pod():
        return f"{kind_of.spelling} is not plain: no default values, no constructors, no functions"
    return next(filter(None, (fault_of_element(field.type) for field in kind_of.get_fields())), None)


@rule("stream-element", "elements of streams are integers and plain structs of such")
def stream_element(unit, program):
    for top in tops_of(unit, program):
        for node in streams(top).values():
            kind_of = node.type.element_type.get_canonical() if len(elements_of("", node)) > 1 else node.type
            fault = fault_of_element(kind_of.get_template_argument_type(0))
            if fault:
                yield node.line, f"{node.name}: {fault}"


@rule("stream-depth", "every stream has a depth, which is a named constant")
def stream_depth(unit, program):
    for top in tops_of(unit, program):
        depths = {options.get("variable"): (line, options.get("depth")) for line, options in pragmas_of(top, "STREAM")}
        for name, node in streams(top).items():
            line, depth = depths.get(name, (node.line, None))
            if depth is None:
                yield line, f"{name} has no #pragma HLS STREAM with a depth"
            elif not CONSTANT.fullmatch(depth):
                yield line, f"{name}: depth {depth} is no named constant; name it in depths.hpp and say why"


@rule("depth-reason", "the constant of a depth has its reason beside it")
def depth_reason(unit, program):
    depths = {options.get("depth") for top in program.tops for _, options in pragmas_of(top, "STREAM")}
    for node in unit.find("VAR_DECL"):
        declaration = unit.lines[node.line - 1:node.end_line]
        if node.name in depths and not any("//" in line for line in declaration):
            yield node.line, f"{node.name}: a comment beside it says why the FIFO is so deep"


@rule("stream-name", "a stream bears its variable's name, by which a simulation names it; those of an array have none")
def stream_name(unit, program):
    for top in tops_of(unit, program):
        for name, node in streams(top).items():
            if len(elements_of(name, node)) == 1 and unit.text[node.start:node.end].rstrip()[-len(name) - 4:] != f'("{name}")':
                yield node.line, f'{name}: declare it as {name}("{name}")'


@rule("stream-ends", "a stream is written by one stage and read by one other, in this order")
def stream_ends(unit, program):
    for top in tops_of(unit, program):
        for name, node in streams(top).items():
            for element in elements_of(name, node):
                yield from faults_of_ends(top, program, name, element, node.line)


def faults_of_ends(top, program, name, element, line):
    """`element`: the stream itself, or one of the array `name`, which a stage may also take whole."""
    ends = {"read": [], "write": []}
    for position, (_, stage, arguments) in enumerate(stages(top)):
        for index, argument in enumerate(arguments):
            if argument in (name, element):
                for use in program.uses_of_stream(stage, index) & set(ends):
                    ends[use].append((position, stage))
    for use, found in ends.items():
        if len(found) != 1:
            names = ", ".join(stage for _, stage in found) or "none"
            yield line, f"{element}: {len(found)} stages {use} it ({names}); exactly one does"
    if len(ends["read"]) == len(ends["write"]) == 1 and ends["read"][0][0] <= ends["write"][0][0]:
        yield line, f"{element} is read before it is written: stages are called in the order of the data"


@rule("stream-index", "of an array of streams one is chosen by the counter of an unrolled loop: a FIFO has fixed ends")
def stream_index(unit, program):
    for function in program.functions_of(unit):
        arrays = {node.name for node in function.parameters if STREAM_TYPE.search(node.text) and "[" in node.text}
        for node in function.node.body.find("ARRAY_SUBSCRIPT_EXPR"):
            if len(node.children) == 2 and node.children[0].text in arrays:
                counters = {counter.name for loop in node.ancestors() if loop.kind in LOOPS and has(loop, "UNROLL", unit)
                            for counter in counters_of(loop)}
                if not is_constant(node.children[1], program, counters):
                    yield node.line, f"{node.text}: compare with the counter of an unrolled loop over the streams"


@rule("stream-use", "stages use streams by blocking read() and write() only, and only as arguments by reference")
def stream_use(unit, program):
    for function in program.functions_of(unit):
        names = {node.name: node for node in function.parameters if STREAM_TYPE.search(node.text)}
        for name, node in names.items():
            if node.cursor.type.kind.name != "LVALUEREFERENCE" or node.text.startswith("const"):
                yield node.line, f"{name}: pass a stream by reference"
        for call in function.calls:
            if call.object in names and call.name not in ("read", "write"):
                yield call.node.line, f"{call.object}.{call.name}: what a kernel computes must not depend on time"
        if not function.is_top:
            for node in function.node.body.find("VAR_DECL"):
                if STREAM_TYPE.search(node.text) or "hls::stream" in node.type.spelling:
                    yield node.line, f"{node.name}: streams are declared in tops"
    for node in unit.find("FIELD_DECL"):
        if STREAM_TYPE.search(node.text):
            yield node.line, f"{node.name}: streams are declared in tops"
