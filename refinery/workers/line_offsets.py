"""Lines of the samples of a shard, as distances between their numbers and their lines."""

from __future__ import annotations

import numpy as np

from refinery.io.batch import Batch

# First row, and the number to add to a row's number for its line; None where it is not known.
LineOffset = tuple[int, int | None]
# Most distances of a shard: a file of many blank lines, or a choice of many samples, does not make a table of them.
MOST = 10_000


class LineOffsets:
    """Collects the lines of a shard's samples, good and bad, batch by batch.

    The distance from a sample's number to its line changes at blank lines alone, so that few pairs have all lines.
    """

    def __init__(self) -> None:
        self._pairs: list[LineOffset] = []
        self._first: int | None = None
        self._last: tuple[int, int] | None = None  # file and distance of the last row

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch, which come after those of the batches before."""
        rows = np.concatenate((batch.rows, np.array([bad.row for bad in batch.bad], np.int64)))
        if not len(rows) or len(self._pairs) > MOST:
            return
        lines = np.concatenate((batch.line_numbers, np.array([bad.line for bad in batch.bad], np.int64)))
        order = np.argsort(rows, kind="stable")
        rows, distances = rows[order], (lines - rows)[order]
        files = self._files(batch)[order]
        starts = np.flatnonzero((np.diff(files, prepend=-1) != 0) | (np.diff(distances, prepend=distances[0]) != 0))
        if self._last == (int(files[0]), int(distances[0])):
            starts = starts[1:]
        self._first = int(rows[0]) if self._first is None else self._first
        self._pairs += [(int(rows[at]), int(distances[at])) for at in starts[: MOST + 1]]
        self._last = int(files[-1]), int(distances[-1])

    @staticmethod
    def _files(batch: Batch) -> np.ndarray:
        """Number of the file of each row of a batch, good and bad."""
        good = np.zeros(len(batch.rows), np.int64) if batch.files is None else batch.files
        return np.concatenate((good, np.array([bad.file for bad in batch.bad], np.int64)))

    def pairs(self) -> tuple[LineOffset, ...]:
        """The distances, each from its row on; one that is unknown where there are too many."""
        if len(self._pairs) > MOST and self._first is not None:
            return ((self._first, None),)
        return tuple(self._pairs)
