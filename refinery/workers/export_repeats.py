"""Samples that are exported more than once, by the recipe's `repeat_by`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from refinery.compiler.program import Program
from refinery.io.batch import Batch
from refinery.kernels.core.arrow import numbers, rows_at, whole

# Samples are copied up to about this many bytes at a time.
_AT_A_TIME = 16 << 20
Written = tuple[np.ndarray, pa.Table | None]


def further(program: Program, alive: pa.Table | None) -> int:
    """Number of times that kept samples are exported, besides the first of each."""
    if not program.repeats or alive is None:
        return 0
    return int(_times(program, alive).sum()) - len(alive)


def repeated(program: Program, batch: Batch, keep: np.ndarray, alive: pa.Table | None) -> Iterator[Written]:
    """Positions of the samples to write, each as often as it is exported, and their rows of `alive`; in pieces that fit memory."""
    if not program.repeats or alive is None:
        yield keep, alive
        return
    times = _times(program, alive)
    if (times == 1).all():
        yield keep, alive
        return
    at = np.repeat(np.arange(len(keep)), times)
    sizes = np.array([batch.table.slice(row, 1).nbytes for row in keep.tolist()], np.int64)
    pieces = np.cumsum(sizes[at]) // _AT_A_TIME
    for piece in np.split(at, np.flatnonzero(np.diff(pieces)) + 1):
        yield keep[piece], rows_at(alive, piece)


def _times(program: Program, alive: pa.Table) -> np.ndarray:
    [column] = program.repeats
    return numbers(whole(alive[column])).astype(np.int64)
