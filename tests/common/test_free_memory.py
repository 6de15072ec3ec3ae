"""Arenas of the C library, and the allocator of Arrow, in processes of their own: settings of a process last."""

import os
import platform
import subprocess
import sys

import pytest

from refinery.common.free_memory import release

of_gnu = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of the GNU C library")

ARENAS = """
import ctypes, threading
from refinery.common.free_memory import share_arenas
share_arenas(2)
library, all_there = ctypes.CDLL(None), threading.Barrier(6)
library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
def use():
    library.malloc(100_000)
    all_there.wait()
threads = [threading.Thread(target=use) for _ in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
library.malloc_stats()
"""

LARGE = """
import ctypes
library = ctypes.CDLL(None)
library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.free.argtypes = [ctypes.c_void_p]
library.free(library.malloc(30 << 20))  # from now on, the default would be to keep pieces of this size
place = library.malloc(20 << 20)
print(place % 4096 == 16)
"""

POOL = """
import pyarrow as pa
from refinery.common.free_memory import keep_little
keep_little()
print(pa.default_memory_pool().backend_name)
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "ARROW_"))}
    return subprocess.run(
        [sys.executable, "-c", code], env=own | environment, capture_output=True, text=True, check=True
    )


@of_gnu
def test_threads_share_arenas() -> None:
    assert run(ARENAS).stderr.count("Arena ") == 2
    assert run(ARENAS, MALLOC_ARENA_MAX="4").stderr.count("Arena ") == 4, "the user's own setting goes before"


def test_arrow_allocates_as_all_others_do() -> None:
    assert run(POOL).stdout == "system\n"
    assert run(POOL, ARROW_DEFAULT_MEMORY_POOL="mimalloc").stdout in ("mimalloc\n", "system\n")


@of_gnu
def test_large_pieces_are_mapped_by_themselves_also_after_larger_ones() -> None:
    assert run(POOL + LARGE).stdout.split() == ["system", "True"]


def test_freed_memory_is_given_back_again_and_again() -> None:
    release()
    release()
