"""All files together: which functions there are, what they call, which streams they read and write."""

import pathlib
import re

from .tree import CONSTANT, FUNCTIONS, Unit

STREAM_TYPE = re.compile(r"\bstream\s*<")


class Call:
    """`object` is the variable whose member is called, "" of a plain function."""

    def __init__(self, node):
        self.node = node
        self.name = node.name
        first = node.children[0] if node.children else None
        self.is_member = bool(first) and first.kind == "MEMBER_REF_EXPR"
        self.object = next((n.name for n in first.find("DECL_REF_EXPR")), "") if self.is_member else ""
        self.arguments = node.children[1:]


def calls_of(node):
    return [Call(call) for call in node.find("CALL_EXPR") if call.name]


class Function:
    def __init__(self, node, unit):
        self.node = node
        self.unit = unit
        self.name = node.name
        self.parameters = [child for child in node.children if child.kind == "PARM_DECL"]
        head = node.text[:node.body.start - node.start]
        self.is_constexpr = re.search(r"\bconstexpr\b", head) is not None
        self.is_inlined = any(p.directive == "INLINE" and p.owner is node and not p.options for p in unit.pragmas)
        self.calls = calls_of(node.body)
        self.is_top = node.kind == "FUNCTION_DECL" and node.cursor.mangled_name == node.name

    def is_stream(self, index):
        return index < len(self.parameters) and bool(STREAM_TYPE.search(self.parameters[index].text))


class Program:
    def __init__(self, units):
        self.units = {unit.name: unit for unit in units}
        self.functions = {}
        for unit in units:
            for node in unit.functions:
                self.functions.setdefault(node.name, []).append(Function(node, unit))
        self.tops = [f for found in self.functions.values() for f in found if f.is_top]

    def functions_of(self, unit):
        return [f for found in self.functions.values() for f in found if f.unit is unit]

    def visible_units(self, unit, seen=None):
        """The unit and what it includes, directly or not."""
        seen = {} if seen is None else seen
        if unit.name not in seen:
            seen[unit.name] = unit
            for name in unit.includes:
                if name in self.units:
                    self.visible_units(self.units[name], seen)
        return list(seen.values())

    def constants(self, unit):
        """Names of the constants of namespaces that the unit sees."""
        return {node.name for other in self.visible_units(unit) for node in other.find("VAR_DECL")
                if CONSTANT.fullmatch(node.name) and not node.inside(FUNCTIONS)}

    def reachable(self, names):
        """Functions of these names and all that they call."""
        found, waiting = set(), list(names)
        while waiting:
            name = waiting.pop()
            if name not in found and name in self.functions:
                found.add(name)
                waiting += [call.name for f in self.functions[name] for call in f.calls]
        return found

    def uses_of_stream(self, name, index, seen=()):
        """Whether a function, or what it passes the stream to, reads ("read") or writes ("write") that parameter."""
        uses = set()
        for function in self.functions.get(name, []):
            if not function.is_stream(index) or function.node in seen:
                continue
            parameter = function.parameters[index].name
            for call in function.calls:
                if call.is_member and call.object == parameter:
                    uses.add(call.name)
                for position, argument in enumerate(call.arguments):
                    if argument.text == parameter:
                        uses |= self.uses_of_stream(call.name, position, (*seen, function.node))
        return uses


def load(folder):
    """The sources of a folder."""
    return Program([Unit(path) for path in sorted(pathlib.Path(folder).glob("*.[ch]pp"))])
