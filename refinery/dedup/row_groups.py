"""Files whose parts are partitions of a table, so that a task reads its own part of many files and nothing else.

A file begins with numbers of 8 bytes: the place of its schema, the place of each part, and the end of the last one. A part is a
mark of its schema and batches of Arrow. So a reader takes a few bytes of the beginning and then its parts, whatever their number;
the schema is read once for many files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import numbers
from refinery.storage.store import Store

_WORD, _MARK = 8, 16
# Requests to object storage at once.
_REQUESTS = 32

# A file in the store, and the number of a part.
Share = tuple[str, int]

# The first row of each part of a table that is in the order of its parts, and the number of its rows.
Cuts = np.ndarray


def write_groups(table: pa.Table, by: str, bounds: Sequence[int], path: Path) -> list[int]:
    """Write a table in the order of `by`, a part for each range of its values; returns the parts that have rows.

    bounds: first value of each part, ascending, and the end of the last one. Raises ValueError for values outside.
    """
    values = numbers(table[by])
    order = np.argsort(values, kind="stable")
    cuts = np.searchsorted(values[order], np.asarray(bounds, np.int64))
    if cuts[0] or cuts[-1] != len(values):
        raise ValueError(f"{by}: values outside of {bounds[0]} .. {bounds[-1]}")
    return write_parts([(table.take(pa.array(order)), cuts)], len(bounds) - 1, path)


def divided(table: pa.Table, part: np.ndarray, count: int) -> tuple[pa.Table, Cuts]:
    """A table in the order of its rows' parts, of which there are `count`, and its cuts."""
    part = part.astype(np.uint16) if count <= 1 << 16 else part  # 16 bits are sorted by digits
    order = np.argsort(part, kind="stable")
    return table.take(pa.array(order)), np.append(0, np.cumsum(np.bincount(part, minlength=count)))


def write_parts(tables: Iterable[tuple[pa.Table, Cuts]], count: int, path: Path) -> list[int]:
    """Write the parts of tables, whose columns are the same, one after another; returns the parts that have rows.

    count: of all parts.
    """
    schema, places = pa.schema([]), [_WORD * (2 + count)]
    with path.open("wb") as file:
        file.seek(places[0])
        for table, cuts in tables:
            schema = table.schema.remove_metadata() if len(table) else schema
            mark, whole = _mark(schema), table.combine_chunks()
            for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
                if end > start:
                    file.write(mark)
                    for batch in whole.slice(start, end - start).to_batches():
                        file.write(batch.serialize())
                places.append(file.tell())
        file.write(schema.serialize())
        file.seek(0)
        file.write(np.array([places[-1], *places], np.int64).tobytes())
    return np.flatnonzero(np.diff(places)).tolist()


def read_parts(store: Store, names: Sequence[str], first: int, end: int = -1) -> pa.Table | None:
    """The rows of the parts `first` .. `end` - 1 (of one part without `end`) of files; None if there are none."""
    found = [table for table in each_part(store, names, first, end) if table is not None]
    return pa.concat_tables(found, promote_options="permissive") if found else None


def each_part(store: Store, names: Sequence[str], first: int, end: int = -1) -> Iterator[pa.Table | None]:
    """The rows of parts (see `read_parts`) of each file, in order; None for a file without any."""
    count, schemas = (1 if end < 0 else end - first), dict[bytes, pa.Schema]()

    def read(name: str) -> pa.Table | None:
        places = _numbers(store, name, 1 + first, count + 1)
        if places[0] == places[-1]:
            return None
        data, batches = store.bytes_at(name, places[0], places[-1] - places[0]), list[pa.RecordBatch]()
        if (mark := data[:_MARK]) not in schemas:
            schemas[mark] = _schema(store, name)
        for start, stop in zip(places, places[1:], strict=False):
            batches += _batches(data[start - places[0] + _MARK : stop - places[0]], schemas[mark])
        return pa.Table.from_batches(batches)

    if store.on_this_machine:
        yield from map(read, names)
        return
    with ThreadPoolExecutor(_REQUESTS) as pool:
        yield from pool.map(read, names)


def read_shares(store: Store, shares: Sequence[Share]) -> pa.Table:
    """The rows of some parts, in the order of the shares, of which there is at least one; none of them is empty."""
    found = [read_parts(store, [name for name, _ in run], part) for part, run in groupby(shares, itemgetter(1))]
    return pa.concat_tables([table for table in found if table is not None], promote_options="permissive")


def shares_of(names: Sequence[str], parts: Sequence[Sequence[int]], count: int) -> list[list[Share]]:
    """For each of `count` parts, its shares of some files. parts: those with rows, of each file, from `write_groups`."""
    found: list[list[Share]] = [[] for _ in range(count)]
    for name, own in zip(names, parts, strict=True):
        for part in own:
            found[part].append((name, part))
    return found


def _numbers(store: Store, name: str, first: int, count: int) -> list[int]:
    """Numbers at the beginning of a file."""
    return np.frombuffer(store.bytes_at(name, first * _WORD, count * _WORD), np.int64).tolist()


def _schema(store: Store, name: str) -> pa.Schema:
    [place] = _numbers(store, name, 0, 1)
    return pa.ipc.read_schema(pa.py_buffer(store.bytes_at(name, place, -1)))


def _mark(schema: pa.Schema) -> bytes:
    return hashlib.blake2b(schema.serialize(), digest_size=_MARK).digest()


def _batches(data: bytes, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    source = pa.BufferReader(data)
    while source.tell() < len(data):
        yield pa.ipc.read_record_batch(pa.ipc.read_message(source), schema)
