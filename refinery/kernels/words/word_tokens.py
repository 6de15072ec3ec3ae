"""Kernels that find the starts of words in a piece of text by the rules of `word_rules`."""

from __future__ import annotations

from refinery.kernels.core.blocks import BLOCK, low_bits, wide
from refinery.kernels.core.jit import kernel
from refinery.kernels.core.utf8 import before, decode
from refinery.kernels.words.word_addresses import COLON, FULL_STOP, SLASH, is_address
from refinery.kernels.words.word_ascii import APOSTROPHE, cut_ascii, dollar, full_stops
from refinery.kernels.words.word_cutting import cutter
from refinery.kernels.words.word_exceptions import EXCEPTION, UNIT, exception, write_parts
from refinery.kernels.words.word_joining import (
    find_phrases,
    first_beside,
    last_beside,
    take_phrases,
    write_phrases,
)
from refinery.kernels.words.word_phrases import BEGINS
from refinery.kernels.words.word_pieces import piece_end
from refinery.kernels.words.word_rules import (
    ALPHA,
    BEFORE_STOP,
    CURRENCY,
    DIGIT,
    ICON,
    JOINT,
    LOWER,
    PREFIX,
    QUOTE,
    SUFFIX,
    UPPER,
)

RIGHT_QUOTE, ELLIPSIS, EM_DASH, EN_DASH, DEGREE = 0x2019, 0x2026, 0x2014, 0x2013, 0xB0


# Pieces: texts between white space


@kernel
def cut_piece(data, start, end, first, last, table, known, pairs, phrases, room):
    """Write the starts of words in data[start:end], which holds no white space, to room[0:]; returns their number.

    The text is data[first:last]. `room` must hold three numbers per byte of the piece, and three more; where adjacent
    pieces matter, as many for all of them. Returns minus the needed size when `room` is too small for these.
    """
    n = cut_parts(data, start, end, table, known, room, 0)
    for k in range(n - 1):
        if pairs[data[room[k]], data[room[k + 1]]] & BEGINS:
            return _joined(data, start, end, first, last, table, known, pairs, phrases, room, n)
    return n


@kernel
def _joined(data, start, end, first, last, table, known, pairs, phrases, room, n):
    """Join phrases among the n words of a piece into their exception's form, for `cut_piece`."""
    if not find_phrases(data, end, known, phrases, room, n):
        return n
    low = first_beside(data, start, first, table, pairs)
    high = last_beside(data, end, last, table, pairs)
    if low == start and high == end:
        take_phrases(data, room, n)
        return write_phrases(data, end, known, room, 0, n, n)
    if 3 * (high - low) + 3 > len(room):
        return -(3 * (high - low) + 3)
    count = begin = stop = 0
    i = low
    while i < high:
        begin = count if i == start else begin
        after = piece_end(data, i, high, table)
        count = cut_parts(data, i, after, table, known, room, count)
        stop = count if i == start else stop
        i = after + 1
    find_phrases(data, high, known, phrases, room, count)
    take_phrases(data, room, count)
    return write_phrases(data, high, known, room, begin, stop, count)


@kernel
def cut_parts(data, start, end, table, known, room, n):
    """Write the starts of words in a piece, by the rules alone, to room[n:]; returns the number of words in `room`."""
    if end - start <= BLOCK and start + BLOCK <= len(data) and not wide(data, start) & low_bits(end - start):
        return cut_ascii(data, start, end, table, known, room, n)
    return _cut(data, start, end, table, known, room, n, ())


@kernel
def _prefix(data, start, end, table):
    """Number of bytes to cut off the front."""
    byte = data[start]
    cp, after = decode(data, start)
    if table[cp] & PREFIX:
        return after - start
    if byte == FULL_STOP:
        count = full_stops(data, start, end)
        return count if count > 1 else 0
    if byte == 0x2B:
        return 1 if start + 1 == end or not table[data[start + 1]] & DIGIT else 0
    return dollar(data, start, end)


@kernel
def _suffix(data, start, end, table, known, masks):
    """Number of bytes to cut off the end of data[start:end], which is not empty."""
    byte = data[end - 1]
    if byte == FULL_STOP:
        i = end - 1
        while i > start and data[i - 1] == FULL_STOP:
            i -= 1
        if end - i > 1:
            return end - i
        return 1 if i > start and _ends_before_stop(data, start, i, table) else 0
    last = before(data, end, start)
    cp, _ = decode(data, last)
    if last > start:
        second = before(data, last, start)
        previous, _ = decode(data, second)
        if cp == ELLIPSIS and previous == ELLIPSIS:
            return end - second
        if (cp == 0x73 or cp == 0x53) and (previous == APOSTROPHE or previous == RIGHT_QUOTE):
            return end - second
    if table[cp] & SUFFIX:
        return end - last
    return _measure(data, start, end, last, cp, table, known)


@kernel
def _measure(data, start, end, last, cp, table, known):
    """Length of a unit, a currency or a plus sign directly after the last digit; 0 for other text."""
    i = last
    while i >= start and end - i <= len(known.gate):
        if table[data[i]] & DIGIT and data[i] < 0x80:
            size = end - i - 1
            if size == 0:
                return 0
            if i + 1 == last and (cp == 0x2B or table[cp] & CURRENCY):
                return size
            if exception(known, data, i + 1, end) & UNIT or dollar(data, i + 1, end) == size:
                return size
            return 0
        i -= 1
    return 0


@kernel
def _ends_before_stop(data, start, at, table):
    """True if the characters before the full stop at `at` make it a separate mark."""
    last = before(data, at, start)
    cp, _ = decode(data, last)
    if table[cp] & BEFORE_STOP:
        return True
    if last == start:
        return False
    previous, _ = decode(data, before(data, last, start))
    if previous == DEGREE:
        low = cp | 0x20
        return low == 0x66 or low == 0x63 or low == 0x6B
    return table[previous] & UPPER != 0 and table[cp] & UPPER != 0


@kernel
def _inside(data, start, end, table, known, room, n, masks):
    """Write the starts of words in a text with its ends already cut."""
    value = exception(known, data, start, end)
    if value & EXCEPTION:
        return write_parts(value, start, room, n)
    room[n] = start
    n += 1
    joints = False
    stop = False
    for i in range(start, end):
        byte = data[i]
        joints = joints or byte >= 0x80 or table[byte] & JOINT != 0
        stop = stop or byte == FULL_STOP
    if not joints or (stop and is_address(data, start, end, table)):
        return n
    word = i = start
    previous = 0  # bits of the character before i
    while i < end:
        cp, after = decode(data, i)
        bits = table[cp]
        if bits & JOINT and i > start:
            length = _infix(data, i, end, cp, after, bits, previous, table)
            if length > 0:
                if i > word:
                    room[n] = i
                    n += 1
                after = i + length
                word = after
                if after < end:
                    room[n] = after
                    n += 1
                bits = table[decode(data, before(data, after, start))[0]]
        elif bits & JOINT:
            after = i + max(_infix(data, i, end, cp, after, bits, 0, table), after - i)
            bits = table[decode(data, before(data, after, start))[0]]
        previous = bits
        i = after
    return n


@kernel
def _infix(data, i, end, cp, after, bits, previous, table):
    """Length of a mark at i that cuts the text in two, 0 without one. previous: bits of the character before."""
    if cp == FULL_STOP and after < end and data[after] == FULL_STOP:
        return full_stops(data, i, end)
    if cp == ELLIPSIS or bits & ICON:
        return after - i
    if previous == 0 or after >= end:
        return 0
    second, beyond = decode(data, after)
    following = table[second]
    if cp == 0x2B or cp == 0x2D or cp == 0x2A or cp == 0x5E:
        if previous & DIGIT and (following & DIGIT or second == 0x2D):
            return after - i
    if cp == FULL_STOP:
        return after - i if previous & (LOWER | QUOTE) and following & (UPPER | QUOTE) else 0
    if cp == 0x2C:
        return after - i if previous & ALPHA and following & ALPHA else 0
    if not previous & (ALPHA | DIGIT):
        return 0
    if cp == COLON or cp == SLASH or cp == 0x3C or cp == 0x3D or cp == 0x3E:
        return after - i if following & ALPHA else 0
    if cp == 0x2D or cp == 0x7E or cp == EN_DASH or cp == EM_DASH:
        if following & ALPHA:
            return after - i
        most = 3 if cp == 0x2D else 2 if cp == EM_DASH else 1
        for _ in range(1, most):
            if second != cp or beyond >= end:
                return 0
            after = beyond
            second, beyond = decode(data, after)
            if table[second] & ALPHA:
                return after - i
    return 0


_cut = cutter(_prefix, _suffix, _inside)
