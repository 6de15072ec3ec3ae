"""Types of kernels and instructions for numba, by its registry of types.

numba calls `register` itself where it is imported beside refinery (entry point `numba_extensions`), so that kernels of
users can call those of refinery.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
from numba.core.registry import cpu_target
from numba.extending import intrinsic, typeof_impl

from refinery.kernels.core.jit import Instruction, Kernel

# A helper is called by kernels alone, so it needs no way in from Python or C.
_HELPER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@cache
def register() -> None:
    """Teach numba the types of kernels and instructions, once."""
    typeof_impl.register(Kernel)(lambda kernel, context: numba.typeof(compiled(kernel)))
    typeof_impl.register(Instruction)(lambda instruction, context: _known(instruction))


@cache
def compiled(kernel: Kernel) -> Any:
    """numba's view of a kernel."""
    njit: Any = numba.njit
    return njit(nogil=True, error_model="numpy", **_HELPER, **kernel.options)(kernel.py_func)


@cache
def _known(instruction: Instruction) -> Any:
    """numba's type of an instruction's function."""
    function = intrinsic(instruction.llvm())
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context.resolve_value_type(function)
