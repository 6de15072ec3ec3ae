"""Digests of bytes, by which checkpoints recognise their inputs and their own files: 128 bits of XXH3.

A digest finds accidents, not attacks: a forged one helps only a person who can write the files anyway. Keys of results
are SHA-256 over such digests.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import xxhash

# Name of the digest where one is stored that earlier versions have stored, too: theirs was another.
ALGORITHM = "xxh3_128"

_READ = 1 << 19


class Digest:
    """Incremental digest; the result does not depend on how the bytes are cut into pieces. size: bytes so far."""

    def __init__(self) -> None:
        self._state = xxhash.xxh3_128()
        self.size = 0

    def update(self, data: Any) -> None:
        """Absorb a buffer of bytes."""
        view = memoryview(data)
        self._state.update(view)
        self.size += view.nbytes

    def hexdigest(self) -> str:
        """Digest of the bytes absorbed so far, as 32 hexadecimal digits."""
        return self._state.hexdigest()


def digest_of_json(data: Any) -> str:
    """Digest of plain data, whatever the order of names and the layout of its JSON."""
    digest = Digest()
    digest.update(json.dumps(data, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def digest_of_stream(stream: Any, into: Digest | None = None, room: bytearray | None = None) -> Digest:
    """Absorb the bytes that `readinto` gives until it gives none. room: for these bytes, where many files share it."""
    digest = into or Digest()
    view = memoryview(bytearray(_READ) if room is None else room)
    while count := stream.readinto(view):
        digest.update(view[:count])
    return digest


def size_and_digest(path: Path) -> tuple[int, str]:
    """Size and digest of a file."""
    digest = digest_of_file(path)
    return digest.size, digest.hexdigest()


def digest_of_file(path: str | Path, start: int = 0, end: int = -1, room: bytearray | None = None) -> Digest:
    """Digest of bytes [start, end) of a file, or fewer where it is shorter; end -1: the file's end. Raises OSError."""
    with open(path, "rb", buffering=0) as file:
        file.seek(start)
        return digest_of_stream(file if end < 0 else _Some(file, end - start), room=room)


class _Some:
    """Reader of the next bytes of a file, up to the end of a range."""

    def __init__(self, file: Any, count: int) -> None:
        self._file, self._left = file, count

    def readinto(self, view: memoryview) -> int:
        """Fill the view, no further than the end of the range."""
        count = self._file.readinto(view[: self._left]) or 0
        self._left -= count
        return int(count)
