"""Shared decompression: a compressed file is decompressed once, and many workers share the pieces of its text.

A compressed file can be entered at its start alone. So the decompression state (`Cursor`) goes from worker to
worker: a worker that needs the next piece decompresses the unread rest of the previous piece, leaves that to its
reader, and goes on from there. Pieces that wait for their readers are kept in memory up to 16 MB and beyond that in a
temporary file, 256 MB at most; a single worker keeps nothing.

Figure: on two cores, the C4-like recipe over one .jsonl.gz takes two thirds of the time that one worker takes.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import Any

from refinery.errors import DataError
from refinery.io.formats import open_compressed
from refinery.io.line_errors import DAMAGED
from refinery.io.model import Source
from refinery.io.open import open_source
from refinery.io.readers.open_groups import open_groups
from refinery.io.readers.padding import Members
from refinery.storage.urls import is_url

# Decompressed bytes of one step; the places of cuts depend on it.
UNIT = 256 << 10
_HEAD = 4 << 20
_IN_MEMORY = 16 << 20
_AHEAD = 256 << 20
# Seconds that a worker waits for another to open the previous piece, before it skips that piece itself.
_GRACE = 0.5
_IDLE = 3
_FILES = 8


class Decoder:
    """The decompressed bytes of a file. total: number of bytes so far. damage: the reason of an early end."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._raw, self._stream = _opened(source)
        self.total = 0
        self.damage: str | None = None
        self._over = False

    @property
    def taken(self) -> int:
        """Bytes of the file that have been read."""
        return int(self._raw.tell())

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start, UNIT bytes at most; 0 at the end. Raises DataError when nothing can be read."""
        try:
            count = 0 if self._over else int(self._stream.readinto(view[:UNIT]) or 0)
        except OSError as error:
            count = 0 if isinstance(self._stream, Members) else self._salvage(view[:UNIT])
            if not self._passes_zeros(self.total + count):
                self._over = True
                self.damage = _damage(self._source, self.total + count, error)
            elif count == 0:
                return self.readinto(view)
            if self.damage and self.total + count == 0:
                raise DataError(f"{self._source.path}: {self.damage}") from error
        self.total += count
        return count

    def _passes_zeros(self, size: int) -> bool:
        """Read on after `size` bytes of text, skipping zeros between members; False if more is wrong there."""
        if self._source.compression != "gzip" or isinstance(self._stream, Members):
            return False
        stream = Members(open_source(self._source, buffering=-1))
        scratch = memoryview(bytearray(UNIT))
        try:
            while size > 0 and (got := stream.readinto(scratch[:size])):
                size -= got
            stream.look_ahead()
        except OSError:
            stream.close()
            return False
        self.close()
        self._raw = self._stream = stream
        return True

    def _salvage(self, view: memoryview) -> int:
        """Read again up to the failure, then byte by byte, to get the bytes before the damage."""
        self.close()
        self._raw, self._stream = _opened(self._source)
        scratch = memoryview(bytearray(UNIT))
        left, count = self.total, 0
        try:
            while left > 0 and (got := self._stream.readinto(scratch[:left])):
                left -= got
            while left == 0 and (got := self._stream.readinto(view[count : count + 1])):
                count += got
        except OSError:
            return count
        return count

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._raw.close()


def _damage(source: Source, size: int, error: OSError) -> str:
    tool = source.compression
    cure = f"Copy or download the file again; `{tool} -t` tests it"
    return f"{DAMAGED} after {size} bytes of text ({error}). {cure}"


def _opened(source: Source) -> tuple[Any, Any]:
    """A compressed file, and the stream of its decompressed bytes."""
    assert source.compression is not None
    raw = open_source(source) if is_url(source.path) else None
    return open_compressed(source.path, source.compression, raw)


def expansion(source: Source) -> float:
    """Bytes of text for each byte of a compressed file, estimated from its start."""
    decoder = Decoder(source)
    scratch = memoryview(bytearray(UNIT))
    try:
        while decoder.total < _HEAD and decoder.readinto(scratch):
            pass
        return max(1.0, decoder.total / max(1, decoder.taken))
    finally:
        decoder.close()


class Cursor:
    """Decompression state of a file, and the bytes before a cut.

    lines: cuts are bytes of the compressed file, and the piece up to a cut ends with the first line that ends after
    the text of those bytes. Else cuts are bytes of the text. Either way a cut is the same place for every
    reader. cut: the end of the last piece, perhaps not read to its end; pieces from there on can be read.
    """

    def __init__(self, source: Source, lines: bool) -> None:
        self._decoder = Decoder(source)
        self._lines = lines
        self._unit = bytearray(UNIT)
        self._low = self._high = 0  # the unread rest of the unit
        self._seen: deque[tuple[int, int]] = deque()  # (bytes of the file read, bytes of text by then), ascending
        self._piece_start = 0
        self._over = True  # the piece up to `cut` has been read whole
        self._ended = False
        self.cut = 0
        self.damage: str | None = None  # reason of an early end of this piece alone

    def finish(self) -> None:
        """Skip the rest of the piece."""
        while not self._over:
            self.take(self.cut, UNIT)
        self.damage = None

    def start(self, end: int) -> None:
        """Begin the piece from the end of the previous one up to the cut `end` (-1: to the end)."""
        self.finish()
        while self._seen and self._seen[0][0] < self.cut:
            self._seen.popleft()
        self._piece_start = self._decoder.total - (self._high - self._low)
        self.cut, self._over = end, False

    def take(self, end: int, most: int) -> memoryview:
        """The next bytes of the piece, at most `most`; none at its end."""
        if self._over or (self._low == self._high and not self._load()):
            self._over = True
            return memoryview(b"")
        stop, last = self._stop(end)
        count = min(stop - self._low, most)
        data = memoryview(self._unit)[self._low : self._low + count]
        self._low += count
        self._over = last and self._low == stop
        return data

    def _load(self) -> bool:
        if self._ended:
            return False
        self._low, self._high = 0, self._decoder.readinto(memoryview(self._unit))
        if not self._high:
            self._ended = True
            self.damage = self._decoder.damage
            self._decoder.close()
            return False
        taken = self._decoder.taken
        if not self._seen or self._seen[-1][0] < taken:
            self._seen.append((taken, self._decoder.total))
        return True

    def _stop(self, end: int) -> tuple[int, bool]:
        """The end, in the unit, of the piece or of the unit; True if the piece ends there."""
        before = self._decoder.total - self._high  # text before the unit
        if end < 0:
            return self._high, False
        if not self._lines:
            return min(self._high, end - before), end - before <= self._high
        border = next((total for taken, total in self._seen if taken >= end), -1)
        if border < 0:
            return self._high, False
        if border < self._piece_start:  # the line at this cut ended the previous piece: this piece is empty
            return self._low, True
        line_end = self._unit.find(b"\n", max(self._low, border - before), self._high)
        return (line_end + 1, True) if line_end >= 0 else (self._high, False)

    def close(self) -> None:
        """Close the file."""
        if not self._ended:
            self._ended = True
            self._decoder.close()


class SharedRange:
    """The bytes of one piece, as a stream. damage: the reason of an early end, known at the end."""

    def __init__(self, relay: SharedDecompression, cursor: Cursor, end: int) -> None:
        self._relay = relay
        self.cursor: Cursor | None = cursor
        self.end = end
        self.damage: str | None = None
        self._kept: Any = None  # bytes that another worker has decompressed for this piece
        self._read = self._written = 0

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; 0 at the end."""
        with self._relay.lock:
            if self._read < self._written:
                self._kept.seek(self._read)
                count = int(self._kept.readinto(view[: self._written - self._read]))
                self._read += count
                if self._read == self._written:
                    self._relay.lock.notify_all()
                return count
            if self.cursor is None:
                return 0
            data = self._next(len(view))
            view[: len(data)] = data
            return len(data)

    def _next(self, most: int) -> memoryview:
        assert self.cursor is not None
        data = self.cursor.take(self.end, most)
        if not data:
            self.damage = self.cursor.damage
            self._relay.idle(self)
        return data

    def hand_over(self) -> None:
        """Decompress the rest of the piece for its reader, so that another worker can go on from there."""
        while self.cursor is not None:
            if self._written - self._read >= _AHEAD:
                self._relay.lock.wait()
                continue
            if self._kept is None:
                self._kept = self._relay.files.temporary()
            if self._read == self._written:
                self._read = self._written = 0
            self._kept.seek(self._written)
            self._written += self._kept.write(self._next(UNIT))

    def close(self) -> None:
        """Close the piece; another worker goes on after it."""
        with self._relay.lock:
            if self.cursor is not None:
                self._relay.idle(self)
            if self._kept is not None:
                self._kept.close()


class SharedDecompression:
    """The pieces of one file, for all threads of this process. lock: guards everything, decompression included."""

    def __init__(self, source: Source, lines: bool, files: OpenFiles) -> None:
        self._source, self._lines, self.files = source, lines, files
        self.lock = threading.Condition()
        self._idle: list[Cursor] = []
        self._pieces: list[SharedRange] = []
        self._threads: set[int] = set()

    def open(self, start: int, end: int) -> SharedRange:
        """The piece from cut `start` to cut `end`."""
        with self.lock:
            self._threads.add(threading.get_ident())
            until = time.monotonic() + _GRACE * (len(self._threads) > 1)
            while (known := self._nearest(start)) != start and 0 < known and time.monotonic() < until:
                self.lock.wait(until - time.monotonic())
            cursor = self._cursor(start)
            try:
                if cursor.cut < start:
                    cursor.start(start)
                cursor.start(end)
            except BaseException:
                cursor.close()
                raise
            piece = SharedRange(self, cursor, end)
            self._pieces.append(piece)
            self.lock.notify_all()
            return piece

    def _nearest(self, start: int) -> int:
        """The last cut up to `start` that a cursor has reached, or a piece works towards."""
        cuts = [cursor.cut for cursor in self._idle] + [piece.end for piece in self._pieces]
        return max((cut for cut in cuts if 0 <= cut <= start), default=0)

    def _cursor(self, start: int) -> Cursor:
        """The cursor nearest before `start`, taken from its piece if one uses it."""
        cut = self._nearest(start)
        while True:
            for cursor in self._idle:
                if cursor.cut == cut:
                    self._idle.remove(cursor)
                    return cursor
            running = next((piece for piece in self._pieces if piece.end == cut), None)
            if running is None:
                return Cursor(self._source, self._lines)
            running.hand_over()

    def idle(self, piece: SharedRange) -> None:
        """Take the cursor from a piece that needs it no more."""
        assert piece.cursor is not None
        self._pieces.remove(piece)
        if piece.end >= 0:
            self._idle.append(piece.cursor)
        else:
            piece.cursor.close()
        piece.cursor = None
        while len(self._idle) > _IDLE:
            self._idle.pop(0).close()
        self.lock.notify_all()

    def close(self) -> None:
        """Close the idle cursors."""
        with self.lock:
            while self._idle:
                self._idle.pop().close()


class OpenFiles:
    """The compressed files that the threads of a process share. Safe for threads."""

    def __init__(self) -> None:
        self._shared: dict[tuple[Any, ...], SharedDecompression] = {}  # the last used file is at the end
        self._lock = threading.Lock()
        self._scratch: str | None = None

    def keep_in(self, folder: str | None) -> None:
        """Keep temporary files in this folder; in the system's folder without one."""
        self._scratch = folder

    def temporary(self) -> Any:
        """A file for text that waits for its reader."""
        if self._scratch is not None:
            os.makedirs(self._scratch, exist_ok=True)
        return SpooledTemporaryFile(_IN_MEMORY, dir=self._scratch)

    def open_piece(self, source: Source, start: int, end: int, lines: bool) -> SharedRange:
        """Bytes of a compressed file between two cuts, as a stream with `readinto`, `close` and `damage`.

        start, end: as in `Cursor`; end -1: to the end. Raises OSError, DataError.
        """
        key = (*source.state(), lines)
        with self._lock:
            file = self._shared.pop(key, None) or SharedDecompression(source, lines, self)
            self._shared[key] = file
            while len(self._shared) > _FILES:
                self._shared.pop(next(iter(self._shared))).close()
        return file.open(start, end)

    @contextmanager
    def relayed(self) -> Iterator[None]:
        """Keep files open between pieces within this context, those of `open_groups`, too; close them afterwards."""
        try:
            yield
        finally:
            with self._lock:
                for file in self._shared.values():
                    file.close()
                self._shared.clear()
            open_groups.close()


_files = OpenFiles()
keep_in, open_piece, relayed = _files.keep_in, _files.open_piece, _files.relayed
