"""Arrays, ranges, slices and calls mean in compiled kernels what they mean in numpy."""

import json
import subprocess
import sys

# A process of its own, because the compiler changes numba for good.
_RUN = """
import json, sys
import numpy as np
from refinery.kernels.core import jit, numba_compiler, signatures
from refinery.kernels.core.machine_code import _link

jit.HELPER_OPTIONS.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)

def helper(part, scale):
    total = 0
    for value in part:
        total += value * scale
    return total, len(part)

def measured(values, table, start, stop, divisor, out):
    n = 0
    for part in (values[start:stop], values[start:], values[:stop], values[:]):
        total, count = called(part, 3)
        out[n], out[n + 1] = total, count
        n += 2
    for step in (-3, 2):
        for i in range(stop, start, step):
            out[n] = out[n] * 31 + i
        n += 1
    for i in range(start, stop):
        out[n] += i
    out[n + 1] = values[-1] + values[start] + values[np.uint8(1)]
    out[n + 2] = table[1, -1] + table[0][1] + table.shape[1] + table.size
    for i in range(len(table)):
        for value in table[:, 1:][i]:
            out[n + 3] += value
    if start > 0:
        late = values[start] * 7  # its one use is elsewhere, and not on every way from here
    for i in range(divisor):
        total, count = count, total + i
        if start > 0:
            out[n + 4] += late + total
    out[-1] = 10 // divisor
    return n

globals()["called"] = jit.Kernel(helper)
kernel = jit.Kernel(measured)
arguments = signatures.parse("int64[] int64[,] int64 int64 int64 int64[]")
code = _link(*numba_compiler.compile_kernel(kernel.dispatcher, arguments))
found = []
for start, stop, divisor in json.loads(sys.argv[1]):
    values, table, out = np.arange(5, 12), np.arange(6).reshape(2, 3) * 7, np.zeros(16, np.int64)
    try:
        code(signatures.packed(arguments, (values, table, start, stop, divisor, out)))
        expected = np.zeros(16, np.int64)
        called = helper
        measured(values, table, start, stop, divisor, expected)
        assert out.tolist() == expected.tolist(), (start, stop, out, expected)
        found.append("same")
    except RuntimeError:
        found.append("failed")
print(json.dumps(found))
"""


def test_compiled_kernels_mean_what_numpy_does() -> None:
    bounds = [(start, stop, 3) for start in (-7, -3, -1, 0, 2, 6) for stop in (-20, -8, -2, 0, 1, 4, 7, 50)]
    run = subprocess.run(
        [sys.executable, "-c", _RUN, json.dumps([*bounds, (0, 1, 0)])], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == ["same"] * len(bounds) + ["failed"]  # the last one divides by zero
