"""Samples of a run as they stand in its input, read through their recorded places."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from refinery.common.fields import OTHERS, keys_of
from refinery.errors import DataError
from refinery.inspect.finished_run import require_same_inputs
from refinery.inspect.why.query import RowHistories
from refinery.inspect.why.row_replay import RowPosition
from refinery.io.batch import Batch, as_json
from refinery.io.readers.read import read
from refinery.planning.sizes import BATCH

# Excerpts that are remembered, so that turning a page back reads nothing; their characters, and those before a word.
_REMEMBERED = 4096
_WIDTH, _BEFORE = 300, 40


@dataclass(frozen=True)
class Excerpt:
    """A piece of a sample's text, and its place. text: None where the sample has none. start: characters before it."""

    row: int
    place: str
    text: str | None
    start: int
    characters: int

    @staticmethod
    def of(row: int, place: str, value: Any, words: Sequence[str]) -> Excerpt:
        """The beginning of a value's text, or the part with the first of some words."""
        if value is None:
            return Excerpt(row, place, None, 0, 0)
        text = value if isinstance(value, str) else as_json(value).decode("utf-8", "replace")
        starts = [at for word in words if (at := text.lower().find(word.lower())) >= 0]
        place_of_word = min(starts, default=0)
        start = place_of_word - _BEFORE if place_of_word > 2 * _BEFORE else 0
        if text.count("\n", start, place_of_word) > 1:  # a list shows few lines
            start = text.rfind("\n", start, place_of_word) + 1
        return Excerpt(row, place, text[start : start + _WIDTH], start, len(text))


class InputRows:
    """The input of one run. Its files are compared with the run's manifest whenever samples are read."""

    def __init__(self, work_dir: Path) -> None:
        self._work_dir = work_dir
        self._lock = threading.RLock()
        self._histories: RowHistories | None = None
        self._excerpts: OrderedDict[Any, Excerpt] = OrderedDict()

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._histories is not None:
                self._histories.close()
                self._histories = None

    @contextmanager
    def histories(self) -> Iterator[RowHistories]:
        """The histories of rows, for one thread at a time. Raises DataError if the input has changed since the run."""
        with self._lock:
            if self._histories is None:
                self._histories = RowHistories(self._work_dir)
            try:
                require_same_inputs(
                    self._histories.manifest, self._histories.prepared, "samples cannot be read; run the recipe again"
                )
            except OSError as error:
                raise DataError(f"{error.filename}: cannot be read any more: {error.strerror}") from error
            yield self._histories

    def require_unchanged(self) -> None:
        """Raise DataError if the input has changed since the run."""
        with self.histories():
            pass

    def excerpts(self, rows: Sequence[int], field: str | None = None, words: Sequence[str] = ()) -> list[Excerpt]:
        """Pieces of a field of rows, in row order. Rows that could not be read are left out.

        field: by default the recipe's text; OTHERS is the whole sample. words: the piece has the first of them.
        """
        with self.histories() as histories:
            about = field or histories.prepared.recipe.text_key, tuple(words)
            unknown = [row for row in rows if (row, *about) not in self._excerpts]
            for row, place, sample in self._samples(histories, unknown):
                value = sample if about[0] == OTHERS else member(sample, keys_of(about[0]))
                self._excerpts[row, *about] = Excerpt.of(row, place, value, words)
            known = [self._excerpts[row, *about] for row in sorted(set(rows)) if (row, *about) in self._excerpts]
            while len(self._excerpts) > _REMEMBERED:
                self._excerpts.popitem(last=False)
            return known

    @staticmethod
    def _samples(histories: RowHistories, rows: Iterable[int]) -> Iterator[tuple[int, str, Any]]:
        """Row, place and sample; rows of a shard are read together."""
        by_shard: dict[int, list[RowPosition]] = defaultdict(list)
        for row in sorted(set(rows)):
            position = histories.replay.place(row)
            by_shard[position.shard.index].append(position)
        for positions in by_shard.values():
            for position, batch, at in _within(positions):
                yield position.row, position.file(batch.line_number(at)), batch.sample(at)


def member(sample: Any, keys: Sequence[str]) -> Any:
    """A nested field of a sample; None where it is missing."""
    for key in keys:
        sample = sample.get(key) if isinstance(sample, dict) else None
    return sample


def _within(positions: list[RowPosition]) -> Iterator[tuple[RowPosition, Batch, int]]:
    """Rows of one shard, each with its batch and its position there; positions: in row order."""
    wanted = np.array([position.inside for position in positions], np.int64)
    for batch in read(positions[0].shard, BATCH):
        for at in np.flatnonzero(np.isin(batch.rows, wanted)).tolist():
            yield positions[int(np.searchsorted(wanted, batch.rows[at]))], batch, at
        if len(batch.rows) and batch.rows[-1] >= wanted[-1]:
            return
