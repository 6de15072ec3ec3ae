"""Replacements that hold the whole match, for kernels that find the matches themselves."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import kernel
from refinery.kernels.core.utf8 import copy


def template(pieces: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """A replacement as kernels read it: uint8 of all pieces, and int64 where each begins, the last one's end behind.

    The pieces are what stands before, between and behind the places of the whole match.
    """
    encoded = [piece.encode() for piece in pieces]
    bounds = np.cumsum([0] + [len(piece) for piece in encoded], dtype=np.int64)
    return np.array(bytearray(b"".join(encoded)), np.uint8), bounds


@kernel
def emit(data, done, start, end, out, w, literals, bounds):
    """Write data[done:start], then the replacement of the match data[start:end]; position after it, -1 without room.

    The replacement is the pieces literals[bounds[k]:bounds[k + 1]] with the match itself between each two.
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
