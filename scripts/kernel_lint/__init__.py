"""Says what of the kernels' sources an HLS compiler would refuse, or would turn into other hardware than meant.

`load` reads a folder (tree, program), `check` applies the rules, `compile_all` asks the compilers.
"""

from . import code_rules, loop_rules, pragma_rules, text_rules, top_rules  # noqa: F401 (they register their rules)
from .compilers import COMMANDS as COMPILERS
from .compilers import compile_all, compile_file
from .program import Program, load
from .rules import SENTENCES, Finding, check
from .tree import Unit

__all__ = ["COMPILERS", "Finding", "Program", "SENTENCES", "Unit", "check", "compile_all", "compile_file", "load"]
