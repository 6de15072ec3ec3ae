"""`word_tokens` for pieces of at most 64 ASCII characters, which most are: bit masks instead of decoding.

Bit k of a mask stands for byte k of the piece.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import any_of, digits, first_set, is_byte, lanes, last_set, letters, low_bits, within
from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.words.word_addresses import COLON, FULL_STOP, SLASH, is_host
from refinery.kernels.words.word_cutting import cutter
from refinery.kernels.words.word_exceptions import EXCEPTION, UNIT, exception, write_parts
from refinery.kernels.words.word_rules import (
    ALPHA,
    BEFORE_STOP,
    CURRENCY,
    DIGIT,
    LOWER,
    PREFIX,
    QUOTE,
    SUFFIX,
    UPPER,
    WORD,
)

APOSTROPHE, DOLLAR, PLUS, MINUS = 0x27, 0x24, 0x2B, 0x2D

# The marks * + , - . / : < = > ^ ~ that may cut a piece in two.
_joints = lanes(
    lambda x: any_of(
        within(x, 0x2A, 0x2F),
        is_byte(x, b":"),
        within(x, 0x3C, 0x3E),
        is_byte(x, b"^"),
        is_byte(x, b"~"),
    )
)
_stops = lanes(lambda x: is_byte(x, b"."))
_colons = lanes(lambda x: is_byte(x, b":"))
_ats = lanes(lambda x: is_byte(x, b"@"))
_inner = lanes(lambda x: any_of(within(x, 0x2D, 0x2E), is_byte(x, b"_")))  # allowed in a host beside letters and digits


@inlined
def _prefix(data, start, end, table):
    """Number of bytes to cut off the front."""
    byte = data[start]
    if table[byte] & PREFIX:
        return 1
    if byte == FULL_STOP:
        return full_stops(data, start, end) if start + 1 < end and data[start + 1] == FULL_STOP else 0
    if byte == PLUS:
        return 1 if start + 1 == end or not table[data[start + 1]] & DIGIT else 0
    if byte == 0x41 or byte == 0x43 or byte == 0x55:
        return dollar(data, start, end)
    return 0


@inlined
def full_stops(data, start, end):
    """Number of full stops from `start` on."""
    i = start
    while i < end and data[i] == FULL_STOP:
        i += 1
    return i - start


@kernel
def dollar(data, start, end):
    """Length of US$, C$ or A$ at the start; 0 without."""
    byte = data[start]
    if (byte == 0x41 or byte == 0x43) and start + 1 < end and data[start + 1] == DOLLAR:
        return 2
    if byte == 0x55 and start + 2 < end and data[start + 1] == 0x53 and data[start + 2] == DOLLAR:
        return 3
    return 0


@inlined
def _suffix(data, start, end, table, known, masks):
    """Number of bytes to cut off the end of data[start:end], which is not empty."""
    base, numbers, _ = masks
    byte = data[end - 1]
    if byte == FULL_STOP:
        i = end - 1
        while i > start and data[i - 1] == FULL_STOP:
            i -= 1
        if end - i > 1:
            return end - i
        return 1 if i > start and _ends_before_stop(data, start, i, table) else 0
    if (byte | 0x20) == 0x73 and end - start > 1 and data[end - 2] == APOSTROPHE:
        return 2
    if table[byte] & SUFFIX:
        return 1
    if table[byte] & DIGIT:
        return 0
    digit = last_set(numbers & low_bits(end - base) & ~low_bits(start - base))
    if digit < 0:
        return 0
    return measure(data, base + digit, end, table, known)


@kernel
def measure(data, digit, end, table, known):
    """Length of a unit, a currency or a plus sign directly after the last digit; 0 for other text."""
    size = end - digit - 1
    if size >= len(known.gate):
        return 0
    last = data[end - 1]
    if size == 1 and (last == PLUS or table[last] & CURRENCY):
        return size
    if exception(known, data, digit + 1, end) & UNIT or dollar(data, digit + 1, end) == size:
        return size
    return 0


@inlined
def _ends_before_stop(data, start, at, table):
    """True if the characters before the full stop at `at` make it a separate mark."""
    bits = table[data[at - 1]]
    if bits & BEFORE_STOP:
        return True
    return at - 1 > start and table[data[at - 2]] & UPPER != 0 and bits & UPPER != 0


@kernel
def _inside(data, start, end, table, known, room, n, masks):
    """Write the starts of words in a text with its ends already cut."""
    base, _, joints = masks
    joints &= low_bits(end - base) & ~low_bits(start - base)
    value = exception(known, data, start, end)
    if value & EXCEPTION:
        return write_parts(value, start, room, n)
    room[n] = start
    n += 1
    if joints == np.uint64(0) or (_stops(data, base) & joints and _is_address(data, start, end, table, base)):
        return n
    word = start
    while joints:
        i = base + first_set(joints)
        length = _infix(data, i, end, start, table)
        if length == 0:
            joints &= joints - np.uint64(1)
            continue
        after = i + length
        joints &= ~low_bits(after - base)
        if i == start:
            continue
        if i > word:
            room[n] = i
            n += 1
        word = after
        if after < end:
            room[n] = after
            n += 1
    return n


@inlined
def _infix(data, i, end, start, table):
    """Length of a mark at i that cuts the text in two; 0 without such a mark."""
    byte, after = data[i], i + 1
    if after >= end:
        return 0
    second = data[after]
    if byte == FULL_STOP and second == FULL_STOP:
        return full_stops(data, i, end)
    if i == start:
        return 0
    previous, following = table[data[i - 1]], table[second]
    if byte == FULL_STOP:
        return 1 if previous & (LOWER | QUOTE) and following & (UPPER | QUOTE) else 0
    if byte == 0x2C:
        return 1 if previous & ALPHA and following & ALPHA else 0
    if byte == PLUS or byte == MINUS or byte == 0x2A or byte == 0x5E:
        if previous & DIGIT and (following & DIGIT or second == MINUS):
            return 1
        if byte != MINUS:
            return 0
    if not previous & (ALPHA | DIGIT):
        return 0
    if following & ALPHA:
        return 1
    if byte == MINUS and second == MINUS and i + 2 < end:
        third = data[i + 2]
        if table[third] & ALPHA:
            return 2
        if third == MINUS and i + 3 < end and table[data[i + 3]] & ALPHA:
            return 3
    return 0


@kernel
def _is_address(data, start, end, table, base):
    """`word_addresses.is_address` for a text with a full stop, in the 64 bytes from `base` on."""
    here = low_bits(end - base) & ~low_bits(start - base)
    host = (letters(data, base) | digits(data, base) | _inner(data, base)) & here
    stops = _stops(data, base) & here
    if _may_be_host(data, base, start, end, host, stops) and is_host(data, start, end, table):
        return True
    ats = _ats(data, base) & here & ~low_bits(start - base + 1)
    while ats:
        at = base + first_set(ats) + 1
        if _may_be_host(data, base, at, end, host, stops) and is_host(data, at, end, table):
            return True
        ats &= ats - np.uint64(1)
    at = base + first_set(_colons(data, base) & here) + 3
    if at - 3 < start + 2 or at >= end or data[at - 2] != SLASH or data[at - 1] != SLASH:
        return False
    if not _is_scheme(data, start, at - 3, table):
        return False
    return _may_be_host(data, base, at, end, host, stops) and is_host(data, at, end, table)


@inlined
def _may_be_host(data, base, at, end, host, stops):
    """True if the characters at `at` allow a host; host, stops: masks of host characters, full stops from `base` on."""
    if at >= end:
        return False
    shift = np.uint64(at - base)
    size = first_set(~(host >> shift))
    if not (stops >> shift) & low_bits(size):
        return False
    stop = at + size
    return stop >= end or data[stop] == COLON or data[stop] == SLASH or data[stop] == 0x3F or data[stop] == 0x23


@kernel
def _is_scheme(data, start, end, table):
    """True if all characters of data[start:end] are allowed in a scheme."""
    for i in range(start, end):
        byte = data[i]
        if not (table[byte] & WORD or byte == PLUS or byte == MINUS or byte == FULL_STOP):
            return False
    return True


_cut = cutter(_prefix, _suffix, _inside)


@kernel
def cut_ascii(data, start, end, table, known, room, n):
    """`cut_parts` for a piece of ASCII characters; 64 bytes from its start on must exist."""
    here = low_bits(end - start)
    masks = (start, digits(data, start) & here, _joints(data, start) & here)  # from `start` on: digits, marks
    return _cut(data, start, end, table, known, room, n, masks)
