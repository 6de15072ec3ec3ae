"""Gzip members with zeros after or between them, as tapes and tar write them: gzip(1) and Python skip the zeros."""

from __future__ import annotations

import zlib
from typing import Any

_STEP = 64 << 10
_MAGIC = b"\x1f\x8b"


class Members:
    """The decompressed bytes of all members of a gzip file, as a stream. Arrow's own stream takes zeros for damage."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._rest = b""
        self._member: Any = None
        self._error: str | None = None
        self._ahead = b""

    def look_ahead(self) -> None:
        """Decompress the next byte, which the next call returns. Raises OSError at damage."""
        byte = bytearray(1)
        self._ahead = bytes(byte[: self.readinto(memoryview(byte))])

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; 0 at the end. Raises OSError at damage, after all bytes before it."""
        if self._ahead:
            view[:1], self._ahead = self._ahead, b""
            return 1
        while not self._error and (self._member is not None or self._next()):
            data = self._decompressed(len(view))
            if self._member.eof:
                self._rest, self._member = self._member.unused_data, None
            if data:
                view[: len(data)] = data
                return len(data)
        if self._error:
            raise OSError(self._error)
        return 0

    def _next(self) -> bool:
        """Begin the next member, after any zeros."""
        self._rest = self._rest.lstrip(b"\0")
        while len(self._rest) < len(_MAGIC) and (more := self._file.read(_STEP)):
            self._rest = (self._rest + more).lstrip(b"\0")
        if self._rest.startswith(_MAGIC):
            self._member = zlib.decompressobj(31)
        elif self._rest:
            self._error = "the data after a member is no gzip data"
        return self._member is not None

    def _decompressed(self, most: int) -> bytes:
        """Some of the next bytes of the member, `most` at most; none at its end, or at damage."""
        while not self._member.eof and not self._error:
            self._rest = self._rest or self._file.read(_STEP)
            if not self._rest:
                self._error = "the file ends within a member"
            elif data := self._step(most):
                return data
        return b""

    def _step(self, most: int) -> bytes:
        before = self._member.copy()
        try:
            data: bytes = self._member.decompress(self._rest, most)
        except zlib.error as error:
            self._error = str(error)
            return _before_damage(before, self._rest, most)
        self._rest = self._member.unconsumed_tail
        return data

    def tell(self) -> int:
        """Bytes of the file that have been read."""
        return int(self._file.tell())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _before_damage(member: Any, data: bytes, most: int) -> bytes:
    """Decompress byte by byte, up to the damage."""
    text = b""
    try:
        for at in range(len(data)):
            text += member.decompress(data[at : at + 1], most - len(text) or 1)
    except zlib.error:
        pass
    return text[:most]
