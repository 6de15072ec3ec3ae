"""Machine code of kernels is the same with and without the shortcuts through numba."""

import re
import subprocess
import sys

import pytest

COMPILE = """
import importlib, sys
from refinery.kernels.core import jit, numba_compiler, numba_shortcuts
if sys.argv[2] == "shortcuts":
    numba_shortcuts.take()
jit.HELPER_OPTIONS.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
module, _, function = sys.argv[1].rpartition(".")
kernel = vars(importlib.import_module(f"refinery.kernels.{module}"))[function]
symbol, results, code = numba_compiler.compile_kernel(kernel.dispatcher, kernel._arguments)
sys.stdout.buffer.write(f"{symbol} {results}\\n".encode() + code)
"""
COUNTERS = re.compile(rb"B\d+v\d+B")  # numba counts the functions of a process, in their symbols


def compiled(kernel: str, way: str) -> bytes:
    run = subprocess.run([sys.executable, "-c", COMPILE, kernel, way], capture_output=True, check=True)
    return COUNTERS.sub(b"", run.stdout)


@pytest.mark.parametrize("kernel", ["json.jsontext.lacking", "text.emails.replace", "stats.moment_sums.spread"])
def test_same_code(kernel: str) -> None:
    with_them = compiled(kernel, "shortcuts")
    assert b"ELF" in with_them or len(with_them) > 500
    assert with_them == compiled(kernel, "numba's own way")
