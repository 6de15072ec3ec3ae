"""A moving window over the bytes of a file: what readers look for lines, values and records in."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from refinery.errors import DataError
from refinery.kernels.lines import first_line_end
from refinery.samples.formats import encoding_mark, open_bytes
from refinery.samples.sources import Source

_STEP = 256 << 10


class LineRange:
    """The lines of a file that start in [start, end), as a stream of bytes."""

    def __init__(self, path: str, start: int, end: int) -> None:
        self._file = open(path, "rb", buffering=0)
        self._at = start
        self._end = end
        self._last = 10  # the byte before `_at`
        if start > 0:
            self._seek_line(start - 1)

    def _seek_line(self, at: int) -> None:
        """Move to the first line that starts after byte `at`."""
        self._file.seek(at)
        while piece := self._file.read(_STEP):
            found = piece.find(b"\n")
            if found >= 0:
                self._at = at + found + 1
                self._file.seek(self._at)
                return
            at += len(piece)
        self._at = self._end

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; the bytes read, 0 at the end."""
        if self._at < self._end:
            count = self._file.readinto(view[: self._end - self._at]) or 0
        elif self._last == 10:
            return 0
        else:  # the rest of the line that the range's end falls into
            count = self._file.readinto(view[:_STEP]) or 0
            cut = first_line_end(np.frombuffer(view, np.uint8), 0, count)
            count = int(cut) if cut > 0 else count
        if count:
            self._at += count
            self._last = view[count - 1]
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Window:
    """Bytes read so far and not yet used: `data[:filled]`.

    ended: the stream has no more. damage: why it ended too early, or None. Each refill takes a new buffer, so what was
    found in the old one can be kept.
    """

    def __init__(self, source: Source, start: int, end: int, block: int) -> None:
        self._path = source.path
        self._compression = source.compression
        self._block = max(block, 4096)
        self._total = 0
        self.damage: str | None = None
        self.ended = False
        self.filled = 0
        self.data = np.empty(0, np.uint8)
        try:
            whole = source.compression is not None or end < 0
            path = source.path
            self._stream: Any = open_bytes(path, source.compression) if whole else LineRange(path, start, end)
        except OSError as error:
            raise DataError(f"{source.path}: {error.strerror or error}") from error
        self.refill(0)
        if start == 0:
            self._check_encoding()

    def refill(self, keep: int) -> None:
        """Drop the bytes before `keep` and read on, until the buffer is full or the stream ends.

        The buffer grows when the kept bytes take up more than half of it.
        """
        kept = self.filled - keep
        data = np.empty(max(self._block, 2 * kept), np.uint8)
        data[:kept] = self.data[keep : self.filled]
        self.data, self.filled = data, kept
        view = memoryview(data.data)
        while self.filled < len(data) and not self.ended:
            count = self._read(view[self.filled :])
            self.filled += count
            self._total += count
            self.ended = count == 0 or self.damage is not None

    def _read(self, view: memoryview) -> int:
        try:
            return int(self._stream.readinto(view[:_STEP] if self._compression else view) or 0)
        except OSError as error:
            if not self._compression:
                raise DataError(f"{self._path}: reading failed: {error.strerror or error}") from error
            count = self._salvage(view[:_STEP])
            self.damage = f"the compressed data is damaged after {self._total + count} bytes of text ({error})"
            if self._total + count == 0:
                raise DataError(f"{self._path}: {self.damage}") from error
            return count

    def _salvage(self, view: memoryview) -> int:
        """Read again up to where reading failed, then byte by byte, to get what stands before the damage."""
        self._stream.close()
        if self.damage:  # this is the second time: there is nothing more
            return 0
        self._stream = open_bytes(self._path, self._compression)
        scratch = memoryview(bytearray(_STEP))
        left = self._total
        count = 0
        try:
            while left > 0 and (got := self._stream.readinto(scratch[:left])):
                left -= got
            while left == 0 and (got := self._stream.readinto(view[count : count + 1])):
                count += got
        except OSError:
            return count
        return count

    def _check_encoding(self) -> None:
        head = self.data[: min(4, self.filled)].tobytes()
        mark = encoding_mark(head)
        if mark:
            name = os.path.basename(self._path)
            raise DataError(f"{self._path}: the file is {mark}, not UTF-8. Convert it: iconv -f {mark} -t UTF-8 {name}")

    @property
    def first(self) -> int:
        """Where the text starts in a window at the file's start: after a byte order mark."""
        return 3 if self.data[: min(3, self.filled)].tobytes() == b"\xef\xbb\xbf" else 0

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
