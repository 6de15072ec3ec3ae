"""Bytes and rows of a batch, bytes of a shard; `adaptive_batch_size` finds them by measuring samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from refinery.compiler.model import Chain
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.operators import Operator
from refinery.operators.resources import resources_of
from refinery.workers.machine import share_of_memory

# Input bytes and rows of one query, whose texts are in memory at once in every version.
BATCH = 16 << 20
ROWS = 8192

# Bounds of adaptive sizes. More than 16 MB gain nothing; below 1 MB, or for few rows, the time to plan a query shows.
_LEAST_BYTES, _MOST_ROWS, _LEAST_SHARD = 1 << 20, 1 << 17, 4 << 20
# Divisor of a worker's memory: 1/8 for the texts of a batch, 1/8 for the result columns collected for a shard.
_SHARE = 8
# Pieces of the input that are measured, and bytes of each.
_PIECES, _PIECE = 4, 256 << 10
# Bytes collected for each row besides its result columns, and for each column.
_PER_ROW, _PER_COLUMN = 32, 9


@dataclass(frozen=True)
class Sizes:
    """Most bytes and rows of a batch. row: mean bytes of a sample, if measured."""

    bytes: int = BATCH
    rows: int = ROWS
    row: float | None = None


def mean_row(shards: Sequence[Shard]) -> float | None:
    """Mean bytes of the samples in pieces from all over the input; None if there are no samples."""
    places = sorted({len(shards) * k // _PIECES for k in range(_PIECES)}) if shards else []
    rows = size = 0
    for place in places:
        for batch in islice(read(shards[place], _PIECE), 1):
            rows, size = rows + len(batch), size + batch.table.nbytes
    return size / rows if rows else None


def batch_sizes(row: float | None, chains: Sequence[Chain], limit: int | None, workers: int) -> Sizes:
    """The size of batches for samples of `row` bytes.

    Every version and every feature of a text is counted with the length of the text as read. Together they may take an
    eighth of the worker's memory. limit: the recipe's memory_limit.
    """
    if row is None:
        return Sizes()
    size = _batch_bytes(chains, limit, workers)
    return Sizes(size, max(1, min(_MOST_ROWS, int(size / row))), row)


def sizes_within(chains: Sequence[Chain], limit: int, workers: int) -> Sizes:
    """The size of batches for samples that were not measured: less than usual if `limit`, a memory_limit, is small."""
    return Sizes(_batch_bytes(chains, limit, workers))


def _batch_bytes(chains: Sequence[Chain], limit: int | None, workers: int) -> int:
    copies = max(map(_copies, chains))
    return max(_LEAST_BYTES, min(BATCH, _memory(limit, workers) // _SHARE // copies))


def held_bytes(chain: Chain, batch: int) -> int:
    """Bytes of the texts of a batch, in every version and feature, of which there may be as much again while they are made."""
    return 2 * _copies(chain) * batch


def _copies(chain: Chain) -> int:
    return 2 + len(chain.changes) + len(chain.features)


def rows_of_step(sizes: Sizes, step: Any, operator: Operator) -> int:
    """Most samples that an operator is given at a time: those of a batch, or of its own `batch_size`."""
    own = resources_of(step, operator).batch_size
    return min(sizes.rows, own) if own is not None else sizes.rows


def shard_bytes(row: float | None, wanted: int, columns: int, limit: int | None, workers: int) -> int:
    """Bytes of a shard of samples of `row` bytes, at most `wanted`; smaller if many short rows would be collected.

    columns: number of result columns that are collected for each row.
    """
    if row is None:
        return wanted
    rows = _memory(limit, workers) // _SHARE // (_PER_ROW + _PER_COLUMN * columns)
    return min(wanted, max(_LEAST_SHARD, int(rows * row)))


def _memory(limit: int | None, workers: int) -> int:
    """Bytes of memory of one worker. Free memory is not considered: it would cut the same run differently each time."""
    return limit // max(1, workers) if limit else share_of_memory(workers)
