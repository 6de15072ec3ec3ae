"""Scratch files of a sample, laid out like the input, so that reading them costs what reading the input costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from refinery.common.lazy import pq
from refinery.inspect.forecast.reading import page_limit
from refinery.io.batch import LINE
from refinery.io.model import Shard, Source
from refinery.io.sources import cut
from refinery.storage.urls import is_url

# Bytes of a scratch shard at most.
_WHOLE = 1 << 50
_SEED = 7


@dataclass(frozen=True)
class ScratchCut:
    """Shards of a sample: number of those that make a smaller run, number of the others, and the first ones' share of the rows."""

    first: int
    others: int
    share: float


@dataclass(frozen=True)
class ScratchFiles:
    """Scratch files and their shards. marks: group, cell and bytes of each row, in order. first: number of shards of the smaller run."""

    shards: tuple[Shard, ...]
    sources: tuple[Source, ...]
    marks: list[tuple[int, int, int]]
    first: int


@dataclass(frozen=True)
class _Layout:
    """Layout of a Parquet file, on which the costs of reading depend.

    rows: most of a group. codec: of its pages. page: bytes of a page. encoded: columns with dictionaries.
    """

    rows: int = 100_000
    codec: str = "zstd"
    page: int = 1 << 20
    encoded: tuple[str, ...] = ()


class Scratch:
    """Writer of scratch files: one for every kind of table, one for every kind of other file and scratch shard."""

    def __init__(self, folder: Path, pieces: ScratchCut) -> None:
        self._pieces = pieces
        self._folder, self._random = folder, np.random.default_rng(_SEED)
        self._lines: dict[tuple[int, Source], list[bytes]] = {}
        self._tables: dict[tuple[int, Source], list[pa.Table]] = {}
        self._schemas: dict[Source, pa.Schema | None] = {}
        self._layouts: dict[Source, _Layout] = {}
        self._marks: dict[tuple[int, Source], list[tuple[int, int, int]]] = {}
        self.unread = 0

    def add_line(self, source: Source, line: bytes, group: int, cell: int) -> None:
        """Add a line of a file, as it is."""
        key = self._shard(1)[0], replace(source, path="", size=0, version="")
        self._lines.setdefault(key, []).append(line)
        self._marks.setdefault(key, []).append((group, cell, len(line)))

    def add(self, shard: Shard, table: pa.Table, groups: Sequence[int], cells: Sequence[int]) -> None:
        """Add rows of a shard, as its reader gives them."""
        old = shard.source
        form = "jsonl" if shard.lines else old.format if old.format == "parquet" else "arrow"
        source = Source("", form, None, old.suffix, 0, old.dataset, texts=old.texts)
        self._schemas.setdefault(source, shard.schema)
        if form == "parquet" and source not in self._layouts:
            self._layouts[source] = _layout(old)
        numbers = self._shard(table.num_rows)
        for number in np.unique(numbers):
            rows, key = np.flatnonzero(numbers == number), (int(number), source)
            some = table.take(pa.array(rows))
            if shard.lines:
                self._lines.setdefault(key, []).extend(map(_ended, some[LINE].to_pylist()))
            else:
                self._tables.setdefault(key, []).append(some)
            self._marks.setdefault(key, []).extend((groups[row], cells[row], 0) for row in rows.tolist())

    def _shard(self, count: int) -> np.ndarray:
        """Numbers of the shards of some rows."""
        cut = self._pieces
        is_first = self._random.random(count) < cut.share
        others = cut.first + self._random.integers(cut.others, size=count)
        return np.where(is_first, self._random.integers(cut.first, size=count), others)

    def close(self) -> ScratchFiles:
        """Write the files."""
        pieces: dict[tuple[int, Source], Shard] = {}
        keys = sorted(self._marks, key=lambda key: (_kind(key[1]), key[0]))
        for number, (_, group) in enumerate(groupby(keys, key=lambda key: key[1])):
            own = list(group)
            if own[0][1] in self._layouts:
                pieces |= self._parquet(own, number)
            else:
                pieces |= {key: self._shard_of(key, number) for key in own}
        order = sorted(pieces, key=lambda key: (key[0], _kind(key[1])))
        shards = tuple(replace(pieces[key], index=index) for index, key in enumerate(order))
        marks = [mark for key in order for mark in self._marks[key]]
        first = max(1, sum(number < self._pieces.first for number, _ in order))
        return ScratchFiles(shards, tuple(dict.fromkeys(shard.source for shard in shards)), marks, first)

    def _parquet(self, keys: Sequence[tuple[int, Source]], number: int) -> dict[tuple[int, Source], Shard]:
        """Shards of one Parquet file: each has groups of rows of its own."""
        source, tables = keys[0][1], [pa.concat_tables(self._tables[key]) for key in keys]
        path, layout = self._folder / f"{number}{source.suffix or '.parquet'}", self._layouts[source]
        how: dict[str, Any] = {"compression": layout.codec, "data_page_size": layout.page}
        with pq.ParquetWriter(path, tables[0].schema, use_dictionary=list(layout.encoded), **how) as writer:
            for table in tables:
                writer.write_table(table, row_group_size=layout.rows)
        source = replace(source, path=str(path), size=path.stat().st_size)
        whole = cut([source], _WHOLE)[0]
        schema = self._schemas[keys[0][1]]
        whole = replace(whole, schema=schema if schema is not None else whole.schema)
        ends = np.cumsum([table.num_rows for table in tables]).tolist()
        sizes = np.diff(np.array([0, *ends]) * source.size // ends[-1]).tolist()
        starts = [0, *ends[:-1]]
        return {
            key: replace(whole, start=start, end=end, size=size)
            for key, start, end, size in zip(keys, starts, ends, sizes, strict=True)
        }

    def _shard_of(self, key: tuple[int, Source], number: int) -> Shard:
        """A shard with a file of its own."""
        path = self._folder / f"{number}-{key[0]:03d}{key[1].suffix or '.jsonl'}"
        if key in self._lines:
            path.write_bytes(b"".join(self._lines[key]))
        else:
            table = pa.concat_tables(self._tables[key])
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
        shard = cut([replace(key[1], path=str(path), size=path.stat().st_size)], _WHOLE)[0]
        schema = self._schemas.get(key[1])
        return replace(shard, schema=schema if schema is not None else shard.schema)


def _kind(source: Source) -> tuple[str, str, str]:
    return str(source.dataset), source.format, source.suffix


def _layout(source: Source) -> _Layout:
    """The layout of a file on this machine; that of others is not looked at."""
    if is_url(source.path) or source.table is not None:
        return _Layout()
    metadata = pq.read_metadata(source.path)
    if not metadata.num_row_groups or not metadata.num_columns:
        return _Layout()
    group = metadata.row_group(0)
    columns = [group.column(number) for number in range(metadata.num_columns)]
    codec = columns[0].compression.lower()
    known = {"uncompressed": "none", "lz4_raw": "lz4"}.get(codec, codec)
    encoded = tuple(column.path_in_schema for column in columns if any("DICT" in name for name in column.encodings))
    return _Layout(max(1, group.num_rows), known, page_limit(metadata), encoded)


def _ended(line: Any) -> bytes:
    raw = line if isinstance(line, bytes) else str(line).encode()
    return raw if raw.endswith(b"\n") else raw + b"\n"
