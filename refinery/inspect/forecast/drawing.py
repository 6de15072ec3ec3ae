"""Random choice of rows: the same number in each stratum, a stratum being a stretch of the input.

A file that is sorted by source so gives rows of every source, and two rows are chosen together nearly as often as any two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import BinaryIO

import numpy as np

from refinery.io.model import Source

# Chosen places of each stratum. The n-th ones of all strata together are a sample by themselves: a group, whose figures
# beside those of the other groups show the error of the whole.
GROUPS = 16
_SEED = 43
# Windows of a file by which the mean length of its lines is estimated, and their bytes.
_WINDOWS, _WINDOW = 256, 4096
# Cells for each line of mean length: most hold the start of one line, or none.
_CELLS = 4
_LEAST_CELL = 32
_BLOCK = 4 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Chosen:
    """A chosen place: of the input, from 0, and its group."""

    place: int
    group: int


def choose(places: int | None, share: float) -> Iterator[Chosen]:
    """Choose about a share of some places, in ascending order. places: their number; None for no end."""
    random = np.random.default_rng(_SEED)
    width = max(GROUPS, round(GROUPS / share))
    for start in count(0, width) if places is None else range(0, places, width):
        picked = random.choice(width, GROUPS, replace=False)
        for group in np.argsort(picked):
            if places is None or start + picked[group] < places:
                yield Chosen(start + int(picked[group]), int(group))


def chosen_share(share: float) -> float:
    """The probability with which `choose` takes a place."""
    return GROUPS / max(GROUPS, round(GROUPS / share))


@dataclass(frozen=True)
class ChosenLine:
    """A line that starts in a chosen cell. source: number of its file. cell: number of its cell."""

    source: int
    line: bytes
    cell: int
    group: int


class LineFiles:
    """Files of lines, which are not compressed, as one row of bytes."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.ends = np.cumsum([source.size for source in sources]).tolist()
        self.size = int(self.ends[-1]) if sources else 0
        self.blank = 0  # lines in chosen cells that are no samples
        self._number = -1
        self._file: BinaryIO | None = None

    def __enter__(self) -> LineFiles:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def mean_line(self) -> float:
        """Mean bytes of a line, by the line ends in windows all over the files."""
        starts = np.random.default_rng(_SEED).integers(0, max(1, self.size - _WINDOW), _WINDOWS)
        found = [self._bytes(int(start), _WINDOW) for start in np.sort(starts)]
        read, ends = sum(map(len, found)), sum(window.count(b"\n") for window in found)
        return read / max(1, ends)

    def count(self) -> int:
        """Number of lines, of which some may be blank."""
        found = 0
        for number in range(len(self.sources)):
            file, last = self._opened(number), b"\n"
            file.seek(0)
            while block := file.read(_BLOCK):
                found, last = found + block.count(b"\n"), block[-1:]
            found += last != b"\n"
        return found

    def lines(self, share: float, mean: float) -> Iterator[ChosenLine]:
        """The lines that start in chosen cells, in order. mean: bytes of a line."""
        cell = max(_LEAST_CELL, int(mean / _CELLS))
        for chosen in choose(-(-self.size // cell), share):
            start = chosen.place * cell
            for source, line in self._starting(start, min(self.size, start + cell)):
                yield ChosenLine(source, line, chosen.place, chosen.group)

    def _starting(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        """The lines that start in bytes [start, end), which may be those of several files."""
        while start < end:
            number = bisect_right(self.ends, start)
            first, last = (self.ends[number - 1] if number else 0), self.ends[number]
            yield from self._of_file(number, start - first, min(end, last) - first)
            start = last

    def _of_file(self, number: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        file = self._opened(number)
        file.seek(max(0, start - 1))
        if start and file.read(1) != b"\n":
            file.readline()
        while file.tell() < end:
            line = file.readline()
            if not line:
                return
            if file.tell() == len(line):
                line = line.removeprefix(_BOM)
            if not line.strip():
                self.blank += 1
            else:
                yield number, line if line.endswith(b"\n") else line + b"\n"

    def _bytes(self, start: int, size: int) -> bytes:
        """Bytes of one file from a place on."""
        number = bisect_right(self.ends, start)
        file = self._opened(number)
        file.seek(start - (self.ends[number - 1] if number else 0))
        return file.read(size)

    def _opened(self, number: int) -> BinaryIO:
        if number != self._number or self._file is None:
            if self._file is not None:
                self._file.close()
            self._file, self._number = open(self.sources[number].path, "rb", buffering=8192), number
        return self._file
