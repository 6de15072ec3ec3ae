"""Run the `read` function of a user's input format, and make batches of what it yields."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.errors import DataError, OperatorError
from refinery.io.batch import LINE, RAW_LIMIT, BadSample, Batch, as_json
from refinery.io.limits import ReadLimits
from refinery.io.line_errors import STOPPED, explain_json, not_utf8
from refinery.io.model import Source
from refinery.io.readers.read_buffer import stream
from refinery.operators.modules import load_module
from refinery.operators.opened_files import running, suspended

_BUFFER = 1 << 20
_ROWS_OF_TABLE = 1024


class _Damaged(OSError):
    """The compressed data ends early."""


class _Bytes(io.RawIOBase):
    """The decompressed bytes of a file. Damage is an error behind the bytes before it, so no sample ends there."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._stream = stream(source, 0, -1, True)
        self.damage: str | None = None

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from its start; returns the number of bytes, 0 at the end."""
        with suspended():  # the input is declared, also where decompression opens it again
            count = 0 if self.damage else int(self._stream.readinto(memoryview(buffer)) or 0)
        self.damage = self.damage or getattr(self._stream, "damage", None)
        if self.damage and not count:
            raise _Damaged(self.damage)
        return count

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._stream.close()
        super().close()


def read_samples(source: Source, path: str, limits: ReadLimits) -> Iterator[Batch]:
    """Batches of the samples that `read` of a user's file yields for a source; `line_numbers` are numbers of records.

    A yielded exception, and anything that is no sample, is a BadSample with the number of its record. An error that
    `read` raises is one, too: no more is read of the file after it, and its reason begins as the alarm of a file that is
    cut short does. Raises DataError if the file cannot be opened, OperatorError if the user's file cannot be imported or
    tries to end the process.
    """
    try:
        raw = _Bytes(source)
    except OSError as error:
        raise DataError(f"{source.path}: {error.strerror or error}") from error
    pending = _Pending(limits)
    with closing(raw):
        for item in _yielded(Path(path), raw):
            pending.add(item)
            if pending.is_full:
                yield pending.batch()
    if pending.count:
        yield pending.batch()


def _yielded(path: Path, raw: _Bytes) -> Iterator[Any]:
    """Everything that `read` yields; the error that ends it comes last."""
    read = load_module(path).read
    items: Any = None
    while True:
        try:
            with running(path, "the function read"):
                items = iter(read(io.BufferedReader(raw, _BUFFER))) if items is None else items
                item = next(items)
        except StopIteration:
            break
        except OperatorError:  # it tries to end the run
            raise
        except Exception as error:
            yield ValueError(raw.damage or f"{STOPPED}: read of {path.name} raised {type(error).__name__}: {error}")
            return
        yield from _rows(item) if isinstance(item, (pa.RecordBatch, pa.Table)) else (item,)
    if raw.damage:  # the reader has passed over the error
        yield ValueError(raw.damage)


def _rows(table: Any) -> Iterator[Any]:
    """The rows of an Arrow table or batch."""
    for start in range(0, table.num_rows, _ROWS_OF_TABLE):
        yield from table.slice(start, _ROWS_OF_TABLE).to_pylist()


class _Pending:
    """Samples for the next batch. Records are counted through the whole file."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._seen = 0
        self._start()

    def _start(self) -> None:
        self._lines: list[bytes] = []
        self._rows: list[int] = []
        self._bad: list[BadSample] = []
        self._size = 0

    @property
    def count(self) -> int:
        """Records since the last batch."""
        return len(self._rows) + len(self._bad)

    @property
    def is_full(self) -> bool:
        """True if a batch is full."""
        return self._size >= self._limits.batch_bytes or self.count >= self._limits.rows

    def add(self, item: Any) -> None:
        """Take a record: a sample, or what is wrong with it."""
        number = self._seen
        self._seen += 1
        line, error = _line(item, self._limits.line)
        if error:
            self._bad.append(BadSample(number, number + 1, line[:RAW_LIMIT], error))
            return
        self._lines.append(line)
        self._rows.append(number)
        self._size += len(line)

    def batch(self) -> Batch:
        """The records since the last batch."""
        good = self._valid()
        column = pa.array([self._lines[i] for i in good], pa.large_binary()).view(pa.large_string())
        rows, bad = np.array(self._rows, np.int64)[good], self._bad
        self._start()
        return Batch(True, pa.table({LINE: column}), rows, rows + 1, bad, self._seen)

    def _valid(self) -> list[int]:
        """Places of the lines that would be samples in a file of JSON lines; the others become BadSamples."""
        ends = np.cumsum([len(line) for line in self._lines], dtype=np.int64)
        starts, kinds = np.concatenate((np.zeros(1, np.int64), ends))[:-1], np.zeros(len(ends), np.uint8)
        data = np.frombuffer(bytearray(b"".join(self._lines)), np.uint8)
        if not kernels.json.jsoncheck.objects(data, starts, ends, kinds):
            return list(range(len(kinds)))
        errors = {i: _error(self._lines[i]) for i in np.flatnonzero(kinds).tolist()}
        for i, error in errors.items():
            if error:
                self._bad.append(BadSample(self._rows[i], self._rows[i] + 1, self._lines[i][:RAW_LIMIT], error))
        return [i for i in range(len(kinds)) if not errors.get(i)]


def _error(line: bytes) -> str:
    """The reason why JSON that Python has written is no sample; "" if it is one."""
    repeated: list[str] = []

    def seen(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        repeated.extend(name for name in set(names) if names.count(name) > 1)

    try:
        json.loads(line, object_pairs_hook=seen)
    except RecursionError:
        return explain_json(line)
    if repeated:
        return f"two fields have the name {min(repeated)!r} as text"
    reason = explain_json(line)
    return "" if reason == "a valid object" else reason


def _line(item: Any, most: int) -> tuple[bytes, str]:
    """A sample as a JSON line and ""; else what is known of it, and the reason."""
    if isinstance(item, Exception):
        raw = item.args[1] if len(item.args) > 1 else b""
        reason = str(item.args[0]) if item.args else type(item).__name__
        return (raw if isinstance(raw, bytes) else str(raw).encode("utf-8", "replace")), reason
    if not isinstance(item, Mapping):
        return b"", f"read yields a sample as a dict, not {type(item).__name__}"
    try:
        line = as_json(dict(item)) + b"\n"
        line.decode()
    except UnicodeDecodeError:
        return line, not_utf8(line)
    except (TypeError, ValueError, RecursionError) as error:
        return b"", f"the sample cannot be written as JSON: {error}"
    return (line, f"a sample of {len(line)} bytes is longer than the limit") if len(line) > most else (line, "")
