"""A sample of the rows of an input, written to scratch files that a run reads in place of the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from refinery.inspect.forecast.drawing import GROUPS, Chosen, LineFiles, choose, chosen_share
from refinery.inspect.forecast.scratch import Scratch, ScratchCut
from refinery.io.model import Shard, Source
from refinery.io.readers.read import count_rows, read
from refinery.io.readers.registry import reader_of
from refinery.io.sources import cut
from refinery.io.splitting import expanded
from refinery.storage.urls import is_url

# Most shards of the input that are read for a sample, where single rows can't be read.
_SHARDS = 64
# Bytes of a shard of rows that is read for a sample.
_LARGE = 128 << 20
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
    input's shards were read. first: number of shards that make a smaller run.
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
    first: int = 1


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


def sample(
    sources: Sequence[Source], shards: Sequence[Shard], share: float, size: InputSize, folder: Path, pieces: ScratchCut
) -> Sample:
    """Write about a share of the rows to files in a folder, in pieces of about the same size."""
    scratch = Scratch(folder, pieces)
    if is_seekable(sources):
        return _of_lines(sources, share, size, scratch)
    if all(reader_of(source).by_rows for source in sources):  # shards that divide no group of rows
        shards = [replace(piece, schema=shards[0].schema, lines=shards[0].lines) for piece in cut(sources, _LARGE)]
    return _of_shards(shards, share, size, scratch)


def _of_lines(sources: Sequence[Source], share: float, size: InputSize, scratch: Scratch) -> Sample:
    with LineFiles(sources) as files:
        for chosen in files.lines(share, size.mean):
            source = sources[chosen.source]
            scratch.add_line(source, chosen.line, chosen.group, chosen.cell)
        blank = files.blank
    return replace(_sample_of(scratch, chosen_share(share), True), blank=blank)


def without_blanks(size: InputSize, drawn: Sample) -> tuple[InputSize, Sample]:
    """The size without blank lines, and the sample with the share of rows that it has of a known number of rows."""
    rows = len(drawn.groups)
    if drawn.blank:
        return replace(size, rows=size.rows * rows / (rows + drawn.blank), exact=False), drawn
    known = size.exact and drawn.whole and not drawn.unread
    return size, replace(drawn, share=rows / size.rows) if known else drawn


def _of_shards(shards: Sequence[Shard], share: float, size: InputSize, scratch: Scratch) -> Sample:
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
    sampled = _sample_of(scratch, part * within, count == len(shards))
    return replace(sampled, unread=round(scratch.unread * within))


def _sample_of(scratch: Scratch, share: float, whole: bool) -> Sample:
    """The sample in the files of a scratch folder. share: probability of a row. whole: all of the input's shards were read."""
    files = scratch.close()
    groups, cells, lengths = np.array(files.marks, np.int64).reshape(-1, 3).T
    known = lengths if lengths.all() else None
    return Sample(files.shards, files.sources, groups, cells, known, share, whole=whole, first=files.first)
