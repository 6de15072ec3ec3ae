"""Compilation of kernels, and the cache of their machine code."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.runtime import rtsys

from refinery.kernels.core.cache import CACHE

_PACKAGE = "refinery.kernels."


class _KernelPlace:
    """Folder of a kernel's machine code: one for all installations of the same sources, wherever they are.

    Numba takes the path of the source file, so every virtual environment would compile anew.
    """

    def __init__(self, module: str, line: int) -> None:
        self._folder = CACHE / "numba" / numba.__version__ / module.removeprefix(_PACKAGE)
        self._line = line

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """Nothing: the name of CACHE has a digest of all sources."""
        return ""

    def get_disambiguator(self) -> str:
        """The line of the function."""
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], _: str) -> "_KernelPlace | None":
        """The place of a kernel of this package; None for a function of another file, whose changes numba follows."""
        ours = function.__module__.startswith(_PACKAGE)
        return cls(function.__module__, function.__code__.co_firstlineno) if ours else None


class _KernelFiles(CompileResultCacheImpl):
    _locator_classes = [_KernelPlace, *CompileResultCacheImpl._locator_classes]


class KernelCache(FunctionCache):
    """Numba's cache, without loading what only compiling needs.

    Numba fills its tables of all functions that it can compile before it loads a cached kernel: half a second of a
    start, for nothing. Compiling fills them by itself.
    """

    _impl_class = _KernelFiles

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
