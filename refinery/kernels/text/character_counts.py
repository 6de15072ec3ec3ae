"""Numbers of characters of the classes that NeMo Curator's filters measure, in one pass over the bytes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.common.packages import installed_version
from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.charclass import CODE_POINTS, kept
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import decode

# A pattern for each class, in the syntax of the `regex` module.
CLASSES = {
    "plain": r"[a-zA-Z0-9\n?!,.]",
    "digits": "[[:digit:]]",
    "blanks": r"[\t\n\r\x08 ]",
    "brackets": r"[{}⟨⟩\[\]()]",
    "letters": "[[:alpha:]]",
}

LETTER = 1 << list(CLASSES).index("letters")

# Five counters share an int64. They are taken out after so many bytes, before one could overflow.
COUNTER_BITS = 12
COUNTER = (1 << COUNTER_BITS) - 1


def character_counts(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A struct for each text: its code points (`chars`), and those of each class; NULL for NULL."""
    view = texts(column)
    counts = np.zeros((1 + len(CLASSES), len(view)), np.int64)
    _count_rows(view.data, view.offsets, view.valid, *_tables(), counts)
    return structs(view.valid, **dict(zip(("chars", *CLASSES), counts, strict=True)))


@lru_cache(maxsize=1)
def memberships() -> np.ndarray:
    """Bits of the classes of every code point, uint8; bit k is the k-th class of CLASSES."""
    return kept(f"nemo-classes-regex{installed_version('regex')}", np.uint8, _memberships)


def _memberships() -> np.ndarray:
    import regex

    everything = "".join(chr(c) for c in range(CODE_POINTS) if not 0xD800 <= c < 0xE000)
    table = np.zeros(CODE_POINTS, np.uint8)
    for place, pattern in enumerate(CLASSES.values()):
        for match in regex.finditer(pattern + "+", everything):
            table[[ord(char) for char in match.group()]] |= 1 << place
    return table


@lru_cache(maxsize=1)
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bits of every code point; for each combination of bits, and for each ASCII byte, what it adds to the counters."""
    table, bits = memberships(), np.arange(1 << len(CLASSES))
    added = np.zeros(len(bits), np.int64)
    for place in range(len(CLASSES)):
        added |= (bits >> place & 1).astype(np.int64) << (place * COUNTER_BITS)
    return table, added, added[table[:128]]


@entry("uint8[] int64[] bool[] uint8[] int64[] int64[] int64[,]")
def _count_rows(data, offsets, valid, table, added, by_byte, counts):
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1]
        while valid[row] and i < end:
            packed, i, chars = _count(data, i, min(end, i + COUNTER - 4), table, added, by_byte)
            counts[0, row] += chars
            for place in range(5):
                counts[place + 1, row] += (packed >> (place * COUNTER_BITS)) & COUNTER


@kernel
def _count(data, i, stop, table, added, by_byte):
    """Counters of the characters that begin before `stop`, the position after them, and their number."""
    packed = chars = 0
    while i < stop:
        if data[i] < 0x80:
            packed += by_byte[data[i]]
            i += 1
        else:
            cp, i = decode(data, i)
            packed += added[table[cp]]
        chars += 1
    return packed, i, chars
