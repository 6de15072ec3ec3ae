"""Read the samples of a shard that earlier stages have left."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.io.batch import Batch
from refinery.io.model import Part, Source
from refinery.kernels.core.arrow import ints, numbers


def left(batches: Iterator[Batch], part: Part, carry: Sequence[str], all_samples: bool = False) -> Iterator[Batch]:
    """The remaining samples, under their numbers in the shard, with the columns of `carry` beside them.

    all_samples: batches of all samples, with the positions (`chosen`) of the remaining ones.
    """
    known, picked = _Known(part, carry), part.picked
    assert picked is not None
    for batch in batches:
        place = np.searchsorted(picked, batch.rows)
        place[place == len(picked)] = 0
        index = np.flatnonzero(picked[place] == batch.rows) if len(picked) else np.zeros(0, np.int64)
        chosen = index if all_samples and batch.lines else None
        rest = batch.take(index) if chosen is None else batch
        if part.source is not None:
            assert part.numbers is not None and part.line_numbers is not None
            rows = rest.rows
            rest = replace(rest, rows=part.numbers[rows], line_numbers=part.line_numbers[rows])
        if chosen is not None:
            yield replace(rest, chosen=chosen, bad=[])
            continue
        yield replace(rest, carried=known.of(rest.rows), bad=[])


def source_of_part(path: str, lines: bool, size: int) -> Source:
    """A file that `PartWriter` has written, as a source. lines: its samples are JSON lines. size: in bytes."""
    compression = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4"}.get(os.path.splitext(path)[1])
    return Source(path, "jsonl" if lines else "parquet", compression, "", size)


class _Known:
    """Columns of a part's tables, by the numbers of the samples."""

    def __init__(self, part: Part, names: Sequence[str]) -> None:
        self._columns: list[tuple[str, np.ndarray, pa.ChunkedArray]] = []
        schemas = {path: pq.read_schema(path).names for path in part.tables} if names else {}
        for name in names:
            path = next((path for path, columns in schemas.items() if name in columns), None)
            if path is None:  # no table has the column
                self._columns.append((name, np.zeros(0, np.int64), pa.chunked_array([pa.nulls(0)])))
                continue
            table = pq.ParquetFile(path).read(["_row", name])
            self._columns.append((name, numbers(table["_row"]), table[name]))

    def of(self, rows: np.ndarray) -> pa.Table | None:
        """The columns for samples of these numbers; NULL for samples that a table does not have."""
        if not self._columns:
            return None
        columns = {}
        for name, known, values in self._columns:
            place = np.searchsorted(known, rows)
            inside = place < len(known)
            inside[inside] = known[place[inside]] == rows[inside]
            columns[name] = values.take(ints(place, inside))
        return pa.table(columns)
