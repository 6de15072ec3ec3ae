"""Compilation of kernels, and the cache of their machine code."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys


class KernelCache(FunctionCache):
    """Numba's cache, without loading what only compiling needs.

    Numba fills its tables of all functions that it can compile before it loads a cached kernel: half a second of a
    start, for nothing. Compiling fills them by itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel of a signature, or None."""
        rtsys.initialize(target_context)  # the memory functions that machine code refers to
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a kernel that may allocate memory. options: of `numba.njit`, besides `nogil` and `cache`."""
    return partial(_compiled, options)


def _compiled(options: dict[str, Any], function: Callable[..., Any]) -> Any:
    dispatcher: Any = numba.njit(nogil=True, cache=True, **options)(function)
    dispatcher._cache = KernelCache(function)
    return dispatcher


# Without numba's reference counts: a kernel only borrows its array arguments, and atomic counting at every call of a
# helper costs more than most helpers. Such a kernel cannot allocate.
kernel = njit(_nrt=False)

# The same for a helper in the innermost loop: a call passes seven numbers per array, so it is inlined.
inlined = njit(_nrt=False, forceinline=True)
