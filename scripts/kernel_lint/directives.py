"""The pragmas that kernels use: options, what values they take, and where the pragma stands.

Names and values follow the vendor's user guide UG1399. A directive that is not here is refused; when a kernel needs
another one, it is added here with its form.
"""

import typing

COUNT = "a positive integer or a constant"
NUMBER = "an integer or a constant, at least 0"
VARIABLE = "a variable of the scope"
PORT = "an argument of the function, or return"
NAME = "a name"
FLAG = "no value"


def said(takes):
    return f"one of {', '.join(sorted(takes))}" if isinstance(takes, set) else takes


# Where a pragma stands: on the first lines of the braces of a loop, of a function, of a top; after a declaration.
LOOP, FUNCTION, TOP, DECLARATION = "loop", "function", "top", "declaration"


class Form(typing.NamedTuple):
    places: tuple
    required: dict
    optional: dict
    # Words that may stand without their option's name, as in `inter` for `type=inter`.
    short: dict = {}

    def option(self, name):
        return self.required.get(name) or self.optional.get(name)


FORMS = {
    "PIPELINE": Form((LOOP,), {"II": COUNT}, {"style": {"stp", "flp", "frp"}, "rewind": FLAG}),
    "UNROLL": Form((LOOP,), {}, {}),
    "LOOP_TRIPCOUNT": Form((LOOP,), {"min": NUMBER, "max": NUMBER}, {"avg": NUMBER}),
    "LOOP_FLATTEN": Form((LOOP,), {}, {"off": FLAG}),
    "INLINE": Form((FUNCTION,), {}, {"off": FLAG}),
    "DATAFLOW": Form((TOP,), {}, {}),
    "STREAM": Form((DECLARATION,), {"variable": VARIABLE, "depth": COUNT}, {}),
    "ARRAY_PARTITION": Form(
        (DECLARATION,), {"variable": VARIABLE, "type": {"complete", "cyclic", "block"}, "dim": NUMBER},
        {"factor": COUNT}, {word: "type" for word in ("complete", "cyclic", "block")}),
    "ARRAY_RESHAPE": Form(
        (DECLARATION,), {"variable": VARIABLE, "type": {"complete", "cyclic", "block"}, "dim": NUMBER},
        {"factor": COUNT}, {word: "type" for word in ("complete", "cyclic", "block")}),
    "AGGREGATE": Form((DECLARATION,), {"variable": VARIABLE}, {"compact": {"bit", "byte", "none", "auto"}}),
    "DISAGGREGATE": Form((DECLARATION,), {"variable": VARIABLE}, {}),
    "BIND_STORAGE": Form(
        (DECLARATION,),
        {"variable": VARIABLE, "type": {"ram_1p", "ram_1wnr", "ram_2p", "ram_s2p", "ram_t2p", "rom_1p", "rom_2p"},
         "impl": {"bram", "uram", "lutram"}},
        {"latency": COUNT}),
    "DEPENDENCE": Form(
        (LOOP, DECLARATION), {"variable": VARIABLE, "type": {"inter", "intra"}, "dependent": {"true", "false"}},
        {"direction": {"RAW", "WAR", "WAW"}, "distance": COUNT},
        {"inter": "type", "intra": "type", "true": "dependent", "false": "dependent", "RAW": "direction",
         "WAR": "direction", "WAW": "direction"}),
}

MODES = {"m_axi": "mode", "s_axilite": "mode"}
TRANSFERS = ("depth", "latency", "num_read_outstanding", "num_write_outstanding", "max_read_burst_length",
             "max_write_burst_length", "max_widen_bitwidth")
INTERFACES = {
    "m_axi": Form((TOP,), {"mode": {"m_axi"}, "port": PORT, "bundle": NAME},
                  {"offset": {"slave"}, **{name: COUNT for name in TRANSFERS}}, MODES),
    "s_axilite": Form((TOP,), {"mode": {"s_axilite"}, "port": PORT}, {"bundle": NAME}, MODES),
}

# Memories of the device that cannot do what a type asks for.
IMPOSSIBLE_STORAGE = {("ram_t2p", "lutram"), ("rom_1p", "uram"), ("rom_2p", "uram")}


def form_of(pragma):
    """The form of a pragma with its options, each under its full name; None if there is none such."""
    if pragma.directive == "INTERFACE":
        mode = next((value or name for name, value in pragma.options if (value or name) in INTERFACES), None)
        form = INTERFACES.get(mode)
    else:
        form = FORMS.get(pragma.directive)
    if form is None:
        return None, []
    return form, [(form.short[name], name) if value is None and name in form.short else (name, value)
                  for name, value in pragma.options]
