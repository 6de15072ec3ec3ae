"""Spool a stream of samples to numbered files, which are the input of the run from then on.

Dicts become JSON lines, batches Arrow files. A file that an earlier run has written with the same bytes stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date, time
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.digest import digest_of_file
from refinery.errors import DataError, RefineryError
from refinery.io.python_data.kinds import as_table, is_batch, tables_of
from refinery.io.readers.spooled import bad_line
from refinery.storage.store import Store

# Bytes of samples in a file; of a bad record in quarantine; rows of a record batch, between which shards are cut.
PART = 64 << 20
_RAW = 64 << 10
_ROWS = 2048


@dataclass(frozen=True)
class SpooledPart:
    """One file. digest: of its bytes. version: of the file in its store. node: of the cluster that has written it."""

    name: str
    rows: int
    digest: str
    version: str
    node: str = ""


class SpoolNote:
    """The list of the files of a spool, beside them. Unreadable lists count as empty."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name

    def read(self) -> dict[str, SpooledPart]:
        """The files of the last spool, by name."""
        try:
            listed = [SpooledPart(**item) for item in json.loads(self._store.read_text(self._name))]
        except (OSError, ValueError, TypeError):
            return {}
        return {part.name: part for part in listed}

    def write(self, parts: Iterable[SpooledPart]) -> None:
        """Store the list."""
        self._store.write_text(self._name, json.dumps([asdict(part) for part in parts]))
        _leave(self._store)


class Spool:
    """Writes files into a store. known: the files of an earlier spool there, by name."""

    def __init__(self, store: Store, known: Mapping[str, SpooledPart], size: int = PART) -> None:
        self._store, self.known, self._size = store, known, size
        self.url = store.url

    def write(self, dataset: Any) -> list[SpooledPart]:
        """Write all samples. Raises DataError for a dataset of no known kind, or one that ends with an error."""
        tables = tables_of(dataset)
        if tables is not None:
            return self.tables(_guarded(tables))
        items = _guarded(iter(dataset))
        for first in items:
            all_items = chain((first,), items)
            return self.tables(map(as_table, all_items)) if is_batch(first) else self.samples(all_items)
        return self.samples(iter(()))

    def samples(self, items: Iterator[Any]) -> list[SpooledPart]:
        """Write dicts as JSON lines; anything else becomes a line that quarantine receives."""
        parts: list[SpooledPart] = []
        more = True
        while more:
            name = _name(len(parts), "samples")
            path, rows = self._store.scratch() / name, 0
            with path.open("wb") as file:
                for item in items:
                    file.write(_line(item))
                    rows += 1
                    if file.tell() >= self._size:
                        break
                else:
                    more = False
            if rows or not parts:  # an empty dataset has one file, too
                parts.append(self.publish(path, name, rows))
            else:
                path.unlink()
        return parts

    def tables(self, tables: Iterable[pa.Table]) -> list[SpooledPart]:
        """Write tables; another schema begins another file. Raises DataError without any table."""
        parts: list[SpooledPart] = []
        pending: list[pa.Table] = []
        empty: pa.Table | None = None
        size = 0
        for table in _pieces(tables, self._size):
            empty = table.slice(0, 0) if empty is None else empty
            if pending and (size + table.nbytes > self._size or table.schema != pending[0].schema):
                parts.append(self.arrow(pending, _name(len(parts), "arrow")))
                pending, size = [], 0
            if table.num_rows:
                pending.append(table)
                size += table.nbytes
        if not pending and not parts and empty is not None:
            pending = [empty]
        if pending:
            parts.append(self.arrow(pending, _name(len(parts), "arrow")))
        if not parts:
            raise DataError("dataset: the stream has no batch, so its columns are unknown")
        return parts

    def arrow(self, tables: list[pa.Table], name: str, node: str = "") -> SpooledPart:
        """Write tables of one schema into one Arrow file."""
        path = self._store.scratch() / name
        options = pa.ipc.IpcWriteOptions(
            compression="lz4" if pa.Codec.is_available("lz4") else None, unify_dictionaries=True
        )
        table = pa.concat_tables(tables).combine_chunks()
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=_ROWS)
        return self.publish(path, name, table.num_rows, node)

    def publish(self, path: Path, name: str, rows: int, node: str = "") -> SpooledPart:
        """Give a file its name, unless the file of that name has the same bytes."""
        digest = digest_of_file(path)
        text, before = f"{digest.size} {digest.hexdigest()}", self.known.get(name)
        if before is not None and before.digest == text and before.version == self._store.version(name) != "":
            path.unlink()
        else:
            self._store.publish(path, name)
        return SpooledPart(name, rows, text, self._store.version(name), node)

    def keep_only(self, parts: Iterable[SpooledPart]) -> None:
        """Remove the files of earlier spools that are not among these."""
        own = {part.name for part in parts}
        for name in self._store.names("part-"):
            if name not in own:
                self._store.discard(name)
        _leave(self._store)


def _leave(store: Store) -> None:
    """Remove the scratch folder in a folder of this machine, as far as it is empty."""
    if store.on_this_machine:
        folder = store.scratch()
        with suppress(OSError):
            folder.rmdir()
            folder.parent.rmdir()


def _name(number: int, suffix: str) -> str:
    return f"part-{number:06d}.{suffix}"


def part_name(number: int) -> str:
    """The name of an Arrow file by its number, for files that are written side by side."""
    return _name(number, "arrow")


def _guarded(items: Iterator[Any]) -> Iterator[Any]:
    """The items; an error that ends them is a DataError."""
    count = 0
    try:
        for item in items:
            yield item
            count += 1
    except RefineryError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise DataError(f"dataset: it ended with an error after {count:,} items, so nothing was run: {what}") from error


def _pieces(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """The tables without metadata, large ones in pieces of about `size` bytes."""
    for table in tables:
        table = table.replace_schema_metadata(None)
        rows = max(1, int(table.num_rows * size / max(1, table.nbytes)))
        for start in range(0, max(1, table.num_rows), rows):
            yield table.slice(start, rows)


def _line(item: Any) -> bytes:
    """The JSON line of a sample, or the line of a record that is none."""
    if isinstance(item, Exception):
        return bad_line("", str(item) or type(item).__name__)
    if not isinstance(item, Mapping):
        return bad_line(repr(item)[:_RAW], f"a sample is a dict, not {type(item).__name__}")
    try:
        _require_names(item)
        return json.dumps(dict(item), ensure_ascii=False, default=_plain).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        return bad_line(repr(item)[:_RAW], f"the sample cannot be written as JSON: {error}")


def _require_names(value: Any) -> None:
    """Raise TypeError for a name of a field that is no text: JSON would turn it into one."""
    if isinstance(value, Mapping):
        for name, below in value.items():
            if not isinstance(name, str):
                raise TypeError(f"the name {name!r} of a field is no text")
            if not isinstance(below, str):
                _require_names(below)
    elif isinstance(value, (list, tuple)):
        for below in value:
            if not isinstance(below, str):
                _require_names(below)


def _plain(value: Any) -> Any:
    """Values of numpy as Python's, times in ISO 8601, bytes of UTF-8 as text. Raises TypeError for any others."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode()
    raise TypeError(f"a value is of type {type(value).__name__}")
