"""Replacements that may contain the whole match, for kernels that find matches themselves."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import kernel
from refinery.kernels.core.utf8 import copy


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
