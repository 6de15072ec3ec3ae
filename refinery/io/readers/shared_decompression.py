"""Compressed files in pieces: each is decompressed once from start to end, and many workers share the work on what comes out.

A compressed file can be entered at its start alone. So the place where decompression stands (`Cursor`) goes from worker to
worker: whoever needs the next piece decompresses what the worker before has not yet taken of its own piece, leaves that to
it, and goes on from there. Pieces that are left to somebody are kept in memory up to 16 MB and beyond that in a
temporary file, 256 MB at most; nothing is kept where one worker reads alone.
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
from refinery.io.readers.padding import Members
from refinery.storage.urls import is_url

# Decompressed bytes that are made at once; where pieces are cut depends on it.
UNIT = 256 << 10
_HEAD = 4 << 20
_IN_MEMORY = 16 << 20
_AHEAD = 256 << 20
# How long a worker waits for the piece before its own to be asked for, before it passes over it itself.
_GRACE = 0.5
_IDLE = 3
_FILES = 8


class Decoder:
    """The decompressed bytes of a file. total: how many have come out. damage: why they ended too early."""

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
        """Read on with zeros between members passed over, after so many bytes of text; whether they are all there is."""
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
        """Read again up to where reading failed, then byte by byte, to get what stands before the damage."""
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
    tool = "gzip" if source.compression == "gzip" else "zstd"
    cure = f"Copy or download the file again; `{tool} -t` tests it"
    return f"{DAMAGED} after {size} bytes of text ({error}). {cure}"


def _opened(source: Source) -> tuple[Any, Any]:
    """A compressed file, and the stream of what it holds."""
    assert source.compression is not None
    raw = open_source(source) if is_url(source.path) else None
    return open_compressed(source.path, source.compression, raw)


def expansion(source: Source) -> float:
    """Bytes of text for each byte of a compressed file, told from its start."""
    decoder = Decoder(source)
    scratch = memoryview(bytearray(UNIT))
    try:
        while decoder.total < _HEAD and decoder.readinto(scratch):
            pass
        return max(1.0, decoder.total / max(1, decoder.taken))
    finally:
        decoder.close()


class Cursor:
    """Where decompression of a file stands, and which bytes come before a cut.

    lines: cuts are bytes of the compressed file, and the piece up to a cut ends with the first line that ends after
    what came out of those bytes. Else cuts are bytes of the text. Either way a cut is the same place whoever looks for
    it. cut: the end of the piece that was read last, perhaps not to its end; pieces from there on can be read.
    """

    def __init__(self, source: Source, lines: bool) -> None:
        self._decoder = Decoder(source)
        self._lines = lines
        self._unit = bytearray(UNIT)
        self._low = self._high = 0  # what is left of the unit
        self._seen: deque[tuple[int, int]] = deque()  # (bytes of the file read, text that had come out), ascending
        self._piece_start = 0
        self._over = True  # the piece up to `cut` has been taken whole
        self._ended = False
        self.cut = 0
        self.damage: str | None = None  # why the piece ends too early; of that piece alone

    def finish(self) -> None:
        """Pass over what is left of the piece."""
        while not self._over:
            self.take(self.cut, UNIT)
        self.damage = None

    def start(self, end: int) -> None:
        """Begin the piece that starts where the one before ended, and goes up to the cut `end` (-1: to the end)."""
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
        found = memoryview(self._unit)[self._low : self._low + count]
        self._low += count
        self._over = last and self._low == stop
        return found

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
        """Where in the unit the piece ends, or the unit; and whether it is the piece."""
        before = self._decoder.total - self._high  # text before the unit
        if end < 0:
            return self._high, False
        if not self._lines:
            return min(self._high, end - before), end - before <= self._high
        border = next((total for taken, total in self._seen if taken >= end), -1)
        if border < 0:
            return self._high, False
        if border < self._piece_start:  # the line that ends there ended the piece before: this one is empty
            return self._low, True
        found = self._unit.find(b"\n", max(self._low, border - before), self._high)
        return (found + 1, True) if found >= 0 else (self._high, False)

    def close(self) -> None:
        """Close the file."""
        if not self._ended:
            self._ended = True
            self._decoder.close()


class Piece:
    """The bytes of one piece, as a stream. damage: why they end too early, known at their end."""

    def __init__(self, relay: Relay, cursor: Cursor, end: int) -> None:
        self._relay = relay
        self.cursor: Cursor | None = cursor
        self.end = end
        self.damage: str | None = None
        self._kept: Any = None  # what somebody else has decompressed for us
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
            found = self._next(len(view))
            view[: len(found)] = found
            return len(found)

    def _next(self, most: int) -> memoryview:
        assert self.cursor is not None
        found = self.cursor.take(self.end, most)
        if not found:
            self.damage = self.cursor.damage
            self._relay.idle(self)
        return found

    def hand_over(self) -> None:
        """Decompress the rest of the piece for whoever reads it, so that another can go on from there."""
        while self.cursor is not None:
            if self._written - self._read >= _AHEAD:
                self._relay.lock.wait()
                continue
            if self._kept is None:
                self._kept = _temporary()
            if self._read == self._written:
                self._read = self._written = 0
            self._kept.seek(self._written)
            self._written += self._kept.write(self._next(UNIT))

    def close(self) -> None:
        """Let go of it; another goes on after it."""
        with self._relay.lock:
            if self.cursor is not None:
                self._relay.idle(self)
            if self._kept is not None:
                self._kept.close()


class Relay:
    """The pieces of one file, for all threads of this process. lock: guards everything; decompression is under it."""

    def __init__(self, source: Source, lines: bool) -> None:
        self._source, self._lines = source, lines
        self.lock = threading.Condition()
        self._idle: list[Cursor] = []
        self._pieces: list[Piece] = []
        self._threads: set[int] = set()

    def open(self, start: int, end: int) -> Piece:
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
            piece = Piece(self, cursor, end)
            self._pieces.append(piece)
            self.lock.notify_all()
            return piece

    def _nearest(self, start: int) -> int:
        """The last cut up to `start` that somebody stands at, or works towards."""
        cuts = [cursor.cut for cursor in self._idle] + [piece.end for piece in self._pieces]
        return max((cut for cut in cuts if 0 <= cut <= start), default=0)

    def _cursor(self, start: int) -> Cursor:
        """The cursor that stands nearest before `start`, taken from who has it."""
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

    def idle(self, piece: Piece) -> None:
        """A piece needs its cursor no more."""
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
        """Close what is open and used by nobody."""
        with self.lock:
            while self._idle:
                self._idle.pop().close()


_relays: dict[tuple[Any, ...], Relay] = {}
_lock = threading.Lock()
_scratch: str | None = None


def keep_in(folder: str | None) -> None:
    """Have temporary files in this folder; in that of the system without one."""
    global _scratch
    _scratch = folder


def _temporary() -> Any:
    if _scratch is not None:
        os.makedirs(_scratch, exist_ok=True)
    return SpooledTemporaryFile(_IN_MEMORY, dir=_scratch)


def open_piece(source: Source, start: int, end: int, lines: bool) -> Piece:
    """Bytes of a compressed file between two cuts, as a stream with `readinto`, `close` and `damage`.

    start, end: as `Cursor` has them; end -1: to the end. Raises OSError, DataError.
    """
    key = (*source.state(), lines)
    with _lock:
        relay = _relays.pop(key, None) or Relay(source, lines)
        _relays[key] = relay  # the one used last is at the end
        while len(_relays) > _FILES:
            _relays.pop(next(iter(_relays))).close()
    return relay.open(start, end)


@contextmanager
def relayed() -> Iterator[None]:
    """Files are held open between pieces while this is; afterwards they are closed."""
    try:
        yield
    finally:
        with _lock:
            for relay in _relays.values():
                relay.close()
            _relays.clear()
