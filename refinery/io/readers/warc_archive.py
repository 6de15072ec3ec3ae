"""Records of a web archive, plain or compressed, and the places where it can be cut."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from typing import Any

from refinery.io.model import Source
from refinery.io.pieces import even
from refinery.io.readers.model import ShardFields
from refinery.io.readers.read_buffer import stream
from refinery.io.readers.warc_members import has_members, next_member, records_of_members
from refinery.io.readers.warc_text import MOST_HEADER, Damage, Record, Text, fields_of, records
from refinery.storage.urls import is_url

_STEP = 256 << 10
_EXPANDS = 4  # bytes of text for a byte of a compressed file
_SEARCH = 32 << 20  # bytes in which the member after a cut is looked for
_HEADER = 8 << 10


def records_of(source: Source, start: int, end: int, limit: int) -> Iterator[tuple[int, Record | Damage]]:
    """The records that begin in [start, end), each with the place of its member in the file; -1 where it has none.

    limit: bytes of a record. Raises DataError.
    """
    if source.compression == "gzip" and (start > 0 or end >= 0 or _by_members(source)):
        yield from records_of_members(source, start, end, limit)
        return
    with closing(_Stream(source, start)) as file:
        for item in records(Text(file.read, lambda: file.damage, start), limit, end):
            yield -1, item


class _Stream:
    """The text of a file from a place on. damage: the reason of an early end."""

    def __init__(self, source: Source, start: int) -> None:
        self._stream = stream(source, start, -1, False)
        self._room = bytearray(_STEP)

    @property
    def damage(self) -> str | None:
        return getattr(self._stream, "damage", None)

    def read(self) -> bytes:
        """Some of the next bytes, none at the end."""
        if self.damage:
            return b""
        return bytes(self._room[: self._stream.readinto(memoryview(self._room)) or 0])

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def place_of(source: Source, member: int, at: int) -> str:
    """The place of a record, for messages. member: the place of its member; -1 without one."""
    if member >= 0:
        return f"at byte {member}" + (f", byte {at} of the member's text" if at else "")
    return f"at byte {at}" + (" of the decompressed text" if source.compression else "")


def pieces(source: Source, size: int) -> Iterator[ShardFields]:
    """Pieces of about `size` bytes of text, between records; one piece where a file cannot be entered within."""
    cuts = [0, *_cuts(source, size)]
    for number, start in enumerate(cuts):
        end = cuts[number + 1] if number + 1 < len(cuts) else -1
        yield ShardFields((source,), start, end, (source.size if end < 0 else end) - start)


def _cuts(source: Source, size: int) -> list[int]:
    if source.compression == "gzip" and _by_members(source):
        count = -(-source.size * _EXPANDS // size)
        wanted = [piece.start for piece in even(source, 0, source.size, source.size, count)][1:]
        found = {next_member(source, at, _SEARCH) for at in wanted}
        return sorted(found - {-1, 0})
    if source.compression is None and not is_url(source.path):
        return list(_plain_cuts(source, size))
    return []


def _plain_cuts(source: Source, size: int) -> Iterator[int]:
    """Places of records at least `size` bytes apart, by the lengths in their headers; none after a wrong length."""
    last = at = 0
    with open(source.path, "rb", buffering=_HEADER) as file:
        while (place := _record_after(file, at)) >= 0:
            if place - last >= size:
                yield place
                last = place
            file.seek(place)
            if (at := _end_of_record(file, place)) < 0:
                return


def _record_after(file: Any, at: int) -> int:
    """The place of the record that begins at `at`, after empty lines; -1 if none does."""
    file.seek(at)
    head = file.read(64)
    rest = head.lstrip(b"\r\n")
    return at + len(head) - len(rest) if rest.startswith(b"WARC/") else -1


def _end_of_record(file: Any, at: int) -> int:
    """The end of the block of a record; -1 if its header does not tell it, or it is beyond the end of the file."""
    head = b""
    while line := file.readline(MOST_HEADER):
        head += line
        if not line.strip() or len(head) > MOST_HEADER:
            break
    length = fields_of(head).get(b"content-length", b"")
    end = at + len(head) + int(length) if length.isdigit() and len(length) <= 18 else -1
    return end if end <= os.fstat(file.fileno()).st_size else -1


def _by_members(source: Source) -> bool:
    return _members_of(source.path, source.size, source.version, source)


@lru_cache(maxsize=1024)
def _members_of(path: str, size: int, version: str, source: Source) -> bool:
    return has_members(source)
