"""Members of a gzip file that holds a web archive: each record is one, so reading can begin at any of them.

A place where a member seems to begin is believed if its text begins a record. Bytes of a record may look like that too,
where an archive is stored in an archive. So a shard that reads up to such a place checks that one of its own members ends there.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any

from refinery.errors import DataError
from refinery.io.line_errors import CUT_OFF
from refinery.io.model import Source
from refinery.io.open import open_source
from refinery.io.readers.warc_text import Damage, Record, Text, records

_STEP = 64 << 10
_MAGIC = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_FIRST = 8 << 10  # bytes of a member that show how its text begins
_BEGIN = re.compile(rb"[\r\n]*WARC/\d")
_GZIP = 31


class _Bytes:
    """The bytes of a file from a place on. at: place of the next byte."""

    def __init__(self, source: Source, start: int) -> None:
        self._file = open_source(source)
        self._file.seek(start)
        self._rest = b""
        self.at = start

    def next(self) -> bytes:
        """Some of the next bytes, none at the end."""
        data = self._rest or self._file.read(_STEP)
        self._rest = b""
        self.at += len(data)
        return data

    def back(self, data: bytes) -> None:
        """Put bytes back."""
        self._rest = data + self._rest
        self.at -= len(data)

    def head(self, count: int) -> bytes:
        """The next bytes, `count` at most, which stay."""
        while len(self._rest) < count and (piece := self._file.read(_STEP)):
            self._rest += piece
        return self._rest[:count]

    def move(self, at: int) -> None:
        """Go on at a place."""
        self._file.seek(at)
        self._rest, self.at = b"", at

    def skip_zeros(self) -> None:
        """Pass over padding."""
        while (head := self.head(_STEP)) and not head[0]:
            rest = head.lstrip(b"\0")
            self.move(self.at + len(head) - len(rest))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Member:
    """The text of the member that begins at the next byte of a file. damage: the reason of an early end."""

    def __init__(self, file: _Bytes) -> None:
        self._file = file
        self._inflate: Any = zlib.decompressobj(_GZIP)
        self.damage: str | None = None

    def read(self) -> bytes:
        """Some of the next bytes, none at the end or at damage."""
        while not self._inflate.eof and not self.damage:
            data = self._file.next()
            if not data:
                self.damage = CUT_OFF
                break
            try:
                text: bytes = self._inflate.decompress(data, 4 * _STEP)
            except zlib.error as error:
                self.damage = f"its gzip data is damaged ({error})"
                break
            rest = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            if rest:
                self._file.back(rest)
            if text:
                return text
        return b""


def has_members(source: Source) -> bool:
    """Return whether the second member of a gzip file begins a record, so that each record is a member."""
    file = _Bytes(source, 0)
    try:
        member = _Member(file)
        size = 0
        while size < 16 * _STEP and (text := member.read()):
            size += len(text)
        return size < 16 * _STEP and not member.damage and _begins_record(file.head(_FIRST))
    finally:
        file.close()


def _begins_record(data: bytes) -> bool:
    """Return whether a member that begins a record begins with these bytes."""
    try:
        return bool(_BEGIN.match(zlib.decompressobj(_GZIP).decompress(data, 64)))
    except zlib.error:
        return False


def next_member(source: Source, start: int, most: int = -1) -> int:
    """The first place from `start` on, within `most` bytes, where a member seems to begin a record; -1 without one."""
    file = _Bytes(source, start)
    try:
        return _next(file, most)
    finally:
        file.close()


def _next(file: _Bytes, most: int = -1) -> int:
    first = file.at
    while (head := file.head(_STEP + _FIRST)) and (most < 0 or file.at - first < most):
        for match in _MAGIC.finditer(head, 0, _STEP):
            if _begins_record(head[match.start() : match.start() + _FIRST]):
                return file.at + match.start()
        if len(head) <= _STEP:
            break
        file.move(file.at + _STEP - 3)
    return -1


def records_of_members(source: Source, start: int, end: int, limit: int) -> Iterator[tuple[int, Record | Damage]]:
    """The records of the members that begin in [start, end), each with the place of its member in the file.

    A damaged member costs itself: reading goes on at the next one that begins a record. Raises DataError if no member
    begins at `end`.
    """
    file = _Bytes(source, start)
    try:
        while True:
            file.skip_zeros()
            at = file.at
            if not file.head(1) or 0 <= end <= at:
                _require_end(source, at, end)
                return
            if not file.head(2).startswith(b"\x1f\x8b"):
                yield at, Damage(0, file.head(64), f"no gzip data begins here, but {file.head(8)!r}")
            else:
                member = _Member(file)
                text = Text(member.read, partial(getattr, member, "damage"), checked=True)
                for item in records(text, limit):
                    yield at, item
                if not member.damage:
                    continue
            place = next_member(source, at + 1)
            if place < 0:
                return
            file.move(place)
    finally:
        file.close()


def _require_end(source: Source, at: int, end: int) -> None:
    if end >= 0 and at != end:
        raise DataError(
            f"{source.path}: a shard was cut at byte {end}, within a record that seems to hold an archive itself. "
            "Set shard_size above the size of the file, or decompress the file"
        )
