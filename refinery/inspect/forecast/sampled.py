"""A sample of the rows of an input, written to scratch files that a run reads in place of the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from refinery.common.lazy import pq
from refinery.inspect.forecast.drawing import GROUPS, Chosen, LineFiles, choose, chosen_share
from refinery.io.batch import LINE
from refinery.io.model import Shard, Source
from refinery.io.readers.read import count_rows, read
from refinery.io.readers.registry import reader_of
from refinery.io.sources import cut
from refinery.io.splitting import expanded
from refinery.storage.urls import is_url

# Shares of the sample in the scratch shards: the first one warms up, the others show the cost of a shard and of its bytes.
_SHARES = np.array([1, 1, 2, 4, 8]) / 16
# Most shards of the input that are read for a sample, where single rows can't be read.
_SHARDS = 64
# Bytes of a scratch shard at most, and of a shard of rows that is read for a sample.
_WHOLE, _LARGE = 1 << 50, 128 << 20
_SEED = 7
# Files of lines are read once up to this size, for the number of lines.
_COUNTED = 2 << 30
# Shards whose rows are counted, where only reading counts them.
_COUNTED_SHARDS = 8


@dataclass(frozen=True)
class InputSize:
    """Size of an input: bytes of its files as text, and rows. exact: the rows are counted, not estimated."""

    bytes: int
    rows: float
    exact: bool

    @property
    def mean(self) -> float:
        """Mean bytes of a row."""
        return self.bytes / max(1.0, self.rows)


@dataclass(frozen=True)
class Sample:
    """Sampled rows in scratch files.

    shards, sources: of the scratch files. groups, cells: of each row, in the order of the run: rows of one cell stood beside each
    other. lengths: bytes of each row in the input; None if unknown. share: probability of a row to be sampled. unread: rows
    that no reader could read, beside those in the files. blank: lines that are no samples, beside the rows. whole: all of the
    input's shards were read.
    """

    shards: tuple[Shard, ...]
    sources: tuple[Source, ...]
    groups: np.ndarray
    cells: np.ndarray
    lengths: np.ndarray | None
    share: float
    unread: int = 0
    whole: bool = True
    blank: int = 0


def is_seekable(sources: Sequence[Source]) -> bool:
    """Return whether single lines of all files can be read: files on this machine that are lines, and not compressed."""
    return all(
        reader_of(source).cut_anywhere
        and not (source.compression or source.partitions or source.options or source.reader or is_url(source.path))
        for source in sources
    )


def size_of(sources: Sequence[Source], shards: Sequence[Shard]) -> InputSize:
    """The size of an input, by looks at some places; tables on this machine know their rows."""
    if is_seekable(sources):
        with LineFiles(sources) as files:
            if files.size <= _COUNTED:
                return InputSize(files.size, files.count(), True)
            return InputSize(files.size, files.size / files.mean_line(), False)
    size = sum(expanded(source) for source in sources)
    known = all(reader_of(source).by_rows or reader_of(source).one_sample for source in sources)
    count = len(shards) if known else min(len(shards), _COUNTED_SHARDS)
    places = [place * len(shards) // count for place in range(count)]
    rows = sum(count_rows(shards[place]) for place in places)
    part = sum(shards[place].size for place in places) / max(1, sum(shard.size for shard in shards))
    return InputSize(size, rows / part if part else 0, count == len(shards))


def sample(sources: Sequence[Source], shards: Sequence[Shard], share: float, size: InputSize, folder: Path) -> Sample:
    """Write about a share of the rows to files in a folder."""
    scratch = _Scratch(folder)
    if is_seekable(sources):
        return _of_lines(sources, share, size, scratch)
    if all(reader_of(source).by_rows for source in sources):  # shards that divide no group of rows
        shards = [replace(piece, schema=shards[0].schema, lines=shards[0].lines) for piece in cut(sources, _LARGE)]
    return _of_shards(shards, share, size, scratch)


def _of_lines(sources: Sequence[Source], share: float, size: InputSize, scratch: _Scratch) -> Sample:
    with LineFiles(sources) as files:
        for chosen in files.lines(share, size.mean):
            source = sources[chosen.source]
            scratch.add_line(source, chosen.line, chosen.group, chosen.cell)
        blank = files.blank
    return replace(scratch.close(chosen_share(share), True), blank=blank)


def without_blanks(size: InputSize, drawn: Sample) -> tuple[InputSize, Sample]:
    """The size without blank lines, and the sample with the share of rows that it has of a known number of rows."""
    rows = len(drawn.groups)
    if drawn.blank:
        return replace(size, rows=size.rows * rows / (rows + drawn.blank), exact=False), drawn
    known = size.exact and drawn.whole and not drawn.unread
    return size, replace(drawn, share=rows / size.rows) if known else drawn


def _of_shards(shards: Sequence[Shard], share: float, size: InputSize, scratch: _Scratch) -> Sample:
    """Rows of all shards, or of some all over the input."""
    count = min(len(shards), _SHARDS)
    places = [place * len(shards) // count for place in range(count)]
    part = sum(shards[place].size for place in places) / max(1, sum(shard.size for shard in shards))
    within = chosen_share(min(1.0, share / part))
    chosen = choose(None, min(1.0, share / part))
    wanted, first = next(chosen), 0
    for number, place in enumerate(places):
        for batch in read(replace(shards[place], index=0)):
            picked: list[Chosen] = []
            while wanted.place < first + len(batch):
                picked.append(wanted)
                wanted = next(chosen)
            some = batch.take(np.array([one.place - first for one in picked], np.int64))
            groups = [one.group for one in picked] if count == len(shards) else [number % GROUPS] * len(picked)
            scratch.add(shards[place], some.table, groups, [one.place for one in picked])
            scratch.unread += len(batch.bad)
            first += len(batch)
    sampled = scratch.close(part * within, count == len(shards))
    return replace(sampled, unread=round(scratch.unread * within))


class _Scratch:
    """Writer of scratch files: for every kind of file, one for each scratch shard."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._random = folder, np.random.default_rng(_SEED)
        self._lines: dict[tuple[int, Source], list[bytes]] = {}
        self._tables: dict[tuple[int, Source], list[pa.Table]] = {}
        self._schemas: dict[Source, pa.Schema | None] = {}
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
        return self._random.choice(len(_SHARES), count, p=_SHARES)

    def close(self, share: float, whole: bool) -> Sample:
        """Write the files, and return the sample that they hold."""
        shards: list[Shard] = []
        marks: list[tuple[int, int, int]] = []
        for key in sorted(self._marks, key=lambda key: (key[0], key[1].dataset, key[1].format, key[1].suffix)):
            source = self._written(key, len(shards))
            shard = cut([source], _WHOLE)[0]
            schema = self._schemas.get(key[1])
            shards.append(replace(shard, index=len(shards), schema=schema if schema is not None else shard.schema))
            marks += self._marks[key]
        groups, cells, lengths = np.array(marks, np.int64).reshape(-1, 3).T
        known = lengths if lengths.all() else None
        return Sample(tuple(shards), tuple(shard.source for shard in shards), groups, cells, known, share, 0, whole)

    def _written(self, key: tuple[int, Source], number: int) -> Source:
        path = self._folder / f"{number:03d}{key[1].suffix or '.jsonl'}"
        if key in self._lines:
            path.write_bytes(b"".join(self._lines[key]))
        elif key[1].format == "parquet":
            pq.write_table(pa.concat_tables(self._tables[key]), path, compression="zstd")
        else:
            table = pa.concat_tables(self._tables[key])
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
        return replace(key[1], path=str(path), size=path.stat().st_size)


def _ended(line: Any) -> bytes:
    raw = line if isinstance(line, bytes) else str(line).encode()
    return raw if raw.endswith(b"\n") else raw + b"\n"
