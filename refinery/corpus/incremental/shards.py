"""Rows of a corpus as shards that workers can run, as if the stage before had left them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.io.model import Part, Shard, Source
from refinery.kernels.core.arrow import ints

# Column of samples that are JSON lines, each with its newline.
LINE = "_line"
# Most rows and bytes of a shard: several workers share a change.
_ROWS, _BYTES = 8192, 16 << 20


@dataclass(frozen=True)
class Samples:
    """Samples that a stage has left.

    rows: their numbers in the corpus, ascending. values: a sample each, a line in `_line` or the columns of a table. carried: `_row`
    and statistics that later stages read. lines: samples are JSON lines.
    """

    rows: np.ndarray
    values: pa.Table
    carried: pa.Table
    lines: bool

    def at(self, places: np.ndarray) -> Samples:
        """Some of the samples, by ascending places."""
        index = ints(places)
        return Samples(self.rows[places], self.values.take(index), self.carried.take(index), self.lines)


@dataclass(frozen=True)
class NumberedShard:
    """A shard, and the numbers in the corpus of its rows, by their numbers in the shard."""

    shard: Shard
    rows: np.ndarray


def shards_of(samples: Samples, folder: Path, removed: tuple[str, pa.Array] | None = None) -> Iterator[NumberedShard]:
    """Write samples to files in `folder` and return them as shards.

    removed: name of the column of units that the deduplicator before takes out of the texts, and a list for each sample.
    """
    step = max(1, min(_ROWS, len(samples.rows) * _BYTES // max(1, samples.values.nbytes)))
    for index, first in enumerate(range(0, len(samples.rows), step)):
        places = np.arange(first, min(first + step, len(samples.rows)))
        some, own = samples.at(places), np.arange(len(places), dtype=np.int64)
        carried = some.carried.set_column(0, "_row", ints(own))
        if removed is not None:
            carried = carried.append_column(removed[0], removed[1].slice(first, len(places)))
        shard = shard_of(index, some, folder, own, carried)
        yield NumberedShard(shard, some.rows)


def shard_of(index: int, samples: Samples, folder: Path, numbers: np.ndarray, carried: pa.Table | None) -> Shard:
    """Samples as one shard. numbers: that they have in it. carried: columns beside them; without it, samples are to be picked later."""
    folder.mkdir(parents=True, exist_ok=True)
    source = _written(samples, folder / f"{index:05d}.{'jsonl' if samples.lines else 'parquet'}")
    part = Part(source, numbers=numbers, line_numbers=numbers)
    if carried is not None:
        table = folder / f"{index:05d}.carried.parquet"
        pq.write_table(carried, table, compression="none")
        part = Part(source, np.arange(len(numbers)), numbers, numbers, (str(table),))
    return Shard(index, (source,), lines=samples.lines, size=source.size, part=part)


def _written(samples: Samples, path: Path) -> Source:
    if samples.lines:
        with path.open("wb") as file:
            for chunk in samples.values[LINE].chunks:
                file.write(bytes_of(chunk))
    else:
        pq.write_table(samples.values, path, compression="none")
    return Source(str(path), "jsonl" if samples.lines else "parquet", None, path.suffix, path.stat().st_size)


def bytes_of(texts: pa.LargeBinaryArray) -> memoryview:
    """The bytes of values without NULL, one after another."""
    if not len(texts):
        return memoryview(b"")
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def lines_of(data: bytes) -> pa.Array:
    """The lines of a file, each with its newline. Raises ValueError if the last one has none."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    offsets = np.concatenate(([0], ends)).astype(np.int64)
    if offsets[-1] != len(data):
        raise ValueError("a part of JSON lines does not end with a newline")
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(ends), buffers)
