"""Samples written to folders named by their values: `lang=en/site=x/part.jsonl` (hive partitions)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from refinery.common.field_profile import InputProfile
from refinery.errors import OutputError
from refinery.io.batch import LINE
from refinery.io.partitions import MISSING
from refinery.io.writers.write import parquet_writer
from refinery.kernels.core.arrow import ints, texts

# Bytes that all partitions together hold in memory before they go to files.
_HELD = 128 << 20
# Most bytes of a folder's name in common file systems, less some for temporary names.
_LONGEST = 200
Values = Sequence[str | None]


def folder_of(names: Sequence[str], values: Values) -> str:
    """The folder of samples with these values, below the folder of the export. Raises ValueError for one that is too long."""
    folders = [f"{quote(name, safe='')}={_written(value)}" for name, value in zip(names, values, strict=True)]
    for name, value, folder in zip(names, values, folders, strict=True):
        if len(folder) > _LONGEST:
            raise ValueError(f"the value {str(value)[:40]!r}... of {name} is too long for the name of a folder")
    return "/".join(folders)


def _written(value: str | None) -> str:
    """A value as a name that every file system and store accepts; `unquote` gives the value again."""
    if value is None:
        return MISSING
    return quote(value, safe="") if value != MISSING else quote(value, safe="").replace("_", "%5F", 1)


@dataclass
class PartitionParts:
    """Samples by the folder that they belong to, in files of a temporary folder, in the order in which they are added.

    lines: the samples are JSON lines (of a column `_line`), else a table. most: of folders. what: the key of the recipe, for
    messages.
    """

    scratch: Path
    lines: bool
    most: int
    what: str
    rows: dict[str, int] = field(default_factory=dict)
    _pending: dict[str, list[Any]] = field(default_factory=dict)
    _held: int = 0
    _files: dict[str, list[str]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, table: pa.Table, folders: np.ndarray, names: Sequence[str]) -> None:
        """Add samples. folders: for each sample the position of its folder among `names`. Raises OutputError."""
        order = np.argsort(folders, kind="stable")
        sorted_table = table if (order[1:] > order[:-1]).all() else table.take(ints(order))
        starts = np.flatnonzero(np.diff(folders[order], prepend=-1))
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(order)], strict=True):
            name = names[int(folders[order[start]])]
            self._put(name, sorted_table.slice(start, end - start))
        if self._held >= _HELD:
            self.flush()

    def _put(self, name: str, table: pa.Table) -> None:
        if name not in self.rows and len(self.rows) == self.most:
            cure = "Partition by fewer values (an expression such as substr(name, 1, 1)), or raise max_partitions"
            raise OutputError(f"{self.what}: there are more than {self.most:,} folders, the last {name!r}. {cure}")
        self.rows[name] = self.rows.get(name, 0) + len(table)
        piece: Any = table
        if self.lines:
            view = texts(table[LINE])
            piece = view.data[view.offsets[0] : view.offsets[-1]].tobytes()
        self._held += len(piece) if self.lines else table.nbytes
        self._pending.setdefault(name, []).append(piece)

    def flush(self) -> None:
        """Write what is held in memory to files."""
        for name, pieces in self._pending.items():
            files = self._files.setdefault(name, [])
            number = self._numbers.setdefault(name, len(self._numbers))
            if self.lines:
                path = self.scratch / f"{number:06d}.jsonl"
                with path.open("ab") as file:
                    file.writelines(pieces)
                self._files[name] = [str(path)]
                continue
            path = self.scratch / f"{number:06d}.{len(files):04d}.parquet"
            table = pa.concat_tables(pieces, promote_options="permissive")
            with parquet_writer(path, table.schema, "lz4") as writer:
                writer.write_table(table)
            files.append(str(path))
        self._pending, self._held = {}, 0

    def files(self) -> Iterator[tuple[str, list[str]]]:
        """The folders in the order of their names, each with the files of its samples."""
        self.flush()
        for name in sorted(self.rows):
            yield name, self._files[name]


def profile_of_files(files: Iterable[str]) -> InputProfile:
    """Profile of the fields of files of JSON lines."""
    from refinery.io.writers.tables import profile_of_part

    whole = InputProfile()
    for path in files:
        whole.merge(profile_of_part(path)[0])
    return whole


def numbered_folders(
    columns: Sequence[pa.Array | pa.ChunkedArray], names: Sequence[str]
) -> tuple[np.ndarray, list[str]]:
    """For each sample the position of its folder in a list of folders. columns: of values, texts or NULL. Raises ValueError."""
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    known: dict[tuple[str | None, ...], int] = {}
    numbers = np.fromiter((known.setdefault(values, len(known)) for values in rows), np.int64)
    return numbers, [folder_of(names, values) for values in known]


def remove_empty_folders(folder: str, path: str) -> None:
    """Remove the folders `name=value` above a removed file that are empty now, up to the folder of the export."""
    parent = os.path.dirname(path)
    while "=" in os.path.basename(parent) and parent.startswith(folder + os.sep):
        try:
            os.rmdir(parent)
        except OSError:
            return
        parent = os.path.dirname(parent)
