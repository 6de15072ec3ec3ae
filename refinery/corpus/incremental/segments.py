"""Tables of a corpus' state: Parquet files by change, of which the last one with a row has its values.

A file is never changed, so states of several snapshots share it by hard links. Rows have the number `_row`, see `rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc, pq
from refinery.corpus.incremental.seals import Seals
from refinery.corpus.levels import merged_at
from refinery.kernels.core.arrow import ints, numbers

# Rows whose lines are encoded together: readers decode all of them to take one.
GROUP = 1024
_BYTES = 1 << 18


@dataclass(frozen=True)
class _Place:
    """Rows wanted of one file. at: places in the file, ascending. of: place of each among the wanted rows."""

    file: Path
    at: np.ndarray
    of: np.ndarray


class Segments:
    """One table. folder: of its files, `000003.parquet` of the fourth change. seals: of the files. beside: tables whose files have the same
    rows. turn: number of changes by which files are merged earlier than those of others, so that no change merges all tables. every: all lines of a row count, also those of earlier files than the last one.

    Files are ordered by `_row`, which several lines of a file may have (`take` is for tables where that is not so). What is read of a
    file is compared with its seal; methods raise DamagedState.
    """

    def __init__(
        self, folder: Path, seals: Seals, beside: Sequence[str] = (), turn: int = 0, every: bool = False
    ) -> None:
        self.folder, self._seals, self._beside, self._turn, self._every = folder, seals, beside, turn, every

    @property
    def files(self) -> list[Path]:
        """The files, in the order of changes."""
        return sorted(self.folder.glob("[0-9]*.parquet"))

    def names(self) -> list[str]:
        """Paths of the files, for SQL that reads all of them."""
        files = self.files
        for file in files:
            self._seals.require(file)
        return [str(file) for file in files]

    def rows_by_file(self) -> Iterator[np.ndarray]:
        """The rows of each file, ascending."""
        for file in self.files:
            yield np.unique(self._rows_in(file))

    def _rows_in(self, file: Path) -> np.ndarray:
        """The row of each line of a file."""
        self._seals.require(file)
        with pq.ParquetFile(file) as opened:
            return numbers(opened.read(["_row"])["_row"].combine_chunks())

    def append(self, change: int, table: pa.Table, **beside: pa.Table) -> None:
        """Write the rows of a change, which ascend; nothing without rows. beside: further tables of the same rows."""
        if not len(table):
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write(table, self.folder / f"{change:06d}.parquet")
        for name, other in beside.items():
            assert len(other) == len(table) and name in self._beside
            self._write(other, self.folder / f"{name}-{change:06d}.parquet")

    def _write(self, table: pa.Table, path: Path) -> None:
        _write(iter([table]), path)
        self._seals.set(path)

    def forget(self, rows: np.ndarray) -> None:
        """Write the files anew that have some of these rows (ascending), without them. Files of earlier states stay as they are."""
        for file in self.files:
            there, _ = self._rows_of(file, rows)
            if not np.isin(there, rows).any():
                continue
            left = np.flatnonzero(~np.isin(self._rows_in(file), rows))
            for path in self._of_rows(file):
                self._reduce(path, left)

    def _reduce(self, path: Path, left: np.ndarray) -> None:
        """Reduce a file to lines at some places; other names of the file keep all of it."""
        self._seals.require(path)
        with pq.ParquetFile(path) as file:
            table = file.read().take(ints(left))
        path.unlink()
        self._seals.drop(path)
        if len(table):
            self._write(table, path)

    def merge(self, change: int) -> None:
        """Merge small files, see `levels`; the merged one has the name of the last. Files of earlier states stay as they are."""
        files, now = self.files, change + 1 + self._turn
        for run in merged_at(now, [(int(file.stem) + 1 + self._turn, self._size(file)) for file in files]):
            some = files[run.start : run.stop]
            for file in some:
                for path in self._of_rows(file):
                    self._seals.require(path, ())
            groups = zip(*map(self._of_rows, some), strict=True)
            if all(len({pq.read_schema(path) for path in paths}) == 1 for paths in groups):
                self._join(some)

    def _size(self, file: Path) -> int:
        return max(path.stat().st_size for path in self._of_rows(file))

    def _of_rows(self, file: Path) -> list[Path]:
        """A file, and those beside it with the same rows."""
        return [file, *(file.with_name(f"{name}-{file.name}") for name in self._beside)]

    def _join(self, files: Sequence[Path]) -> None:
        """Make one file of some."""
        index = _last_lines([self._rows_in(file) for file in files], self._every)
        in_order = np.array_equal(index, np.arange(len(index)))
        for paths in zip(*map(self._of_rows, files), strict=True):
            for path in paths:
                self._seals.require(path)
            aside = paths[-1].with_suffix(".tmp")
            _write(_tables(paths) if in_order else iter([pa.concat_tables(_tables(paths)).take(ints(index))]), aside)
            for path in paths:  # earlier states have names of their own for these files
                path.unlink()
                self._seals.drop(path)
            aside.replace(paths[-1])
            self._seals.set(paths[-1])

    def known(self, rows: np.ndarray) -> np.ndarray:
        """Mask of the rows that the table has."""
        mask = np.zeros(len(rows), bool)
        for place in self._places(rows):
            mask[place.of] = True
        return mask

    def take(self, rows: np.ndarray, columns: Sequence[str] | None = None, of: str = "") -> pa.Table:
        """The last values of rows (ascending, different) that the table has, in their order.

        of: the table beside, or this one. Rows that it does not have are left out.
        """
        tables, order = [], []
        for place in self._places(rows):
            path = place.file.with_name(f"{of}-{place.file.name}") if of else place.file
            tables.append(self._at(path, place.at, columns))
            order.append(place.of)
        if not tables:
            return self._empty(columns, of)
        return pa.concat_tables(tables).take(ints(np.argsort(np.concatenate(order), kind="stable")))

    def _empty(self, columns: Sequence[str] | None, of: str) -> pa.Table:
        paths = sorted(self.folder.glob(f"{of}-*.parquet" if of else "[0-9]*.parquet"))
        for path in paths[-1:]:
            self._seals.require(path, ())
        schema = pq.read_schema(paths[-1]) if paths else pa.schema([("_row", pa.int64())])
        names = [name for name in (columns if columns is not None else schema.names) if name in schema.names]
        return pa.schema([schema.field(name) for name in names]).empty_table()

    def _places(self, rows: np.ndarray) -> Iterator[_Place]:
        """Places of rows in the files, the last file first."""
        left = np.arange(len(rows))
        for file in reversed(self.files):
            if not len(left):
                return
            there, at = self._rows_of(file, rows[left])
            place = np.searchsorted(there, rows[left])
            inside = place < len(there)
            inside[inside] = there[place[inside]] == rows[left][inside]
            if inside.any():
                yield _Place(file, at[place[inside]], left[inside])
            left = left[~inside]

    def _rows_of(self, path: Path, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of rows in the groups of a file that may have some of `rows`, and their places in the file."""
        self._seals.require(path, ())
        with pq.ParquetFile(path) as file:
            groups, starts = _groups(file, rows)
            if not groups:
                return np.zeros(0, np.int64), np.zeros(0, np.int64)
            self._seals.require(path, groups)
            there = numbers(file.read_row_groups(groups, ["_row"])["_row"].combine_chunks())
            sizes = [file.metadata.row_group(group).num_rows for group in groups]
        return there, np.concatenate(
            [np.arange(starts[g], starts[g] + size) for g, size in zip(groups, sizes, strict=True)]
        )

    def _at(self, path: Path, places: np.ndarray, columns: Sequence[str] | None) -> pa.Table:
        """Rows of a file at ascending places; only groups with some of them are read, one after another: memory is used again."""
        self._seals.require(path, ())
        with pq.ParquetFile(path) as file:
            sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            starts = np.cumsum([0, *sizes])
            of = np.searchsorted(starts, places, "right") - 1
            groups, firsts = np.unique(of, return_index=True)
            self._seals.require(path, groups.tolist())
            names = list(columns) if columns is not None else None
            return pa.concat_tables(
                file.read_row_group(group, names).take(ints(own - starts[group]))
                for group, own in zip(groups.tolist(), np.split(places, firsts[1:]), strict=True)
            )


def _last_lines(rows: Sequence[np.ndarray], every: bool) -> np.ndarray:
    """Places of the lines of some files, one after another, in the order of rows: those of the last file that has each row, or all."""
    row, file = np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    if every:
        return np.argsort(row, kind="stable")
    order = np.lexsort((file, row))
    last = np.flatnonzero(np.append(np.diff(row[order]) != 0, True))
    last_file = np.repeat(file[order][last], np.diff(last, prepend=-1))
    return order[file[order] == last_file]


def _tables(paths: Sequence[Path]) -> Iterator[pa.Table]:
    """The lines of files, in order, some at a time."""
    for path in paths:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)


def _write(tables: Iterator[pa.Table], path: Path) -> None:
    """Write lines to a file; a group has those of about GROUP rows."""
    held = [next(tables)]
    lines = _lines_of_group(held[0])
    numbered = ["_row"] if held[0].column_names[0] == "_row" else False
    options = {"compression": "zstd", "use_dictionary": False, "write_statistics": numbered}
    with pq.ParquetWriter(path, held[0].schema, **options) as writer:
        for table in tables:
            if sum(map(len, held)) >= lines:
                writer.write_table(pa.concat_tables(held), row_group_size=lines)
                held = []
            held.append(table)
        writer.write_table(pa.concat_tables(held), row_group_size=lines)


def _lines_of_group(table: pa.Table) -> int:
    """Lines of about GROUP rows: a deduplicator of parts of texts has many lines of a row, and small groups are slow to scan.

    Of tables beside, which are not scanned but read for some rows, lines of _BYTES at most.
    """
    if table.column_names[0] != "_row":
        return max(1, min(GROUP, len(table) * _BYTES // max(1, table.nbytes)))
    return GROUP * max(1, len(table) // max(1, len(pc.unique(table["_row"]))))


def _groups(file: pq.ParquetFile, rows: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Groups whose range of numbers has some of `rows`; the place of each group's first row."""
    metadata = file.metadata
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    bounds = [group.column(0).statistics for group in groups]
    low, high = (np.array([getattr(one, kind) for one in bounds], np.int64) for kind in ("min", "max"))
    some = np.searchsorted(rows, low, "left") < np.searchsorted(rows, high, "right")
    starts = np.cumsum([0, *(group.num_rows for group in groups)])
    return np.flatnonzero(some).tolist(), starts
