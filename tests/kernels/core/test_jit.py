"""The cache of kernels: machine code is loaded without numba's tables of functions, which only compiling needs."""

import subprocess
import sys

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
    return np.unique(numbers).sum()

assert total(np.array([1, 2, 2])) == 3
print(tables, len(cpu_target.target_context._registries) > 0)
"""


def run() -> str:
    return subprocess.run([sys.executable, "-c", _RUN], check=True, capture_output=True, text=True).stdout


def test_a_kept_kernel_loads_nothing_for_compiling_and_compiling_still_works() -> None:
    run()  # may have to compile it
    assert run() == "0 True\n"
