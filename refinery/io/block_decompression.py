"""Decompression of bzip2 and xz, which Arrow has not or not for all builds: one stream after another, damage as OSError."""

from __future__ import annotations

from typing import Any

_STEP = 64 << 10


def _bzip2() -> Any:
    import bz2

    return bz2.BZ2Decompressor()


def _xz() -> Any:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ)


# The maker of a decompressor of one stream, and the first bytes of each stream.
FORMATS = {"bzip2": (_bzip2, b"BZh"), "xz": (_xz, b"\xfd7zXZ")}


class Blocks:
    """The decompressed bytes of a file, which is closed with them. file: has `read`, and is at its start."""

    def __init__(self, file: Any, compression: str) -> None:
        self._file = file
        self._begin, self._magic = FORMATS[compression]
        self._rest = b""
        self._stream: Any = self._begin()
        self._name = compression

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; 0 at the end. Raises OSError at damage, after all bytes that can be told before it."""
        data = self._next(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, most: int = -1) -> bytes:
        """The next bytes, at most `most`; all of them without it."""
        if most >= 0:
            return self._next(most)
        parts = []
        while piece := self._next(_STEP):
            parts.append(piece)
        return b"".join(parts)

    def _next(self, most: int) -> bytes:
        while self._stream is not None and most:
            if self._stream.eof:
                self._follow()
                continue
            data = self._decompressed(most)
            if data:
                return data
        return b""

    def _decompressed(self, most: int) -> bytes:
        """Some of the next bytes of the stream, perhaps none yet."""
        piece = b""
        if self._stream.needs_input:
            piece, self._rest = self._rest or self._file.read(_STEP), b""
            if not piece:
                raise OSError(f"the file ends within the {self._name} data")
        try:
            data: bytes = self._stream.decompress(piece, most)
        except (OSError, ValueError, EOFError, _xz_error()) as error:
            raise OSError(str(error)) from error
        return data

    def _follow(self) -> None:
        """Begin the stream that follows, after any zeros; there is none at the end of the file."""
        rest = self._stream.unused_data.lstrip(b"\0")
        while len(rest) < len(self._magic) and (piece := self._file.read(_STEP)):
            rest = (rest + piece).lstrip(b"\0")
        if rest and not rest.startswith(self._magic):
            raise OSError(f"the data after a stream is no {self._name} data")
        self._stream, self._rest = (self._begin() if rest else None), rest

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Blocks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _xz_error() -> type[Exception]:
    import lzma

    return lzma.LZMAError
