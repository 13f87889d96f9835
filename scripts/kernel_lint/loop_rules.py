"""Rules for loops: each has a name, and one is either pipelined, or unrolled, or around others."""

from .code_rules import is_constant
from .program import STREAM_TYPE, calls_of
from .rules import rule
from .tree import FUNCTIONS, LOOPS


def has(loop, directive, unit):
    return any(pragma.directive == directive and pragma.owner is loop for pragma in unit.pragmas)


def loops_of(unit, program):
    """Loops of functions that hardware is made of: a constexpr function is evaluated by the compiler."""
    constexpr = {function.node for function in program.functions_of(unit) if function.is_constexpr}
    return [loop for loop in unit.find(*LOOPS) if loop.inside(FUNCTIONS) not in constexpr]


@rule("loop-label", "every loop has a label, by which reports name it")
def loop_label(unit, program):
    for loop in loops_of(unit, program):
        if loop.parent.kind != "LABEL_STMT":
            yield loop.line, "loop without a label: reports of synthesis name loops by their labels"


@rule("range-for", "loops count")
def range_for(unit, program):
    for loop in unit.find("CXX_FOR_RANGE_STMT"):
        yield loop.line, "loop over a range: count, so that the bound is visible"


@rule("loop-directive", "an innermost loop is pipelined or unrolled, and not both")
def loop_directive(unit, program):
    for loop in loops_of(unit, program):
        directives = [name for name in ("PIPELINE", "UNROLL") if has(loop, name, unit)]
        if len(directives) == 2:
            yield loop.line, "both PIPELINE and UNROLL: an unrolled loop has no iterations to pipeline"
        elif not directives and not any(inner for inner in loop.body.find(*LOOPS) if not has(inner, "UNROLL", unit)):
            yield loop.line, "neither PIPELINE nor UNROLL: say how the innermost loop becomes hardware"


@rule("pipeline-nest", "inside a pipelined loop every loop is unrolled")
def pipeline_nest(unit, program):
    for loop in loops_of(unit, program):
        if has(loop, "PIPELINE", unit):
            for inner in loop.body.find(*LOOPS):
                if not has(inner, "UNROLL", unit):
                    yield inner.line, "loop inside a pipelined one without UNROLL"
    for function in program.functions_of(unit):
        if function.is_inlined:
            for loop in function.node.body.find(*LOOPS):
                if not has(loop, "UNROLL", unit):
                    yield loop.line, f"loop of {function.name} without UNROLL: INLINE makes it part of a pipelined loop"


@rule("pipeline-call", "what a pipelined loop calls is INLINE, down to the last function")
def pipeline_call(unit, program):
    inlined = {function.node for function in program.functions_of(unit) if function.is_inlined}
    bodies = [loop.body for loop in unit.find(*LOOPS) if has(loop, "PIPELINE", unit)] + [node.body for node in inlined]
    for body in bodies:
        for call in calls_of(body):
            for function in program.functions.get(call.name, []):
                simple = function.is_constexpr and (not function.node.find(*LOOPS) or is_constant(call.node, program))
                if not function.is_inlined and not simple:
                    yield call.node.line, f"{call.name} is called in a pipelined loop and does not begin with INLINE"


@rule("helper-inline", "a function is a stage (it has streams or memory), or constexpr, or begins with INLINE")
def helper_inline(unit, program):
    for function in program.functions_of(unit):
        parameters = function.parameters
        is_stage = any(node.type.kind.name == "POINTER" or STREAM_TYPE.search(node.text) for node in parameters)
        if not (is_stage or function.is_top or function.is_constexpr or function.is_inlined):
            yield function.node.line, f"{function.name} has no streams and no INLINE: it would be a module of its own"


@rule("unknown-call", "only functions of these sources are called")
def unknown_call(unit, program):
    for function in program.functions_of(unit):
        for call in function.calls:
            if call.name not in program.functions and not (call.is_member and call.name in ("read", "write")):
                yield call.node.line, f"{call.name} has no body in these sources"


def counters_of(loop):
    """Variables that the loop's first clause declares."""
    return [node for node in loop.children[0].find("VAR_DECL")] if loop.kind == "FOR_STMT" else []


@rule("unroll-bound", "an unrolled loop has constant bounds")
def unroll_bound(unit, program):
    for loop in unit.find(*LOOPS):
        if not has(loop, "UNROLL", unit):
            continue
        counters = counters_of(loop)
        outer = {node.name for other in loop.ancestors() if other.kind in LOOPS and has(other, "UNROLL", unit)
                 for node in counters_of(other)}
        tests = [node for node in loop.children if node.operator in ("<", "<=", ">", ">=", "!=")]
        bounds = [side for test in tests for side in test.children if side.text not in {node.name for node in counters}]
        starts = [node.children[-1] for node in counters if node.children]
        if len(counters) != 1 or len(bounds) != 1 or \
                not all(is_constant(node, program, outer) for node in bounds + starts):
            yield loop.line, "unrolled, but its count is not a constant: compare the counter with a constant"
