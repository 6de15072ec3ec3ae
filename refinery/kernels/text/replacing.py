"""Replacements that may contain the whole match, for kernels that find matches themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from refinery.kernels.core.arrow import CHANGED
from refinery.kernels.core.jit import kernel
from refinery.kernels.core.utf8 import copy, same


def template(pieces: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Replacement in the form that kernels read: all pieces (uint8), and their bounds (int64, one more than pieces).

    The pieces are the texts before, between and behind the references to the whole match.
    """
    encoded = [piece.encode() for piece in pieces]
    bounds = np.cumsum([0] + [len(piece) for piece in encoded], dtype=np.int64)
    return np.array(bytearray(b"".join(encoded)), np.uint8), bounds


@kernel
def emit(data, done, start, end, out, w, literals, bounds):
    """Write data[done:start] and the replacement of the match data[start:end]; position after it, -1 without room.

    The replacement is the pieces literals[bounds[k]:bounds[k + 1]] with the match between each two.
    """
    pieces = len(bounds) - 1
    if w + (start - done) + len(literals) + (pieces - 1) * (end - start) > len(out):
        return -1
    w = copy(data, done, start, out, w)
    for k in range(pieces):
        if k:
            w = copy(data, start, end, out, w)
        w = copy(literals, bounds[k], bounds[k + 1], out, w)
    return w


def replacer(next_place: Any, match: Any) -> Any:
    """A kernel for `arrow.delta` that replaces every match by `literals` and `bounds` (see `template`).

    next_place(data, i, high, tables): the first place from i on at which there may be a match; `high` without one.
    match(data, i, low, high, done, tables): start, from `done` on, and end of the match at this place; the end is -1
    without a match. low, high: the bounds of the text. tables: a tuple, as the kernel receives it.
    """

    @kernel
    def replace_row(data, low, high, out, w, literals, bounds, tables):
        """Write data[low:high] with its matches replaced; returns (changed, position after it or -1 without room)."""
        done = low
        i = next_place(data, low, high, tables)
        while i < high:
            start, end = match(data, i, low, high, done, tables)
            if end >= 0:
                w = emit(data, done, start, end, out, w, literals, bounds)
                if w < 0:
                    return True, w
                done = end
            i = next_place(data, max(i + 1, done), high, tables)
        if done == low:
            return False, w
        if w + high - done > len(out):
            return True, -1
        return True, copy(data, done, high, out, w)

    @kernel
    def replace_rows(data, offsets, valid, out, out_offsets, state, literals, bounds, tables):
        w = 0
        for row in range(len(valid)):
            if valid[row]:
                low, high = offsets[row], offsets[row + 1]
                replaced, end = replace_row(data, low, high, out, w, literals, bounds, tables)
                if end < 0:
                    return -1
                if replaced and not same(data, low, high, out, w, end):
                    state[row] = CHANGED
                    w = end
            out_offsets[row + 1] = w
        return w

    return replace_rows
