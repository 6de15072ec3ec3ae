"""Replacement of single characters by a table, optionally after str.strip."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.arrow import CHANGED
from refinery.kernels.core.blocks import BLOCK, equal_to, first_set
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.stripping import stripped
from refinery.kernels.core.utf8 import copy, decode

FIRSTS = 5  # number of bytes searched for in a block at once


class CharMap(NamedTuple):
    """Table of replacements in the form that kernels read.

    starts: uint8 (FIRSTS), the possible first bytes of a mapped character, some of them twice. which: uint8, by code
    point the number of its replacement, 0 for none; code points beyond its end have none. pieces: uint8, all
    replacements in UTF-8. ends: int64, replacement k is pieces[ends[k - 1]:ends[k]].
    """

    starts: np.ndarray
    which: np.ndarray
    pieces: np.ndarray
    ends: np.ndarray


def char_map(table: dict[str, str]) -> CharMap:
    """Compile {character: replacement}; at most 255 different replacements, none longer than its character in UTF-8.

    So a mapped text is never longer than the text, which the kernel relies on. Raises ValueError otherwise, for
    characters that begin with more than FIRSTS different bytes, and for an empty table.
    """
    firsts = sorted({char.encode()[0] for char in table})
    if not 0 < len(firsts) <= FIRSTS:
        raise ValueError(f"{len(firsts)} first bytes of characters; there can be 1 to {FIRSTS}")
    numbers = {piece: k + 1 for k, piece in enumerate(dict.fromkeys(table.values()))}
    starts = np.array((firsts * FIRSTS)[:FIRSTS], np.uint8)
    which = np.zeros(max(map(ord, table), default=0) + 1, np.uint8)
    for char, piece in table.items():
        if len(piece.encode()) > len(char.encode()) or len(numbers) > 255:
            raise ValueError(f"{char!r} -> {piece!r}: at most 255 replacements, and none may be longer in UTF-8")
        which[ord(char)] = numbers[piece]
    ends = np.cumsum([0] + [len(piece.encode()) for piece in numbers]).astype(np.int64)
    pieces = np.frombuffer("".join(numbers).encode() + b"\0", np.uint8)
    return CharMap(starts, which, pieces, ends)


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] uint8[] uint8[] uint8[] int64[] bool uint8[] -> int64")
def map_rows(data, offsets, valid, out, out_offsets, state, starts, which, pieces, ends, strip, classes):
    """Kernel of `arrow.delta`: strip the text if `strip` (by `classes`), then replace the mapped characters."""
    w = 0
    for row in range(len(valid)):
        out_offsets[row + 1] = w
        if not valid[row]:
            continue
        start, end = offsets[row], offsets[row + 1]
        if strip:
            start, end = stripped(data, start, end, classes)
        at = _next(data, start, end, starts, which)
        if at == end and end - start == offsets[row + 1] - offsets[row]:
            continue
        w = _map(data, start, at, end, starts, which, pieces, ends, out, w)
        out_offsets[row + 1] = w
        state[row] = CHANGED
    return w


@kernel
def _next(data, i, end, starts, which):
    """Position of the next mapped character; `end` when there is none."""
    a, b, c, d, e = starts[0], starts[1], starts[2], starts[3], starts[4]
    while i < end and i + BLOCK <= len(data):
        hits = equal_to(data, i, a) | equal_to(data, i, b) | equal_to(data, i, c)
        hits |= equal_to(data, i, d) | equal_to(data, i, e)
        while hits:
            at = i + first_set(hits)
            if at >= end:
                return end
            if _mapped(data, at, which):
                return at
            hits &= hits - np.uint64(1)
        i += BLOCK
    while i < end:
        first = data[i]
        if (first == a or first == b or first == c or first == d or first == e) and _mapped(data, i, which):
            return i
        i += 1
    return end


@inlined
def _mapped(data, i, which):
    cp, _ = decode(data, i)
    return cp < len(which) and which[cp] != 0


@kernel
def _map(data, start, at, end, starts, which, pieces, ends, out, w):
    """Write data[start:end] mapped to out[w:]; `at` is the first mapped character."""
    while at < end:
        w = copy(data, start, at, out, w)
        cp, start = decode(data, at)
        piece = which[cp]
        w = copy(pieces, ends[piece - 1], ends[piece], out, w)
        at = _next(data, start, end, starts, which)
    return copy(data, start, end, out, w)
