"""Pieces by a unigram model: the path of pieces through a text with the best sum of scores.

As the library does it: scores are added in float32 from the start of the text, a later candidate wins if it is strictly
better, and totals are moved towards 0 where they pass a threshold.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.models.double_array import child, is_child, value_of

# Where a total is beyond this, the library subtracts it from all totals that are still in use.
THRESHOLD = np.float32(100000.0)


@kernel
def best_path(text, start, end, total, trie, scores, unknown, totals, origins, numbers):
    """Fill in the best pieces of text[start:end], which begins with a total; returns the total at the end.

    totals, origins, numbers: for each byte position from `start` on, the best total, where its last piece begins, and the
    number of that piece. scores: those of the pieces, then that of an unknown character.
    """
    size = end - start
    for k in range(1, size + 1):
        totals[k] = -np.inf
    totals[0] = total
    at, frontier = 0, 0
    while at < size:
        here = totals[at]
        if here < -THRESHOLD or here > THRESHOLD:
            for k in range(at, frontier + 1):
                totals[k] -= here
            totals[at] = np.float32(0)
            here = np.float32(0)
        lead = text[start + at]
        after = at + min(1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4, size - at)
        single = False
        unit, k = trie[0], at
        while k < size:
            byte = text[start + k]
            unit = child(trie, unit, byte)
            if not is_child(unit, byte):
                break
            k += 1
            number = value_of(unit)
            if number >= 0:
                _offer(k, here + scores[number], at, number, totals, origins, numbers)
                frontier = max(frontier, k)
                single = single or k == after
        if not single:
            _offer(after, here + scores[-1], at, unknown, totals, origins, numbers)
            frontier = max(frontier, after)
        at = after
    return totals[size]


@inlined
def _offer(place, total, origin, number, totals, origins, numbers):
    """Take a candidate for the best path to a place."""
    if total > totals[place]:
        totals[place] = total
        origins[place] = origin
        numbers[place] = number
