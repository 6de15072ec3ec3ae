"""A moving window over the bytes of a file, in which readers find lines, values and records."""

from __future__ import annotations

import os
import threading
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from refinery import kernels
from refinery.common.digest import Digest
from refinery.errors import DataError
from refinery.io.formats import encoding_mark
from refinery.io.model import Source
from refinery.io.objects import one_by_one
from refinery.io.open import open_source
from refinery.io.read_options import codec_of
from refinery.io.readers.shared_decompression import Decoder, open_piece
from refinery.io.readers.transcoding import Transcoded

_STEP = 256 << 10


class _Reading(threading.local):
    """The digest that this thread makes of what it reads, if one is asked for."""

    digest: Digest | None = None


_reading = _Reading()


@contextmanager
def digested() -> Iterator[Digest]:
    """A digest of the ranges of lines that this thread reads meanwhile, which saves a second read for the digest."""
    _reading.digest = digest = Digest()
    try:
        yield digest
    finally:
        _reading.digest = None


class LineRange:
    """The lines of a file that start in [start, end), as a stream of bytes."""

    def __init__(self, source: Source, start: int, end: int) -> None:
        self._file = open_source(source, end)
        self._at = start
        self._end = end
        self._last = 10  # the byte before `_at`
        self._digest = _reading.digest
        if start > 0:
            self._seek_line(start - 1)

    def _seek_line(self, at: int) -> None:
        """Move to the first line that starts after byte `at`."""
        self._file.seek(at)
        while piece := self._file.read(_STEP):
            line_end = piece.find(b"\n")
            if line_end >= 0:
                self._at = at + line_end + 1
                self._file.seek(self._at)
                return
            at += len(piece)
        self._at = self._end

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; returns the number of bytes, 0 at the end."""
        if self._at < self._end:
            count = self._file.readinto(view[: self._end - self._at]) or 0
        elif self._last == 10:
            return 0
        else:  # the rest of the line at the range's end
            count = self._file.readinto(view[:_STEP]) or 0
            cut = kernels.text.lines.first_line_end(np.frombuffer(view, np.uint8), 0, count)
            count = int(cut) if cut > 0 else count
        if count:
            self._at += count
            self._last = view[count - 1]
            if self._digest is not None:
                self._digest.update(view[:count])
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ByteRange:
    """The bytes [start, end) of a file as a stream; to its end with -1."""

    def __init__(self, source: Source, start: int, end: int) -> None:
        self._file = open_source(source, end)
        self._file.seek(start)
        self._left = end - start if end >= 0 else -1

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; returns the number of bytes, 0 at the end."""
        count = self._file.readinto(view if self._left < 0 else view[: self._left]) or 0
        self._left -= count if self._left >= 0 else 0
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class JoinedFiles:
    """The lines of small files, one file after another, as a stream of bytes; a line feed ends the last line of each.

    size: bytes of the files, with these line feeds at most. ends: number of lines up to the end of each file read so far.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = one_by_one(sources)
        self._rest = memoryview(b"")
        self.size = sum(source.size + 1 for source in sources)
        self.ends: list[int] = []

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; returns the number of bytes, 0 at the end."""
        while not self._rest:
            source = next(self._sources, None)
            if source is None:
                return 0
            self._rest = memoryview(self._lines(source))
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def _lines(self, source: Source) -> bytes:
        try:
            with open_source(source) as file:
                content: bytes = file.read()
        except OSError as error:
            raise DataError(f"{source.path}: {error.strerror or error}") from error
        require_utf8(source, content[:4])
        content = content.removeprefix(BOM_UTF8)
        content += b"" if content.endswith(b"\n") or not content else b"\n"
        self.ends.append((self.ends[-1] if self.ends else 0) + content.count(b"\n"))
        return content

    def close(self) -> None:
        """Fetch no more files."""
        self._sources.close()


class ReadBuffer:
    """Bytes read so far and not yet used: `data[:filled]`.

    ended: the stream has no more. damage: the reason of an early end, or None. base: place of the bytes in the file's
    text, when it is read from cut to cut. Each refill takes a new buffer, so views of the old one stay valid.
    """

    def __init__(
        self,
        source: Source,
        start: int,
        end: int,
        block: int,
        lines: bool = True,
        limit: int = 1 << 30,
        joined: JoinedFiles | None = None,
    ) -> None:
        """lines: read the lines that start in [start, end), else exactly these bytes. limit: bytes of one value.

        joined: whole files that are read in place of the source, which is the first of them.
        """
        self._path = source.path
        # A smaller file needs a smaller buffer; the additional byte shows the end of the file.
        size = source.size if joined is None else joined.size
        self._block = max(min(block, size + 1 if source.compression is None else block), 4096)
        self._most = limit + self._block
        self.damage: str | None = None
        self.ended = False
        self.filled = 0
        self.base = start
        self.data = np.empty(0, np.uint8)
        try:
            self._stream = stream(source, start, end, lines) if joined is None else joined
        except OSError as error:
            raise DataError(f"{source.path}: {error.strerror or error}") from error
        self.refill(0)
        if start == 0 and joined is None:
            require_utf8(source, self.data[: min(4, self.filled)].tobytes())

    def refill(self, keep: int) -> None:
        """Drop the bytes before `keep` and read on, until the buffer is full or the stream ends.

        The buffer grows when the kept bytes take up more than half of it.
        """
        kept = self.filled - keep
        size = max(self._block, min(2 * kept, self._most), kept + 4096)
        if keep == 0 and kept and self.data.base is None:  # no byte has been used: a long value grows in place
            self.data.resize(size, refcheck=False)
        else:
            data = np.empty(size, np.uint8)
            data[:kept] = self.data[keep : self.filled]
            self.data = data
        self.filled = kept
        self.base += keep
        view = memoryview(self.data.data)
        while self.filled < len(self.data) and not self.ended:
            count = self._read(view[self.filled :])
            self.filled += count
            self.damage = getattr(self._stream, "damage", None)
            self.ended = count == 0 or self.damage is not None

    def _read(self, view: memoryview) -> int:
        try:
            return int(self._stream.readinto(view) or 0)
        except OSError as error:
            raise DataError(f"{self._path}: reading failed: {error.strerror or error}") from error

    @property
    def first(self) -> int:
        """Start of the text in a window at the file's start: after a byte order mark."""
        return 3 if self.data[: min(3, self.filled)].tobytes() == b"\xef\xbb\xbf" else 0

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def require_utf8(source: Source, head: bytes) -> None:
    """Check that a file's first bytes are no byte order mark of another encoding. Raises DataError."""
    if mark := encoding_mark(head):
        name = os.path.basename(source.path)
        raise DataError(f"{source.path}: the file is {mark}, not UTF-8. Convert it: iconv -f {mark} -t UTF-8 {name}")


def stream(source: Source, start: int, end: int, lines: bool) -> Any:
    """The bytes of a shard as a stream: `readinto`, `close`, and `damage` for compressed files; of text as UTF-8."""
    bytes_of = _stream(source, start, end, lines)
    codec = codec_of(source.option("encoding", "utf-8"))
    return Transcoded(bytes_of, codec) if codec else bytes_of


def _stream(source: Source, start: int, end: int, lines: bool) -> Any:
    if source.compression is not None:
        if start == 0 and end < 0:
            return Decoder(source)
        return open_piece(source, start, end, lines)
    if start == 0 and end < 0:
        return open_source(source)
    return LineRange(source, start, end) if lines and end >= 0 else ByteRange(source, start, end)
