"""A batch of samples, from readers to writers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.io.json_fields import Member, find_member, without
from refinery.kernels.core.arrow import ints

LINE = "_line"
# DuckDB takes Arrow data in pieces of this many rows: with long texts a few megabytes, which stay in the cache from
# one step to the next. More rows cost page faults (a quarter of the system time), fewer cost calls.
VECTOR = 512
# A line that is not a sample is kept up to this many bytes.
RAW_LIMIT = 16 << 20


@dataclass(frozen=True)
class BadSample:
    """An unreadable sample.

    row: its number within the shard, samples counted good or bad, from 0. line: physical line within the shard from 1
    (of a table: the row's number from 1). raw: its bytes in the file, at most 16 MiB.
    """

    row: int
    line: int
    raw: bytes
    error: str
    file: int = 0  # index of its file among the shard's files


@dataclass
class Batch:
    """Samples of one shard, in order.

    table: the column `_line`, JSON text with its line end, when `lines`, else the samples' own columns. rows and
    line_numbers (int64): of each good sample, as in `BadSample`. lines_seen: physical lines of the shard up to the end of
    this batch. origins: suffix of the sample's file, one for all or one for each row number of the shard. carried: facts of
    earlier stages about each sample, in further columns that are no part of it. chosen: positions of the samples to
    process, where the batch holds others, too. files: index of each sample's file among the shard's files, where the
    shard has several; lines are then counted in each. verbatim: every line is as in the file, none was written anew.
    """

    lines: bool
    table: pa.Table
    rows: np.ndarray
    line_numbers: np.ndarray
    bad: list[BadSample] = field(default_factory=list)
    lines_seen: int = 0
    origins: tuple[str, ...] = ("",)
    carried: pa.Table | None = None
    chosen: np.ndarray | None = None
    files: np.ndarray | None = None
    verbatim: bool = False
    _members: dict[str, Member] = field(default_factory=dict, init=False, repr=False, compare=False)

    @staticmethod
    def empty(lines: bool, columns: Sequence[str] = ()) -> Batch:
        """A batch without rows; its columns are texts."""
        names = [LINE] if lines else list(columns)
        table = pa.table({name: pa.nulls(0, pa.string()) for name in names})
        return Batch(lines, table, np.zeros(0, np.int64), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: np.ndarray) -> Batch:
        """The samples at positions `index` of this batch, without the bad ones."""
        ranged = len(index) == 0 or (index[-1] - index[0] == len(index) - 1 and (np.diff(index) == 1).all())

        def taken(table: pa.Table) -> pa.Table:
            if ranged:
                return table.slice(int(index[0]) if len(index) else 0, len(index))
            return table.take(ints(np.asarray(index, np.int64)))

        carried = None if self.carried is None else taken(self.carried)
        rows, line_numbers = self.rows[index], self.line_numbers[index]
        files = None if self.files is None else self.files[index]
        batch = Batch(self.lines, taken(self.table), rows, line_numbers, [], self.lines_seen, self.origins, carried)
        return replace(batch, files=files)

    def member(self, name: str) -> Member:
        """A JSON field of samples that are lines; searched once."""
        if name not in self._members:
            self._members[name] = find_member(self.table[LINE], name)
        return self._members[name]

    def rest(self, name: str) -> pa.Array:
        """The lines with an empty text for a field whose place is known: short lines, to read other fields from."""
        return without(self.table[LINE], self.member(name))

    def known_spans(self, keys: tuple[str, ...]) -> np.ndarray | None:
        """Places of a field in the lines, if `member` has searched for it; else None."""
        member = self._members.get(keys[0]) if len(keys) == 1 else None
        return member.spans if member else None

    def raw(self, i: int) -> bytes:
        """Sample i as JSON: its line without the line end, or its columns."""
        if self.lines:
            return self.table[LINE][i].as_py().encode().rstrip(b" \t\r\n")
        return as_json(self.sample(i))

    def sample(self, i: int) -> dict[str, Any]:
        """Sample i as a Python value. Raises ValueError when the line is no JSON."""
        if self.lines:
            text = self.table[LINE][i].as_py()
            try:
                return json.loads(text)
            except ValueError:  # Python refuses integers of thousands of digits
                return json.loads(text, parse_int=_number)
        return self.table.slice(i, 1).to_pylist()[0]

    def line_number(self, i: int) -> int:
        """Physical line of sample i."""
        return int(self.line_numbers[i])

    def suffixes(self) -> list[str]:
        """The suffix of each sample's file."""
        if len(self.origins) == 1:
            return [self.origins[0]] * len(self.rows)
        return [self.origins[row] for row in self.rows.tolist()]


def _number(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:
        return digits


def as_json(value: Any) -> bytes:
    """Any value of an Arrow table as JSON; other types as their text, bytes that are not UTF-8 unchanged."""
    return json.dumps(value, ensure_ascii=False, default=_plain).encode("utf-8", "surrogateescape")


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def in_vectors(table: pa.Table) -> pa.Table:
    """The same table in record batches of at most VECTOR rows, without a copy."""
    return pa.Table.from_batches(table.to_batches(max_chunksize=VECTOR), table.schema)
