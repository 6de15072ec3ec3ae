"""Memory that the process has freed and its allocators keep: fewer places to keep it in, and its return to the system.

The C library of GNU has up to eight arenas for each core, and each keeps tens of megabytes of freed memory, also after its threads
have ended. Other C libraries have no such settings, and nothing is done.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

import pyarrow as pa

# Parameters of mallopt(3), each with its variable of the environment, which goes before.
_ARENA_MAX = -8, "MALLOC_ARENA_MAX"
_MMAP_THRESHOLD, _TRIM_THRESHOLD = (-3, "MALLOC_MMAP_THRESHOLD_"), (-1, "MALLOC_TRIM_THRESHOLD_")
# Bytes that are returned at once when they are freed. Smaller ones cost time for new pages, a fifth of that of reading with 4 MB.
_RETURNED = 16 << 20


def share_arenas(count: int) -> None:
    """Limit the arenas of this process to `count`, before threads have made more."""
    _set(_ARENA_MAX, count)


def keep_little() -> None:
    """Have allocators keep less freed memory.

    Arrow allocates from the C library, too: its own allocator keeps memory for threads that have ended. The C library returns large
    pieces at once; by default it keeps ever larger ones.
    """
    _set(_MMAP_THRESHOLD, _RETURNED)
    _set(_TRIM_THRESHOLD, _RETURNED)
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())


def release() -> None:
    """Give freed memory back to the system."""
    pa.default_memory_pool().release_unused()
    _call("malloc_trim", 0)


def _set(parameter: tuple[int, str], value: int) -> None:
    number, variable = parameter
    if variable not in os.environ:
        _call("mallopt", number, value)


def _call(function: str, *arguments: int) -> None:
    """Call a function of the C library, if it has it."""
    with suppress(OSError, AttributeError, TypeError):
        getattr(ctypes.CDLL(None), function)(*map(ctypes.c_int, arguments))
