"""Arenas of the C library, and the allocator of Arrow, in processes of their own: settings of a process last."""

import os
import subprocess
import sys

import pytest

from refinery.common.free_memory import release

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

POOL = """
import pyarrow as pa
from refinery.common.free_memory import use_one_allocator
use_one_allocator()
print(pa.default_memory_pool().backend_name)
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    names = ("MALLOC_ARENA_MAX", "ARROW_DEFAULT_MEMORY_POOL")
    own = {name: value for name, value in os.environ.items() if name not in names}
    return subprocess.run(
        [sys.executable, "-c", code], env=own | environment, capture_output=True, text=True, check=True
    )


@pytest.mark.skipif(sys.platform != "linux" or os.confstr("CS_GNU_LIBC_VERSION") is None, reason="of the GNU C library")
def test_threads_share_arenas() -> None:
    assert run(ARENAS).stderr.count("Arena ") == 2
    assert run(ARENAS, MALLOC_ARENA_MAX="4").stderr.count("Arena ") == 4, "the user's own setting goes before"


def test_arrow_allocates_as_all_others_do() -> None:
    assert run(POOL).stdout == "system\n"
    assert run(POOL, ARROW_DEFAULT_MEMORY_POOL="mimalloc").stdout in ("mimalloc\n", "system\n")


def test_freed_memory_is_given_back_again_and_again() -> None:
    release()
    release()
