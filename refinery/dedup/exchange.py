"""Files with a part for each task of the next phase, so that a task reads its own parts and nothing else.

A part is some streams of Arrow, in one place or in several. The task that writes a file returns the places of the parts that have rows, and
each reader is given those of its own: one request a place, none for an empty part. The parts of many files are first merged by a few
tasks, so that requests do not grow with the square of the tasks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.dedup.tasks.files import work
from refinery.kernels.core.arrow import ints, numbers
from refinery.storage.store import Store
from refinery.workers.executor import Executor, TaskPlace

# Requests to object storage at once.
_REQUESTS = 32
# Most rows of a stream, and bytes of a place, so that a part of any size can be read by slices.
_ROWS, _BYTES = 1 << 19, 64 << 20
# Files of which each task reads its part without merging. Prefixes of names, between which object storage spreads requests.
_FEW, _PREFIXES = 16, 64

# A part in a file of the store: the file, its first byte, its bytes.
Share = tuple[str, int, int]
# Places of the parts of a file that have rows: number of the part, first byte, bytes.
Places = list[tuple[int, int, int]]
# The first row of each part of a table that is in the order of its parts, and the number of its rows.
Cuts = np.ndarray


def write_groups(table: pa.Table, by: str, bounds: Sequence[int], path: Path) -> Places:
    """Write a table in the order of `by`, a part for each range of its values; returns the places of the parts.

    bounds: first value of each part, ascending, and the end of the last one. Raises ValueError for values outside.
    """
    with PartFile(path) as file:
        file.add_groups(table, by, bounds)
    return file.places


def divided(table: pa.Table, part: np.ndarray, count: int) -> tuple[pa.Table, Cuts]:
    """A table in the order of its rows' parts, of which there are `count`, and its cuts."""
    part = part.astype(np.uint16) if count <= 1 << 16 else part  # 16 bits are sorted by digits
    order = np.argsort(part, kind="stable")
    return table.take(ints(order)), np.append(0, np.cumsum(np.bincount(part, minlength=count)))


def write_parts(tables: Iterable[tuple[pa.Table, Cuts]], path: Path) -> Places:
    """Write the parts of tables one after another; returns their places."""
    number = 0
    with PartFile(path) as file:
        for table, cuts in tables:
            file.add(table, cuts, number)
            number += len(cuts) - 1
    return file.places


class PartFile:
    """A file of parts that is written table by table, as a context; every table may have rows of every part.

    places: of the parts, in the order of writing.
    """

    def __init__(self, path: Path) -> None:
        self._file, self.places = path.open("wb"), Places()

    def add_groups(self, table: pa.Table, by: str, bounds: Sequence[int]) -> None:
        """Write the rows of a table to the parts that have their values of `by`, see `write_groups`."""
        values = numbers(table[by])
        order = np.argsort(values, kind="stable")
        cuts = np.searchsorted(values, np.asarray(bounds, np.int64), sorter=order)
        if cuts[0] or cuts[-1] != len(values):
            raise ValueError(f"{by}: values outside of {bounds[0]} .. {bounds[-1]}")
        self.add(table.take(ints(order)), cuts)

    def add(self, table: pa.Table, cuts: Cuts, number: int = 0) -> None:
        """Write the rows of a table that is in the order of its parts. number: of the first part."""
        table = table.replace_schema_metadata(None).combine_chunks()
        most = min(_ROWS, max(1, len(table) * _BYTES // max(1, table.nbytes)))
        for part, (start, end) in enumerate(pairwise(cuts.tolist()), number):
            for first in range(start, end, most):
                self._write(table.slice(first, min(most, end - first)), part)

    def _write(self, table: pa.Table, part: int) -> None:
        first = self._file.tell()
        with pa.ipc.new_stream(self._file, table.schema) as stream:
            stream.write_table(table)
        self.places.append((part, first, self._file.tell() - first))

    def __enter__(self) -> PartFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def read_shares(store: Store, shares: Sequence[Share]) -> pa.Table:
    """The rows of some parts, in the order of the shares, of which there is at least one."""
    return pa.concat_tables(_tables(store, shares), promote_options="permissive")


def _tables(store: Store, shares: Sequence[Share]) -> Iterator[pa.Table]:
    ranges = list(_together(shares))
    if store.on_this_machine or len(ranges) == 1:
        contents: Iterable[bytes] = (store.bytes_at(*one) for one in ranges)
        for data in contents:
            yield from _streams(data)
        return
    with ThreadPoolExecutor(_REQUESTS) as pool:
        for data in pool.map(lambda one: store.bytes_at(*one), ranges):
            yield from _streams(data)


def _together(shares: Sequence[Share]) -> Iterator[Share]:
    """Shares, with those that follow each other in a file as one."""
    name, first, size = shares[0]
    for other, start, more in shares[1:]:
        if (other, start) == (name, first + size):
            size += more
            continue
        yield name, first, size
        name, first, size = other, start, more
    yield name, first, size


def _streams(data: bytes) -> Iterator[pa.Table]:
    source = pa.BufferReader(data)
    while source.tell() < len(data):
        yield pa.ipc.open_stream(source).read_all()


def merge(place: TaskPlace, files: Sequence[tuple[str, Places]], to: str) -> str:
    """Write the parts of files to one file; returns their places, as JSON. A file of object storage is read once."""
    with work(place) as (store, folder):
        there = {} if store.on_this_machine else {name: store.bytes_at(name, 0) for name, _ in files}
        parts = sorted(
            (number, at, name, start, size) for at, (name, own) in enumerate(files) for number, start, size in own
        )
        places: Places = []
        with (folder / "merged.parts").open("wb") as file:
            for number, _, name, start, size in parts:
                first = file.tell()
                file.write(there[name][start : start + size] if there else store.bytes_at(name, start, size))
                if places and places[-1][0] == number and places[-1][2] + size <= _BYTES:
                    places[-1] = number, places[-1][1], places[-1][2] + size
                else:
                    places.append((number, first, size))
        store.publish(folder / "merged.parts", to)
    return json.dumps(places)


class Exchange:
    """Files that the tasks of one phase leave for those of the next. folder: of the temporary files of a deduplicator."""

    def __init__(self, executor: Executor, folder: str) -> None:
        self._executor, self._folder = executor, folder
        self._merged = 0

    def names(self, kind: str, count: int, suffix: str = "parts") -> list[str]:
        """Names of temporary files, spread over prefixes."""
        return [f"{self._folder}/{number % _PREFIXES:02x}/{kind}_{number:05d}.{suffix}" for number in range(count)]

    def shares(self, names: Sequence[str], places: Sequence[Places], count: int) -> list[list[Share]]:
        """For each of `count` parts, its shares of some files, in the order of the files."""
        files = [(name, own) for name, own in zip(names, places, strict=True) if own]
        if len(files) > _FEW:
            files = self._merge(files)
        by_number: list[list[Share]] = [[] for _ in range(count)]
        for name, own in files:
            for number, start, size in own:
                by_number[number].append((name, start, size))
        return by_number

    def _merge(self, files: Sequence[tuple[str, Places]]) -> list[tuple[str, Places]]:
        """Fewer files with the same parts: about the square root of their number."""
        self._merged += 1
        each = math.isqrt(len(files) - 1) + 1
        groups = [files[start : start + each] for start in range(0, len(files), each)]
        to = self.names(f"merged_{self._merged}", len(groups))
        answers = self._executor.map(merge, list(zip(groups, to, strict=True)), label="merge parts")
        return [(name, json.loads(answer)) for name, answer in zip(to, answers, strict=True)]
