"""Character for character replacement by a table, with or without str.strip before it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from refinery.kernels.arrow import CHANGED
from refinery.kernels.charclass import SPACE
from refinery.kernels.utf8 import before, copy, decode

BLOCK = 32  # bytes looked at before the first branch


class CharMap(NamedTuple):
    """A table of replacements as kernels read it.

    starts: uint8 (256), 1 for the bytes with which a mapped character can start. which: uint8, by code point the number
    of its replacement, 0 for none; code points beyond its end have none. pieces: uint8, all replacements in UTF-8.
    ends: int64, replacement k is pieces[ends[k - 1]:ends[k]].
    """

    starts: np.ndarray
    which: np.ndarray
    pieces: np.ndarray
    ends: np.ndarray


def char_map(table: dict[str, str]) -> CharMap:
    """Compile {character: replacement}; at most 255 different replacements, none longer than its character in UTF-8.

    So a mapped text never needs more room than the text, which the kernel relies on; ValueError otherwise.
    """
    numbers = {piece: k + 1 for k, piece in enumerate(dict.fromkeys(table.values()))}
    starts = np.zeros(256, np.uint8)
    which = np.zeros(max(map(ord, table), default=0) + 1, np.uint8)
    for char, piece in table.items():
        if len(piece.encode()) > len(char.encode()) or len(numbers) > 255:
            raise ValueError(f"{char!r} -> {piece!r}: at most 255 replacements, and none may be longer in UTF-8")
        starts[char.encode()[0]] = 1
        which[ord(char)] = numbers[piece]
    ends = np.cumsum([0] + [len(piece.encode()) for piece in numbers]).astype(np.int64)
    pieces = np.frombuffer("".join(numbers).encode() + b"\0", np.uint8)
    return CharMap(starts, which, pieces, ends)


@njit(nogil=True, cache=True)
def map_rows(data, offsets, valid, out, out_offsets, state, starts, which, pieces, ends, strip, classes):
    """Kernel of `arrow.delta`: strip the text where `strip` (it reads `classes`), then replace what the table maps."""
    w = 0
    for row in range(len(valid)):
        out_offsets[row + 1] = w
        if not valid[row]:
            continue
        start, end = offsets[row], offsets[row + 1]
        if strip:
            start, end = _stripped(data, start, end, classes)
        at = _next(data, start, end, starts, which)
        if at == end and end - start == offsets[row + 1] - offsets[row]:
            continue
        w = _map(data, start, at, end, starts, which, pieces, ends, out, w)
        out_offsets[row + 1] = w
        state[row] = CHANGED
    return w


@njit(nogil=True, cache=True)
def _stripped(data, start, end, classes):
    while start < end:
        cp, after = decode(data, start)
        if not classes[cp] & SPACE:
            break
        start = after
    while start < end:
        last = before(data, end, start)
        cp, _ = decode(data, last)
        if not classes[cp] & SPACE:
            break
        end = last
    return start, end


@njit(nogil=True, cache=True)
def _next(data, i, end, starts, which):
    """Where the next mapped character starts; end when there is none."""
    while i < end:
        while i + BLOCK <= end:
            found = 0
            for j in range(i, i + BLOCK):
                found |= starts[data[j]]
            if found:
                break
            i += BLOCK
        while i < end and not starts[data[i]]:
            i += 1
        if i < end:
            cp, after = decode(data, i)
            if cp < len(which) and which[cp]:
                return i
            i = after
    return end


@njit(nogil=True, cache=True)
def _map(data, start, at, end, starts, which, pieces, ends, out, w):
    """Write data[start:end] mapped to out[w:]; `at` is the first mapped character."""
    while at < end:
        w = copy(data, start, at, out, w)
        cp, start = decode(data, at)
        piece = which[cp]
        w = copy(pieces, ends[piece - 1], ends[piece], out, w)
        at = _next(data, start, end, starts, which)
    return copy(data, start, end, out, w)
