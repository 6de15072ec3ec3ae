"""Read several small files as one shard: joined batches, each sample with the number of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from refinery.io.batch import Batch
from refinery.io.limits import ReadLimits
from refinery.io.model import Shard, Source
from refinery.io.objects import one_by_one

_BLOCK = 256 << 10


def read_packed(
    shard: Shard, limits: ReadLimits, batches: Callable[[Shard, ReadLimits], Iterator[Batch]]
) -> Iterator[Batch]:
    """Batches of a shard of several files; rows are counted through all files, lines in each file from 1.

    batches: reads a shard of one file.
    """
    pending: list[Batch] = []
    size = rows = first = 0
    for number, source in enumerate(one_by_one(shard.sources)):
        seen = 0
        for batch in batches(_alone(shard, number), _limits(source, limits)):
            nbytes = batch.table.nbytes
            full = size + nbytes > limits.batch_bytes or rows + len(batch) > limits.rows
            if full and rows:
                yield _joined(pending)
                pending, size, rows = [], 0, 0
            pending.append(_placed(batch, number, first))
            size += nbytes
            rows += len(batch)
            seen += len(batch) + len(batch.bad)
        first += seen
    if pending:
        yield _joined(pending)


def _alone(shard: Shard, number: int) -> Shard:
    """One of the files as a shard."""
    end = shard.rows_of[number] if shard.end >= 0 else -1
    return replace(shard, sources=(shard.sources[number],), start=0, end=end, rows_of=())


def _limits(source: Source, limits: ReadLimits) -> ReadLimits:
    """Smaller batches, because batches that are joined later keep their buffers until then."""
    return replace(limits, batch_bytes=min(limits.batch_bytes, max(_BLOCK, 0 if source.compression else source.size)))


def _placed(batch: Batch, number: int, first: int) -> Batch:
    """The batch of file `number`, whose rows are counted from `first`."""
    bad = [replace(bad, row=bad.row + first, file=number) for bad in batch.bad]
    files = np.full(len(batch), number, np.int32)
    return replace(batch, rows=batch.rows + first, bad=bad, files=files, lines_seen=0)


def _joined(batches: list[Batch]) -> Batch:
    if len(batches) == 1:
        return batches[0]
    table = pa.concat_tables([batch.table for batch in batches]).combine_chunks()
    rows, line_numbers, files = (
        np.concatenate([getattr(batch, name) for batch in batches]) for name in ("rows", "line_numbers", "files")
    )
    bad = [bad for batch in batches for bad in batch.bad]
    return Batch(batches[0].lines, table, rows, line_numbers, bad, files=files)
