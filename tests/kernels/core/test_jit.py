"""The cache of kernels: machine code is loaded without numba's tables of functions, which only compiling needs."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import refinery
from refinery import kernels

_RUN = """
import numpy as np
from refinery import kernels

data, ends = np.frombuffer(bytearray(b"a\\nbc\\n"), np.uint8), np.zeros(4, np.int64)
assert kernels.text.lines.line_ends(data, 0, 5, ends) == 2 and ends[:2].tolist() == [2, 5]

from numba import njit
from numba.core.registry import cpu_target

tables = len(cpu_target.target_context._registries)

@njit
def total(numbers):
    return np.sum(numbers)

assert total(np.array([1, 2, 2])) == 5
print(tables, len(cpu_target.target_context._registries) > 0)
"""


def run() -> str:
    return subprocess.run([sys.executable, "-c", _RUN], check=True, capture_output=True, text=True).stdout


def test_a_kept_kernel_loads_nothing_for_compiling_and_compiling_still_works() -> None:
    kernels.text.lines.line_ends(np.zeros(1, np.uint8), 0, 1, np.zeros(4, np.int64))  # compiled now, if not before
    assert run() == "0 True\n"


_PLACES = """
import refinery
from refinery import kernels

cache = kernels.text.lines.line_ends._cache
print(cache._cache_path, cache._cache_file._index_name, cache._cache_file._source_stamp, sep="\\n")
"""


def test_other_installations_of_the_same_sources_use_the_same_machine_code(tmp_path: Path) -> None:
    shutil.copytree(Path(refinery.__file__).parent, tmp_path / "refinery")
    places = [
        subprocess.run([sys.executable, "-c", _PLACES], cwd=folder, check=True, capture_output=True, text=True).stdout
        for folder in (Path(refinery.__file__).parent.parent, tmp_path)
    ]
    assert places[0] == places[1]
    changed = tmp_path / "refinery" / "kernels" / "core" / "utf8.py"  # the kernel calls it
    changed.write_bytes(changed.read_bytes() + b"\n")
    after = subprocess.run([sys.executable, "-c", _PLACES], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert after.stdout != places[0]
