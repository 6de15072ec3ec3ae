"""Words between white space, as `str.split` cuts them, and words that a segmenter has cut, for kernels that measure words."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from refinery.kernels.core.arrow import Texts
from refinery.kernels.core.charclass import ALPHA, SPACE, classes
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import decode
from refinery.kernels.text.character_counts import LETTER, memberships

BLANK, LETTERED, ALPHABETIC = 1, 2, 4  # str.isspace, the property Alphabetic, str.isalpha


class Cut(NamedTuple):
    """Words of a column that a segmenter has cut, as positions in its bytes, in order.

    ends: those of row i are ends[rows[i]:rows[i + 1]]; a word starts where the one before it ends, or at `starts`. No
    rows: words are cut at white space.
    """

    rows: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


record(Cut, "int64[] int64[] int64[]")

AT_SPACES = Cut(*(np.zeros(0, np.int64) for _ in range(3)))


@lru_cache(maxsize=1)
def word_classes() -> np.ndarray:
    """Bits of every code point: BLANK, LETTERED, ALPHABETIC."""
    table = classes()
    bits = ((table & SPACE) != 0) * BLANK + ((table & ALPHA) != 0) * ALPHABETIC
    return (bits + ((memberships() & LETTER) != 0) * LETTERED).astype(np.uint8)


def most_words(view: Texts, cut: Cut) -> int:
    """A number that no text of a column has more words than."""
    counts = np.diff(cut.rows) if len(cut.rows) else (np.diff(view.offsets) + 1) // 2
    return int(counts.max(initial=0))


@kernel
def write_words(data, start, end, row, cut, table, starts, ends):
    """Write the positions of a text's words; returns their number. cut: the words of the column, if it has any."""
    n = 0
    if len(cut.rows) > 0:
        for k in range(cut.rows[row], cut.rows[row + 1]):
            starts[n] = cut.starts[k]
            ends[n] = cut.ends[k]
            n += 1
        return n
    i = start
    while i < end:
        cp, after = decode(data, i)
        if table[cp] & BLANK:
            i = after
            continue
        starts[n] = i
        i = word_end(data, after, end, table)
        ends[n] = i
        n += 1
    return n


@inlined
def word_end(data, i, end, table):
    """Position of the next white space from i on, or `end`."""
    while i < end:
        if 32 < data[i] < 127:
            i += 1
            continue
        cp, after = decode(data, i)
        if table[cp] & BLANK:
            break
        i = after
    return i
