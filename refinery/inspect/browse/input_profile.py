"""Profile of the fields of a run's input, read in pieces of bounded time: it says how much of the input it has read."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.fields import field_name
from refinery.common.lazy import duckdb
from refinery.errors import DataError
from refinery.inspect.browse.field_summary import FieldSummary
from refinery.inspect.browse.input_rows import InputRows
from refinery.io.batch import Batch
from refinery.io.model import Shard
from refinery.io.readers.read import read

# Bytes and rows of a batch, nesting of fields, and most fields.
_BATCH, _ROWS, _DEEPEST, _FIELDS = 1 << 20, 1000, 3, 500
# Shards are read in steps of this part of the whole (the golden ratio), so that those read first lie all over the input.
_STRIDE = 0.6180339887498949


class InputProfile:
    """Summaries of fields by name, in the order of the input. more: fields beyond the first 500 were passed over."""

    def __init__(self, rows: InputRows, con: duckdb.DuckDBPyConnection) -> None:
        self._input, self._lock = rows, threading.Lock()
        self._shards = con.execute("SELECT shard, first_row, rows FROM shards ORDER BY shard").fetchall()
        [(self.total,)] = con.execute("SELECT coalesce(sum(rows), 0)::BIGINT FROM shards").fetchall()
        self.fields: dict[str, FieldSummary] = {}
        self.more = False
        self.read = 0
        self.unreadable = 0
        self.kept = 0
        self._types: dict[str, str] = {}
        self._con: duckdb.DuckDBPyConnection | None = None
        self._batches = self._in_turn()

    @property
    def done(self) -> bool:
        """True if the whole input was read."""
        return self.read + self.unreadable >= self.total

    def advance(self, con: duckdb.DuckDBPyConnection, seconds: float) -> None:
        """Read on for some seconds, at least one batch. Raises DataError if the input has changed since the run."""
        self._input.require_unchanged()
        with self._lock:
            self._con = con
            end = time.monotonic() + seconds
            for batch, first, kept in self._batches:
                self._add(batch, first, kept)
                if time.monotonic() >= end:
                    break

    def _in_turn(self) -> Iterator[tuple[Batch, int, np.ndarray]]:
        """Batches with the first row of their shard, and whether each row of it was kept."""
        with self._input.histories() as histories:
            shards = list(histories.prepared.shards)
        if len(shards) != len(self._shards):
            raise DataError("the input is cut into other shards than in the run; run the recipe again")
        for at in np.argsort([(number * _STRIDE) % 1 for number in range(len(shards))], kind="stable").tolist():
            _, first, rows = self._shards[at]
            kept = self._kept(first, rows)
            for batch in _of(shards[at]):
                yield batch, first, kept

    def _kept(self, first: int, rows: int) -> np.ndarray:
        assert self._con is not None
        query = "SELECT _row - ? AS at FROM row_outcomes WHERE _row >= ? AND _row < ? AND _dropped IS NULL"
        kept = np.zeros(rows, bool)
        kept[self._con.execute(query, [first, first, first + rows]).fetchnumpy()["at"].astype(np.int64)] = True
        return kept

    def _add(self, batch: Batch, first: int, kept: np.ndarray) -> None:
        self.unreadable += len(batch.bad)
        if not batch.lines and not self._types:
            self._types = dict(_declared(batch.table.schema))
        for at, inside in enumerate(batch.rows.tolist()):
            seen = self.read
            self.read += 1
            self.kept += bool(kept[inside])
            for name, value in _members(batch.sample(at)):
                summary = self.fields.get(name)
                if summary is None:
                    if len(self.fields) == _FIELDS:
                        self.more = True
                        continue
                    summary = FieldSummary(name, seen, seen, declared=self._types.get(name, ""))
                    self.fields[name] = summary
                if summary.rows < seen:  # missing in the rows between
                    summary.nulls += seen - summary.rows
                    summary.rows = seen
                summary.add(first + inside, value, not kept[inside])

    def summaries(self) -> list[FieldSummary]:
        """Summaries over all rows read: a row without a field counts as one in which it is missing."""
        with self._lock:
            for summary in self.fields.values():
                summary.nulls += self.read - summary.rows
                summary.rows = self.read
            return list(self.fields.values())


def _of(shard: Shard) -> Iterator[Batch]:
    return read(shard, _BATCH, _ROWS)


def _declared(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """DuckDB's types of columns, and of members of structs, by the names that `_members` gives them."""
    with duckdb.connect() as con:
        columns = con.from_arrow(schema.empty_table())
        yield from _types(zip(columns.columns, columns.types, strict=True))


def _types(columns: Iterable[tuple[str, Any]], keys: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for name, kind in columns:
        path = (*keys, name)
        yield field_name(path), str(kind)
        if kind.id == "struct":
            yield from _types(kind.children, path)


def _members(sample: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Fields of a sample, those within objects by their path."""
    for name, value in sample.items() if isinstance(sample, dict) else ():
        path = (*keys, str(name))
        if isinstance(value, dict) and value and len(path) < _DEEPEST:
            yield from _members(value, path)
        else:
            yield field_name(path), value
