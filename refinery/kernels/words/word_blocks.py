"""Pieces in a block of 64 bytes as bit masks, and which of them are plain: cut at no place, but before a mark at the end.

A piece is plain if it is ASCII letters, digits and inner underscores, and one of the marks , . : ; ! ? " or none; or a
single byte. Bit k of a mask stands for byte k of the block. `word_rules` decides about what is not plain.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from refinery.kernels.core.blocks import (
    BLOCK,
    any_of,
    digits,
    first_set,
    is_byte,
    lanes,
    letters,
    load_word,
    low_bits,
    wide,
    within,
)
from refinery.kernels.core.jit import inlined
from refinery.kernels.words import word_rules
from refinery.kernels.words.word_addresses import FULL_STOP
from refinery.kernels.words.word_exceptions import EXCEPTION, exception
from refinery.kernels.words.word_pieces import blanks

SLOTS = 1 << 14
_FACTOR = 0xE7037ED1A0B428DB

_capitals = lanes(lambda x: within(x, 0x41, 0x5A))
_underscores = lanes(lambda x: is_byte(x, b"_"))
_stops = lanes(lambda x: is_byte(x, b"."))
_marks = lanes(
    lambda x: any_of(is_byte(x, b","), is_byte(x, b"."), within(x, 0x3A, 0x3B), within(x, 0x21, 0x22), is_byte(x, b"?"))
)


@lru_cache(maxsize=1)
def splits() -> np.ndarray:
    """Bool by `_slot`: False where no exception of letters, digits and underscores alone has several words."""
    table = np.zeros(SLOTS, np.bool_)
    for text, parts in word_rules.exceptions().items():
        if len(parts) > 1 and text.isascii():
            start = int.from_bytes(text.encode()[:8], "little")
            table[((start * _FACTOR) & 0xFFFFFFFFFFFFFFFF) >> 50] = True
    return table


@inlined
def _slot(data, begin, end):
    """Slot of data[begin:end] in `splits`, by its first eight bytes; these must exist."""
    word = load_word(data, begin) & low_bits(8 * min(end - begin, 8))
    return np.int64((word * np.uint64(_FACTOR)) >> np.uint64(50))


@inlined
def pieces(data, i, end):
    """Masks of the block at i, where a piece or white space begins: starts and stops of pieces, marks at ends, odd bytes.

    The stop of a piece is the white space behind it. Without the pieces that do not end in the block or follow a wide
    character. Odd bytes are those of pieces that are not plain. The block must exist, whatever `end` is.
    """
    one = np.uint64(1)
    blank = blanks(data, i) | ~low_bits(min(end - i, BLOCK))
    behind = (blank << one) | one  # bytes that white space comes before
    starts, stops = ~blank & behind, blank & ~behind & low_bits(first_set(wide(data, i)))
    last = stops >> one
    mark = _marks(data, i) & last & ~starts
    under = _underscores(data, i)
    letter, digit = letters(data, i), digits(data, i)
    odd = ~(letter | digit | under | blank | mark)
    odd |= digit << one & letter  # perhaps a unit
    odd |= under & (starts | last | mark >> one)
    odd |= (mark & _stops(data, i)) & _capitals(data, i) << one  # an abbreviation may keep its full stop
    return starts, stops, mark, odd & ~(starts & last)


@inlined
def is_plain(data, begin, core, stop, known, may_split):
    """True if a piece without odd bytes is plain; data[core:stop] is its mark, or empty."""
    if may_split[_slot(data, begin, core)]:
        value = exception(known, data, begin, core)
        if value & EXCEPTION and (value >> 8) & 0xFF != core - begin:
            return False
    return core == stop or data[core] != FULL_STOP or not exception(known, data, begin, stop)
