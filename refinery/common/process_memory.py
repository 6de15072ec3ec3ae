"""Memory of this process: what the C library keeps of it, and when Python collects garbage."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

# Options of malloc.h: return memory above 1 GB only, request 64 MB at once, map blocks from 32 MB on.
_MALLOPT = {-1: 1 << 30, -2: 64 << 20, -3: 32 << 20}

# Thresholds of Python's garbage collection, in new objects: while a command starts, and while stages run.
_DEFERRED, _STARTED = 1_000_000, 100_000


def defer_collection() -> None:
    """Collect no garbage while a command starts: its objects live to the end, and searching them took 30 ms of a run."""
    gc.set_threshold(_DEFERRED)


def start_collection() -> None:
    """Collect garbage among the objects made from now on. No effect in a process that has not deferred collection."""
    if gc.get_threshold()[0] == _DEFERRED:
        gc.freeze()
        gc.set_threshold(_STARTED)


def keep_memory() -> None:
    """Let the C library keep freed memory of batches for the next ones; only for processes that are refinery's alone.

    By default glibc unmaps the memory of every batch: a third of the system time of a run goes into pages that the kernel
    has to clear again. Each thread has an arena of its own: in a shared one, the blocks of other threads lie behind a
    buffer that grows, and it is copied, which takes a run of five mappers a twentieth longer. Other C libraries are left
    alone.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    for parameter, value in _MALLOPT.items():
        mallopt(parameter, value)


def give_back() -> None:
    """Return freed memory to the system, after the last batch."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
