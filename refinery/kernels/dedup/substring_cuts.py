"""Passages of a text as they are taken out: in bytes, joined over gaps, and cut to whole characters, words or lines."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import CHANGED, delta, ints, of_texts, texts, without_blank
from refinery.kernels.core.charclass import SPACE, classes
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import before, copy, decode
from refinery.kernels.dedup.line_units import numbers
from refinery.kernels.dedup.substrings import next_token

BOUNDARIES = ("character", "word", "line")
_CHARACTER, _WORD, _LINE = range(3)
_LINE_FEED = 0x0A


def remove_passages(
    column: pa.Array | pa.ChunkedArray,
    passages: pa.Array | pa.ChunkedArray,
    tokens: bool,
    gap: int,
    boundaries: str,
    least: int,
) -> pa.Array:
    """Remove from each text its passages: start, end, start, end ... in bytes, or in tokens of `substrings.anchors`, ascending.

    gap: passages with at most so many bytes between them are one. boundaries: one of BOUNDARIES; a passage loses its parts of
    characters, words or lines at its ends. The text is empty if fewer than `least` bytes of it are left, or, unless `least` is 0,
    nothing but white space. NULL where nothing is removed.
    """
    how = BOUNDARIES.index(boundaries)
    places, offsets = numbers(passages)
    left = delta(column, _remove, places.copy(), offsets, tokens, gap, how, least, classes())
    return without_blank(left) if least else left


def passage_share(column: pa.Array | pa.ChunkedArray, passages: pa.Array | pa.ChunkedArray, tokens: bool) -> pa.Array:
    """Share of each text's bytes that its passages have; 0 for an empty text, and for NULL."""
    view, (places, offsets) = texts(column), numbers(passages)
    covered = np.zeros(len(view), np.int64)
    _covered(view.data, view.offsets, view.valid, places.copy(), offsets, tokens, classes(), covered)
    sizes = np.maximum(np.diff(view.offsets), 1)
    return ints(covered / sizes)


def bounds_in_bytes(text: str, passages: list[int], tokens: bool) -> list[tuple[int, int]]:
    """First byte and end of each passage of a text."""
    places, view = np.array(passages, np.int64), texts(of_texts([text]))
    _to_bytes(view.data, view.offsets, places, tokens, classes())
    return list(zip(places[::2].tolist(), places[1::2].tolist(), strict=True))


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] int64[] int64[] bool int64 int64 int64 uint8[] -> int64")
def _remove(
    data, offsets, valid, out, out_offsets, state, places, firsts, tokens, gap, how, least, class_table
):  # fmt: skip
    """Kernel of `arrow.delta`. places: are changed to those that are removed."""
    w = 0
    for row in range(len(valid)):
        out_offsets[row + 1] = w
        start, end = offsets[row], offsets[row + 1]
        if not valid[row] or firsts[row] == firsts[row + 1]:
            continue
        _in_bytes(data, start, end, places, firsts[row], firsts[row + 1], tokens, class_table)
        last = _cut(data, start, end, places, firsts[row], firsts[row + 1], gap, how, class_table)
        if last == firsts[row]:
            continue
        begun = w
        for at in range(firsts[row], last, 2):
            w = copy(data, start, places[at], out, w)
            start = places[at + 1]
        w = copy(data, start, end, out, w)
        w = begun if w - begun < least else w
        out_offsets[row + 1] = w
        state[row] = CHANGED
    return w


@entry("uint8[] int64[] bool[] int64[] int64[] bool uint8[] int64[]")
def _covered(data, offsets, valid, places, firsts, tokens, class_table, covered):
    for row in range(len(valid)):
        if valid[row]:
            _in_bytes(data, offsets[row], offsets[row + 1], places, firsts[row], firsts[row + 1], tokens, class_table)
            for at in range(firsts[row], firsts[row + 1], 2):
                covered[row] += places[at + 1] - places[at]


@entry("uint8[] int64[] int64[] bool uint8[]")
def _to_bytes(data, offsets, places, tokens, class_table):
    _in_bytes(data, offsets[0], offsets[1], places, 0, len(places), tokens, class_table)


@kernel
def _in_bytes(data, start, end, places, at, last, tokens, class_table):
    """Replace bounds of passages of data[start:end] by their places in `data`; of tokens, by the bounds of these.

    The white space between two passages that follow each other belongs to the second one.
    """
    if not tokens:
        for i in range(at, last):
            places[i] += start
        return
    token, first, stop = -1, start, start
    for i in range(at, last, 2):
        before, follows = stop, i > at and token == places[i] - 1
        while token < places[i]:
            first, stop = next_token(data, stop, end, class_table)
            token += 1
        begin = before if follows else first
        while token < places[i + 1] - 1:
            first, stop = next_token(data, stop, end, class_table)
            token += 1
        places[i], places[i + 1] = begin, stop


@kernel
def _cut(data, start, end, places, at, last, gap, how, class_table):
    """Join passages and cut them at their ends, in place; returns the end of those that are left."""
    used = at
    for i in range(at, last, 2):
        if used > at and places[i] - places[used - 1] <= gap:
            places[used - 1] = places[i + 1]
        else:
            places[used], places[used + 1] = places[i], places[i + 1]
            used += 2
    last, used = used, at
    for i in range(at, last, 2):
        first, stop = places[i], places[i + 1]
        while first < stop and not _whole(data, first, start, end, how, class_table, False):
            first += 1
        while stop > first and not _whole(data, stop, start, end, how, class_table, True):
            stop -= 1
        if first < stop:
            places[used], places[used + 1] = first, stop
            used += 2
    return used


@kernel
def _whole(data, i, start, end, how, class_table, ends):
    """Return whether a passage of data[start:end] may begin at `i`, or end there.

    White space or a line feed before a passage stays, so that what is left before and after it is not joined.
    """
    if i == start or i == end:
        return True
    if how == _LINE:
        return data[i - 1] == _LINE_FEED or (ends and data[i] == _LINE_FEED)
    if data[i] & 0xC0 == 0x80:
        return False
    if how == _CHARACTER:
        return True
    here, _ = decode(data, i)
    there, _ = decode(data, before(data, i, start))
    return class_table[there] & SPACE != 0 or (ends and class_table[here] & SPACE != 0)
