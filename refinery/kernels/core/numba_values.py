"""Variables that are values, for a process that only compiles kernels.

numba keeps each variable that more than one block uses in memory, filled with zeros first: a third of all instructions
that LLVM gets for a kernel, and its first passes have to take them away again. A variable with one assignment, on every
way to its uses, is the value itself here.
"""

from collections import defaultdict
from typing import Any

from numba.core import ir, types
from numba.core.analysis import compute_cfg_from_blocks, must_use_alloca
from numba.core.imputils import Registry
from numba.core.lowering import Lower

_registry = Registry("values of kernels")


def take(context: Any) -> None:
    """Make numba compile variables so, for good. context: numba's, for this processor."""
    changed: Any = Lower
    changed._find_singly_assigned_variable = _find_values
    context.install_registry(_registry)


_numba_values = Lower._find_singly_assigned_variable


def _find_values(self: Any) -> None:
    code = self.func_ir
    if code.func_id.is_generator:
        _numba_values(self)
        return
    self._singly_assigned_vars = _values(code.blocks) - must_use_alloca(code.blocks)
    self._blk_local_varmap = {}


def _values(blocks: dict[int, Any]) -> set[str]:
    """Names of the variables with one assignment, in a block that comes before all that use them."""
    places, users = _uses(blocks)
    once = {name: labels[0] for name, labels in places.items() if len(labels) == 1}
    before = compute_cfg_from_blocks(blocks).dominators() if users else {}
    return {
        name
        for name, place in once.items()
        # Blocks are lowered in the order of their labels.
        if all(place < label and place in before[label] for label in users.get(name, ()))
    }


def _uses(blocks: dict[int, Any]) -> tuple[dict[str, list[int]], dict[str, set[int]]]:
    """For each variable the block of each assignment, and the blocks that use it without or before one of their own."""
    places: dict[str, list[int]] = defaultdict(list)
    users: dict[str, set[int]] = defaultdict(set)
    for label, block in blocks.items():
        own: set[str] = set()
        for one in block.body:
            used = one.value if isinstance(one, ir.Assign) else one
            for variable in [used] if type(used) is ir.Var else used.list_vars() if isinstance(used, ir.Inst) else ():
                if variable.name not in own:
                    users[variable.name].add(label)
            if isinstance(one, ir.Assign):
                own.add(one.target.name)
                places[one.target.name].append(label)
    return places, users


@_registry.lower_constant(types.Dispatcher)
def _function(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A function that is called by its name needs no address of numba's object."""
    return context.get_value_type(kind)(None)
