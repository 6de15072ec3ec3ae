"""Fates of the samples by input file, and by value of the input's column `source`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from refinery.common.lazy import pc
from refinery.common.numbers import size
from refinery.inspect.report.replayed import Replay
from refinery.inspect.report.tables import Row, RunTables
from refinery.io.batch import Batch
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.kernels.core.arrow import ints
from refinery.planning.sizes import BATCH

# Most sources to list, and most bytes of input to read again for the column.
MOST = 100
_READ = 1_000_000_000
COLUMN = "source"


@dataclass(frozen=True)
class Sources:
    """Table rows by file and by column value. column: None if the input has none. note: why it was not counted."""

    files: list[Row]
    column: list[Row] | None = None
    note: str = ""


def read_sources(tables: RunTables, again: Replay) -> Sources:
    """Read counts by file from the tables, and by column from the input if that exists and is not too large."""
    files = tables.query("files")
    if again.histories is None:
        return Sources(files, note=f"By the column source: not counted, because {again.why_not}.")
    prepared = again.histories.prepared
    total = sum(source.size for source in prepared.sources)
    if total > _READ:
        note = f"By the column source: not counted, because that would read {size(total)} of input again."
        return Sources(files, note=note)
    if not _has_column(prepared):
        return Sources(files)
    firsts = [row["first_row"] for row in tables.rows("SELECT first_row FROM shards ORDER BY shard")]
    tables.con.execute("CREATE OR REPLACE TEMP TABLE sources (_row BIGINT, source VARCHAR)").fetchall()
    with ThreadPoolExecutor(prepared.workers) as pool:
        for rows in pool.map(_by_row, prepared.shards, firsts):
            tables.con.register("_rows", rows)
            tables.con.execute("INSERT INTO sources SELECT * FROM _rows").fetchall()
            tables.con.unregister("_rows")
    return Sources(files, tables.query("by_source"))


def _has_column(prepared: Any) -> bool:
    """Return whether the first samples of any input file have the column."""
    seen = set[str]()
    for shard in prepared.shards:
        if shard.source.path in seen:
            continue
        seen.add(shard.source.path)
        for batch in read(shard, 1 << 16, check=False):
            if any(value is not None for value in _values(batch)):
                return True
            break
    return False


def _by_row(shard: Shard, first: int) -> pa.Table:
    """The column's value of every sample of a shard, with the sample's number in the input."""
    columns_of_batches = [(ints(batch.rows + first), _column(batch)) for batch in read(shard, BATCH, check=False)]
    columns = [pa.chunked_array(list(column)) for column in zip(*columns_of_batches, strict=True)]
    return pa.table(dict(zip(("_row", COLUMN), columns, strict=True)))


def _values(batch: Batch) -> Iterator[Any]:
    return iter(_column(batch).to_pylist())


def _column(batch: Batch) -> pa.Array:
    """The column's texts; NULL for samples without."""
    if "_line" in batch.table.column_names:
        return batch.member(COLUMN).texts.cast(pa.string())
    if COLUMN not in batch.table.column_names:
        return pa.nulls(len(batch.rows), pa.string())
    column = batch.table[COLUMN].combine_chunks()
    try:
        return pc.cast(column, pa.string())
    except pa.ArrowException:  # a list or struct, or bytes that are no text
        return pa.nulls(len(batch.rows), pa.string())
