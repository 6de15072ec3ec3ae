"""Fast digest of bytes, by which checkpoints recognise their inputs and their own files.

Eight lanes of 64 bits take a word each of every 64 bytes, as xxHash does with four; 128 bits result.
The digest finds accidents, not attacks: a forged digest helps only a person who can write the files anyway.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from refinery.kernels.core.blocks import BLOCK, load_word
from refinery.kernels.core.jit import entry, inlined

_P1, _P2, _P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_SEEDS = np.array([0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0, 0x61C8864E7A143579, 0x27D4EB2F165667C5, 0x85EBCA77C2B2AE63,
                   0xD6E8FEB86659FD93, 0xA0761D6478BD642F], np.uint64)  # fmt: skip
_READ = 1 << 19


@inlined
def _mixed(lane, word):
    x = lane + word * _P2
    return ((x << np.uint64(31)) | (x >> np.uint64(33))) * _P1


@entry("uint8[] int64 int64 uint64[]")
def absorb(data, start, end, lanes):
    """Absorb the bytes [start, end), a whole number of blocks of 64."""
    a, b, c, d = lanes[0], lanes[1], lanes[2], lanes[3]
    e, f, g, h = lanes[4], lanes[5], lanes[6], lanes[7]
    for at in range(start, end, BLOCK):
        a, b = _mixed(a, load_word(data, at)), _mixed(b, load_word(data, at + 8))
        c, d = _mixed(c, load_word(data, at + 16)), _mixed(d, load_word(data, at + 24))
        e, f = _mixed(e, load_word(data, at + 32)), _mixed(f, load_word(data, at + 40))
        g, h = _mixed(g, load_word(data, at + 48)), _mixed(h, load_word(data, at + 56))
    lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d
    lanes[4], lanes[5], lanes[6], lanes[7] = e, f, g, h


@inlined
def _avalanche(x):
    x = (x ^ (x >> np.uint64(33))) * _P2
    x = (x ^ (x >> np.uint64(29))) * _P3
    return x ^ (x >> np.uint64(32))


@entry("uint64[] int64 uint64[]")
def finish(lanes, size, out):
    """Write the two words of the digest of `size` bytes to out."""
    first = np.uint64(size) * _P1
    second = np.uint64(size) + _P3
    for k in range(8):
        first = (first ^ _avalanche(lanes[k])) * _P1 + _P2
        second = (second ^ _avalanche(lanes[7 - k] + _P1)) * _P3 + _P1
    out[0], out[1] = _avalanche(first), _avalanche(second)


class Digest:
    """Incremental digest; the result does not depend on how the bytes are cut into pieces."""

    def __init__(self) -> None:
        self._lanes = _SEEDS.copy()
        self._rest = np.zeros(BLOCK, np.uint8)
        self._filled = 0
        self.size = 0

    def update(self, data: Any) -> None:
        """Absorb a buffer of bytes."""
        view = np.frombuffer(data, np.uint8)
        at = 0
        self.size += len(view)
        if self._filled:
            at = min(BLOCK - self._filled, len(view))
            self._rest[self._filled : self._filled + at] = view[:at]
            self._filled += at
            if self._filled < BLOCK:
                return
            absorb(self._rest, 0, BLOCK, self._lanes)
        end = at + (len(view) - at) // BLOCK * BLOCK
        if end > at:
            absorb(view, at, end, self._lanes)
        self._filled = len(view) - end
        self._rest[: self._filled] = view[end:]

    def hexdigest(self) -> str:
        """Digest of the bytes absorbed so far, as 32 hexadecimal digits."""
        lanes, rest, out = self._lanes.copy(), self._rest.copy(), np.zeros(2, np.uint64)
        if self._filled:
            rest[self._filled :] = 0
            absorb(rest, 0, BLOCK, lanes)
        finish(lanes, self.size, out)
        return f"{int(out[0]):016x}{int(out[1]):016x}"


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
