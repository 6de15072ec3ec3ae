"""Records of a web archive in its decompressed text: where each begins and ends, and what is wrong with it.

The lengths are checked here and not left to a library: FastWARC 2.0 hands out a record that ends early as if it were whole,
and skips one whose header has bare line feeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from refinery.io.batch import RAW_LIMIT
from refinery.io.line_errors import CUT_OFF

# The longest header of a record.
MOST_HEADER = 1 << 20
_STEP = 256 << 10
_NEWLINES = b"\r\n"
_BEGIN = b"WARC/"
_VERSION = re.compile(rb"WARC/\d+\.\d+[ \t]*\r?\n")
_HEADER_END = re.compile(rb"\n\r?\n")
_NEXT = re.compile(rb"\nWARC/\d+\.\d+[ \t]*\r?\n")
_LONGEST_NEXT = 64


@dataclass(frozen=True)
class Record:
    """A whole record. at: its place in the text. head: its header with the empty line. fields: of it, names in lower case."""

    at: int
    head: bytes
    fields: dict[bytes, bytes]
    block: bytes


@dataclass(frozen=True)
class Damage:
    """A record that cannot be read. at: its place in the text. raw: its first bytes."""

    at: int
    raw: bytes
    reason: str


class Text:
    """The text of a file, or of a part of it, read forward. read: the next bytes, none at the end. base: place of the first.

    damage: the reason of an early end, known at the end. checked: a checksum of all of it stands at its end, so that with
    damage its last record may be wrong, though it is there.
    """

    def __init__(
        self, read: Callable[[], bytes], damage: Callable[[], str | None], base: int = 0, checked: bool = False
    ) -> None:
        self._read, self._damage, self.checked = read, damage, checked
        self._data = bytearray()
        self._base, self._at = base, 0
        self.ended = False

    @property
    def at(self) -> int:
        """The place of the next byte."""
        return self._base + self._at

    @property
    def damage(self) -> str | None:
        """The reason why the text ends early, once it has ended."""
        return self._damage() if self.ended else None

    def has(self, count: int) -> bool:
        """Read on until `count` bytes are there; False if the text ends before."""
        while len(self._data) - self._at < count and not self.ended:
            self._more()
        return len(self._data) - self._at >= count

    def _more(self) -> None:
        piece = self._read()
        self._data += piece
        self.ended = not piece

    def release(self) -> None:
        """Drop the bytes before the next one: `back` cannot go there any more."""
        del self._data[: self._at]
        self._base, self._at = self._base + self._at, 0

    def head(self, count: int) -> bytes:
        """The next bytes, `count` at most, which stay."""
        self.has(count)
        return bytes(self._data[self._at : self._at + count])

    def take(self, count: int) -> bytes:
        """The next bytes, `count` at most."""
        data = self.head(count)
        self._at += len(data)
        return data

    def back(self, count: int) -> None:
        """Put the last `count` bytes back."""
        self._at -= count

    def skip(self, count: int) -> int:
        """Pass over `count` bytes, or to the end; returns their number."""
        left = count
        while left and self.has(1):
            self.release()
            step = min(left, len(self._data) - self._at)
            self._at += step
            left -= step
        return count - left

    def skip_newlines(self) -> None:
        """Pass over empty lines."""
        while self.has(1) and self._data[self._at] in _NEWLINES:
            self._at += 1

    def length_to(self, pattern: re.Pattern[bytes], most: int) -> int:
        """Number of bytes up to the end of the first match, which ends within `most` bytes; -1 without one."""
        look = 4096
        while True:
            self.has(look)
            match = pattern.search(self._data, self._at, self._at + most)
            if match:
                return match.end() - self._at
            if self.ended or look >= most:
                return -1
            look = min(most, 4 * look)

    def seek_record(self) -> None:
        """Move to the first record that begins on a later line, or to the end."""
        while self.has(1):
            self.release()
            self.has(_STEP)
            match = _NEXT.search(self._data, self._at)
            if match:
                self._at = match.start() + 1
                return
            if self.ended:
                self._at = len(self._data)
                return
            self._at = max(self._at, len(self._data) - _LONGEST_NEXT)


def records(text: Text, limit: int, stop: int = -1) -> Iterator[Record | Damage]:
    """The records that begin before `stop`; a longer block than `limit` bytes is passed over.

    A record whose length is wrong is one Damage, and reading goes on at the next line that begins a record.
    """
    while True:
        text.skip_newlines()
        if not text.has(1) or 0 <= stop <= text.at:
            if text.ended and text.damage and not text.has(1):
                yield Damage(text.at, b"", text.damage)
            return
        text.release()
        item = _record(text, limit)
        yield item
        if isinstance(item, Damage) and item.reason == text.damage:
            return


def _record(text: Text, limit: int) -> Record | Damage:
    """The next record, after which the text is at the next one."""
    at = text.at
    if not _VERSION.match(text.head(32)):
        raw = text.head(_STEP)
        text.seek_record()
        return _lost(text, at, raw, f"no record begins here, but {raw[:20]!r}")
    size = text.length_to(_HEADER_END, MOST_HEADER)
    if size < 0:
        raw = text.head(_STEP)
        long = text.has(MOST_HEADER)
        text.seek_record()
        return _lost(text, at, raw, f"its header has more than {MOST_HEADER} bytes" if long else CUT_OFF)
    head = text.take(size)
    fields = fields_of(head)
    length = fields.get(b"content-length", b"")
    if not length.isdigit() or len(length) > 18:
        text.back(2)  # an empty line may be the end of the last record
        text.seek_record()
        return _lost(text, at, head, f"its Content-Length is {length.decode('utf-8', 'replace')!r}")
    return _with_block(text, at, head, fields, int(length), limit)


def _with_block(
    text: Text, at: int, head: bytes, fields: dict[bytes, bytes], length: int, limit: int
) -> Record | Damage:
    if length > limit:
        count = text.skip(length)
        reason = f"a record of {length} bytes is longer than the limit"
        return _lost(text, at, head, reason if count == length else _early(text, count, length))
    block = text.take(length)
    if len(block) < length:
        return _too_short(text, at, head, block, length)
    text.skip_newlines()
    if text.checked and text.damage and not text.has(1):
        return _lost(text, at, head + block, text.damage)
    if text.has(1) and not text.head(len(_BEGIN)) == _BEGIN:
        return _wrong_length(text, at, head, block)
    return Record(at, head, fields, block)


def _too_short(text: Text, at: int, head: bytes, block: bytes, length: int) -> Damage:
    """The text ends before the record: go on with the record that begins within the block, if one does."""
    if not text.damage:
        _seek_within(text, at + len(head))
    return _lost(text, at, head + block, _early(text, len(block), length))


def _early(text: Text, count: int, length: int) -> str:
    """The reason of a record that ends after `count` of its bytes: more text follows, or its member is whole, or neither."""
    if text.has(1) or (text.checked and not text.damage):
        return f"its Content-Length is {length}, but it has at most {count} bytes"
    return f"{CUT_OFF} ({count} of {length} bytes)"


def _seek_within(text: Text, block: int) -> None:
    text.back(text.at - block + 1)
    text.seek_record()


def _wrong_length(text: Text, at: int, head: bytes, block: bytes) -> Damage:
    """Go on within the block, where the next record begins if the length is too large."""
    _seek_within(text, at + len(head))
    return _lost(
        text, at, head + block, f"no record follows its {len(block)} bytes: Content-Length is wrong, or bytes are lost"
    )


def _lost(text: Text, at: int, raw: bytes, reason: str) -> Damage:
    why = text.damage if not text.has(1) else None
    return Damage(at, raw[:RAW_LIMIT], why or reason)


def fields_of(head: bytes) -> dict[bytes, bytes]:
    """The fields of a header by their names in lower case; of a repeated one the first."""
    fields: dict[bytes, bytes] = {}
    name = b""
    for line in head.split(b"\n")[1:]:
        if line[:1] in (b" ", b"\t") and name:
            fields[name] += b" " + line.strip()
            continue
        name, _, value = line.partition(b":")
        name = name.strip().lower()
        fields.setdefault(name, value.strip())
    return fields
