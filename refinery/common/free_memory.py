"""Memory that the process has freed and its allocators keep: fewer places to keep it in, and its return to the system.

The C library of GNU has up to eight arenas for each core, and each keeps tens of megabytes of freed memory, also after its threads
have ended. Other C libraries have no such settings, and nothing is done.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

import pyarrow as pa

# Of mallopt(3), and of the environment, which goes before.
_ARENA_MAX, _ARENAS_ASKED = -8, "MALLOC_ARENA_MAX"


def share_arenas(count: int) -> None:
    """Limit the arenas of this process to `count`, before threads have made more."""
    if _ARENAS_ASKED not in os.environ:
        _call("mallopt", _ARENA_MAX, count)


def use_one_allocator() -> None:
    """Let Arrow allocate from the C library, too; its own allocator keeps freed memory for threads that have ended."""
    if "ARROW_DEFAULT_MEMORY_POOL" not in os.environ:
        pa.set_memory_pool(pa.system_memory_pool())


def release() -> None:
    """Give freed memory back to the system."""
    pa.default_memory_pool().release_unused()
    _call("malloc_trim", 0)


def _call(function: str, *arguments: int) -> None:
    """Call a function of the C library, if it has it."""
    with suppress(OSError, AttributeError, TypeError):
        getattr(ctypes.CDLL(None), function)(*map(ctypes.c_int, arguments))
