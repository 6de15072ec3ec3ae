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

from refinery.common.fields import keys_of
from refinery.errors import DataError
from refinery.inspect.finished_run import require_same_inputs
from refinery.inspect.why.query import RowHistories
from refinery.inspect.why.row_replay import RowPosition
from refinery.io.batch import Batch
from refinery.io.readers.read import read
from refinery.planning.sizes import BATCH

# Samples that are remembered, so that turning a page back reads nothing, and characters of a beginning.
_REMEMBERED = 4096
_WIDTH = 300


@dataclass(frozen=True)
class Beginning:
    """The place and the first characters of a sample's text. text: None where the sample has none."""

    row: int
    place: str
    text: str | None
    characters: int


class InputRows:
    """The input of one run. Its files are compared with the run's manifest whenever samples are read."""

    def __init__(self, work_dir: Path) -> None:
        self._work_dir = work_dir
        self._lock = threading.RLock()
        self._histories: RowHistories | None = None
        self._beginnings: OrderedDict[int, Beginning] = OrderedDict()

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

    def beginnings(self, rows: Sequence[int]) -> list[Beginning]:
        """The beginnings of texts of rows, in row order. Rows that could not be read are left out."""
        with self.histories() as histories:
            keys = keys_of(histories.prepared.recipe.text_key)
            for row, place, sample in self._samples(histories, [row for row in rows if row not in self._beginnings]):
                text = member(sample, keys)
                shown = None if text is None else str(text)
                self._beginnings[row] = Beginning(row, place, shown and shown[:_WIDTH], len(shown or ""))
            known = [self._beginnings[row] for row in sorted(set(rows)) if row in self._beginnings]
            while len(self._beginnings) > _REMEMBERED:
                self._beginnings.popitem(last=False)
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
