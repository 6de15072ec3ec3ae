"""Read CSV and TSV, types inferred over all rows of a file; fields that the recipe names as text are text.

The rules are pandas', and so Data-Juicer's, with three exceptions that keep values as they were written: a number with
leading zeros stays text, so does one that does not fit 64 bits, and words such as NA or null are missing values only in
columns of numbers or booleans. A short record is filled up with missing values; a long one is a BadSample.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.common.lazy import pc
from refinery.errors import DataError
from refinery.io.batch import RAW_LIMIT, BadSample, Batch
from refinery.io.conform import conform
from refinery.io.limits import ReadLimits
from refinery.io.line_errors import not_utf8
from refinery.io.model import Source
from refinery.io.read_options import codec_of
from refinery.io.readers.read_buffer import ReadBuffer
from refinery.io.text_columns import is_plain_text
from refinery.kernels.core.arrow import of_texts

_MISSING = of_texts(
    "#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null".split("|")
)
_BOOLEANS = of_texts(["True", "False", "TRUE", "FALSE", "true", "false"])
_INTEGER = r"^ *[+-]?(0|[1-9][0-9]*) *$"
_FLOAT = r"^ *[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)? *$|^[+-]?(?i:inf(inity)?)$"
_LONG_INTEGER = r"^ *[+-]?[0-9]{16,} *$"  # a double would round it


class Dialect(NamedTuple):
    """The marks of a file, its header and its encoding. quote: "" without quotes. columns: names in place of the header's."""

    delimiter: str
    quote: str = '"'
    header: bool = True
    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"


@dataclass
class _Records:
    """Records of one block. data: their bytes, one to a line. line_numbers, lines_seen: as in a batch."""

    data: np.ndarray
    rows: np.ndarray
    line_numbers: np.ndarray
    bad: list[BadSample]
    lines_seen: int


def read_csv(
    source: Source, dialect: Dialect, start: int, end: int, schema: pa.Schema, limits: ReadLimits
) -> Iterator[Batch]:
    """Batches of a CSV or TSV file, or of its text between two cuts of `survey`, with the columns of `schema`."""
    reader = _Reader(source, dialect, limits, start, end)
    try:
        for records in reader.records():
            table = _strings(records.data, reader.names, dialect)
            table = conform(_typed(table, schema, source.path), schema, source.path, source.partitions)
            yield Batch(False, table, records.rows, records.line_numbers, records.bad, records.lines_seen)
    finally:
        reader.close()


def count_records(source: Source, dialect: Dialect, start: int, end: int, limits: ReadLimits) -> int:
    """Number of records of a file between two cuts, good and bad, without the header."""
    reader = _Reader(source, dialect, limits, start, end)
    try:
        return sum(len(records.rows) + len(records.bad) for records in reader.records())
    finally:
        reader.close()


def survey(
    source: Source, dialect: Dialect, size: int | None = None, workers: int = 1
) -> tuple[pa.Schema, list[int], int]:
    """Schema, cuts and text size of a file, needed before it is read in pieces; one pass that `workers` threads share.

    Returns the columns and their types over all rows (bool, int64, double or string); the cuts of its text,
    between records at least `size` bytes apart, beginning with 0; and the bytes of its text.
    """
    reader = _Reader(source, dialect, ReadLimits(batch_bytes=min(ReadLimits().batch_bytes, size or 1 << 40)))
    kinds = [ColumnKinds() for _ in reader.names]
    cuts = [0]
    running: deque[Future[list[ColumnKinds]]] = deque()
    try:
        with ThreadPoolExecutor(max(1, workers)) as pool:
            for records in reader.records():
                running.append(pool.submit(_kinds, records.data, reader.names, dialect))
                if len(running) > workers:
                    kinds = [a.joined(b) for a, b in zip(kinds, running.popleft().result(), strict=True)]
                if size is not None and reader.position - cuts[-1] >= size:
                    cuts.append(reader.position)
            for surveyed in running:
                kinds = [a.joined(b) for a, b in zip(kinds, surveyed.result(), strict=True)]
    finally:
        reader.close()
    texts = {keys[0] for keys in source.texts if len(keys) == 1}  # these are text, whatever their values look like
    types = [pa.string() if name in texts else kind.type for name, kind in zip(reader.names, kinds, strict=True)]
    schema = pa.schema(list(zip(reader.names, types, strict=True)))
    return schema, [cut for cut in cuts if cut == 0 or cut < reader.position], reader.position


def _kinds(data: np.ndarray, names: Sequence[str], dialect: Dialect) -> list[ColumnKinds]:
    return [ColumnKinds.of(column) for column in _strings(data, names, dialect).columns]


class _Reader:
    """Splits a file, or its text between two cuts, into the header and blocks of records."""

    def __init__(self, source: Source, dialect: Dialect, limits: ReadLimits, start: int = 0, end: int = -1) -> None:
        self.path = source.path
        self.limits = limits
        self.dialect = dialect
        self._delimiter = np.uint8(ord(dialect.delimiter))
        block = 1 << 16 if start else limits.batch_bytes
        self.window = ReadBuffer(source, 0, -1 if start else end, block, False, limits.line)
        self.at = self.window.first
        self.row = self.line = 0
        self._room = [np.empty(limits.rows, np.int64) for _ in range(4)]
        try:
            self.names = self._header()
            if start:  # the header is known, and the records stand elsewhere
                self.window.close()
                self.window = ReadBuffer(source, start, end, limits.batch_bytes, False, limits.line)
                self.at = self.line = 0
        except BaseException:
            self.window.close()
            raise

    @property
    def position(self) -> int:
        """Bytes of the file's text that have been processed."""
        return self.window.base + self.at

    def close(self) -> None:
        """Close the file."""
        self.window.close()

    def _header(self) -> list[str]:
        """Column names; missing and repeated names are filled in as in pandas."""
        while True:
            before = self.at, self.line
            count, why = self._split(1)
            if count or why == kernels.text.lines.UNFINISHED:
                start, end, fields, _ = (int(room[0]) for room in self._room)
                if why == kernels.text.lines.UNFINISHED or not kernels.text.lines.valid_utf8(
                    self.window.data, start, end
                ):
                    reason = "it is not UTF-8, or a quote in it is not closed"
                    raise DataError(f"{self.path}: the first line cannot be the header: {reason}")
                if self.window.data[start:end].tobytes().strip():
                    if not self.dialect.header:  # it is a record
                        self.at, self.line = before
                    return self._names(self.window.data[start:end], fields)
            elif self.window.ended:
                return []
            elif self.window.filled - self.at > self.limits.line:
                reason = f"it is longer than {self.limits.line} bytes"
                raise DataError(f"{self.path}: the first line cannot be the header: {reason}")
            else:
                self._refill()

    def _names(self, header: np.ndarray, fields: int) -> list[str]:
        numbers = [str(i) for i in range(fields)]
        if self.dialect.columns or not self.dialect.header:
            return self._own_names(fields)
        row = _strings(np.append(header, np.uint8(10)), numbers, self.dialect)
        names: list[str] = []
        seen: set[str] = set()
        for i, column in enumerate(row.columns):
            name = first = column[0].as_py() or f"Unnamed: {i}"
            repeated = 0
            while name in seen:
                repeated += 1
                name = f"{first}.{repeated}"
            seen.add(name)
            names.append(name)
        return names

    def _own_names(self, fields: int) -> list[str]:
        """The names that the recipe gives the columns, or their numbers."""
        if not self.dialect.columns:
            return [f"column{i}" for i in range(fields)]
        if len(self.dialect.columns) != fields:
            raise DataError(
                f"{self.path}: the recipe names {len(self.dialect.columns)} columns, but the file has {fields}"
            )
        return list(self.dialect.columns)

    def _split(self, most: int) -> tuple[int, int]:
        """Find records from `at` on, and move `at` after them."""
        room = [part[:most] for part in self._room]
        window = self.window
        marks = self._delimiter, ord(self.dialect.quote) if self.dialect.quote else -1
        count, to, why = kernels.text.lines.records(window.data, self.at, window.filled, *marks, window.ended, *room)
        if count:
            self.at = int(to)
            self.line += int(room[3][:count].sum())
        return int(count), int(why)

    def _refill(self) -> None:
        self.window.refill(self.at)
        self.at = 0

    def records(self) -> Iterator[_Records]:
        """Blocks of records, until the file ends."""
        window = self.window
        while self.names:
            before = self.line
            count, why = self._split(len(self._room[0]))
            if count:
                yield self._block(count, before)
            rest = window.filled - self.at
            if why == kernels.text.lines.UNFINISHED or (why == kernels.text.lines.MORE and rest > self.limits.line):
                yield self._unclosed()
            elif why == kernels.text.lines.MORE and window.ended:
                break
            elif why == kernels.text.lines.MORE:
                self._refill()
        if window.damage:
            yield self._only_bad(self.at, window.damage)

    def _block(self, count: int, line: int) -> _Records:
        starts, ends, fields, physical = (part[:count].copy() for part in self._room)
        data = self.window.data
        first = np.concatenate(([0], np.cumsum(physical)[:-1])) + line + 1
        states = np.zeros(count, np.uint8)
        kernels.text.lines.classify_records(data, starts, ends, states)
        samples = states != kernels.text.lines.BLANK
        rows = np.cumsum(samples) - 1 + self.row
        self.row += int(np.count_nonzero(samples))
        good = (states == kernels.text.lines.GOOD) & (fields <= len(self.names))
        bad = []
        for i in np.flatnonzero(samples & ~good).tolist():
            raw = data[starts[i] : min(ends[i], starts[i] + RAW_LIMIT)].tobytes()
            error = f"{fields[i]} fields, but {len(self.names)} columns"
            error = self._not_text(raw) if states[i] == kernels.text.lines.NOT_UTF8 else error
            bad.append(BadSample(int(rows[i]), int(first[i]), raw, error))
        starts, ends, fields = starts[good], ends[good], fields[good]
        room = int((ends - starts).sum() + (len(self.names) - fields).sum() + len(starts))
        out = np.empty(room, np.uint8)
        kernels.text.lines.gather_records(data, starts, ends, fields, len(self.names), self._delimiter, out)
        return _Records(out, rows[good], first[good], bad, self.line)

    def _not_text(self, raw: bytes) -> str:
        if codec_of(self.dialect.encoding):
            return f"bytes that are not {self.dialect.encoding}"
        return not_utf8(raw)

    def _unclosed(self) -> _Records:
        """A Bad row for the line with a quote that never closes; the next record starts after it."""
        end = int(kernels.text.lines.first_line_end(self.window.data, self.at, self.window.filled))
        if end < 0 and not self.window.ended:
            return self._too_long()
        return self._only_bad(end if end >= 0 else self.window.filled, "a quote is opened here and never closed")

    def _too_long(self) -> _Records:
        """Skip a line that goes beyond the window."""
        start = self.position
        batch = self._only_bad(self.window.filled, "")
        end = -1
        while end < 0 and not self.window.ended:
            self._refill()
            end = int(kernels.text.lines.first_line_end(self.window.data, 0, self.window.filled))
            self.at = end if end >= 0 else self.window.filled
        error = f"a line of {self.position - start} bytes is longer than the limit"
        return replace(batch, bad=[replace(batch.bad[0], error=error)])

    def _only_bad(self, stop: int, error: str) -> _Records:
        raw = self.window.data[self.at : min(stop, self.at + RAW_LIMIT)].tobytes().rstrip(b"\r\n")
        bad = BadSample(self.row, self.line + 1, raw, error)
        self.at = stop
        self.row += 1
        self.line += 1
        nothing = np.zeros(0, np.int64)
        return _Records(np.zeros(0, np.uint8), nothing, nothing, [bad], self.line)


def _strings(data: np.ndarray, names: Sequence[str], dialect: Dialect) -> pa.Table:
    """Records, one to a line, as columns of text; an empty field is NULL."""
    import pyarrow.csv as csv

    kind = pa.string() if len(data) < 2**31 - 1 else pa.large_string()
    if len(data) == 0:
        return pa.schema([(name, kind) for name in names]).empty_table()
    return csv.read_csv(
        pa.BufferReader(pa.py_buffer(data)),
        csv.ReadOptions(use_threads=False, block_size=len(data), column_names=list(names)),
        csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            newlines_in_values=bool(dialect.quote),
            ignore_empty_lines=False,
        ),
        csv.ConvertOptions(
            check_utf8=False,
            column_types={name: kind for name in names},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with pandas' words for a missing value as NULL."""
    return pc.if_else(pc.is_in(column, _MISSING), pa.nulls(1, column.type)[0], column)


# Kinds of values; words for a missing value are text where nothing else is.
_BOOLEAN, _WHOLE, _LONG, _REAL, _TEXT, _WORDS = 1, 2, 4, 8, 16, 32
_LONGEST = 400  # no number is written with more characters


@dataclass(frozen=True)
class ColumnKinds:
    """Kinds of values of a column; kinds of parts of a file, joined in any order, are those of the file."""

    seen: int = 0

    @staticmethod
    def of(column: pa.ChunkedArray) -> ColumnKinds:
        """The kinds in a column of texts."""
        head = column.slice(0, 100).drop_null()
        if not all(re.match(r" *[-+.\dTtFfIiNn#<]", text) for text in head.to_pylist()):
            return ColumnKinds(_TEXT)
        column = column.drop_null()
        if not len(column):
            return ColumnKinds()
        if (pc.max(pc.binary_length(column)).as_py() or 0) >= _LONGEST:
            return ColumnKinds(_TEXT)
        return ColumnKinds(_found(_values(column).drop_null()) or _WORDS)

    def joined(self, other: ColumnKinds) -> ColumnKinds:
        """The kinds of both columns."""
        return ColumnKinds(self.seen | other.seen)

    @property
    def type(self) -> pa.DataType:
        """The narrowest type for all kinds; the null type without a value, which fits the column's type in other files."""
        if not self.seen:
            return pa.null()
        seen = self.seen & ~_WORDS
        if seen == _BOOLEAN:
            return pa.bool_()
        if seen and not seen & ~(_WHOLE | _LONG):
            return pa.int64()
        # A double would round a long integer.
        return pa.float64() if seen & _REAL and not seen & ~(_WHOLE | _REAL) else pa.string()


def _found(column: pa.ChunkedArray) -> int:
    """The kinds of values in a column, as bits."""
    if len(column) == 0:
        return 0
    if _every(pc.is_in(column, _BOOLEANS)):
        return _BOOLEAN
    long = _LONG if pc.any(pc.match_substring_regex(column, _LONG_INTEGER)).as_py() else 0
    if _every(pc.match_substring_regex(column, _INTEGER)):
        try:
            _integers(column)
        except pa.ArrowInvalid:
            return _TEXT
        return _WHOLE | long
    return _REAL | long if _every(pc.match_substring_regex(column, _FLOAT)) else _TEXT


def _every(flags: pa.ChunkedArray) -> bool:
    return bool(pc.all(flags).as_py())


def _integers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring(pc.utf8_trim(column, " "), "+", "").cast(pa.int64())


def _typed(table: pa.Table, schema: pa.Schema, path: str) -> pa.Table:
    """Columns of text cast to the types of the schema."""
    columns = []
    kinds = dict(zip(schema.names, schema.types, strict=True))
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = kinds.get(name, pa.string())
        try:
            columns.append(_as(column, kind))
        except pa.ArrowInvalid as error:
            raise DataError(f"{path}: column {name!r} was {kind} when the file was first read: {error}") from error
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if is_plain_text(kind):
        return column
    if pa.types.is_null(kind):
        if column.null_count < len(column):
            raise pa.ArrowInvalid("now it has values")
        return pa.chunked_array([pa.nulls(len(column))])
    column = _values(column)
    if pa.types.is_boolean(kind):
        return pc.equal(pc.utf8_lower(column), "true")
    if pa.types.is_integer(kind):
        return _integers(column)
    return pc.utf8_trim(column, " ").cast(kind)
