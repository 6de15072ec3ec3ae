"""Rows in which datatrove's patterns of e-mail and IPv4 addresses may match; most texts have neither.

A match of the first has an @ behind one of the characters of a local part, and a letter, a digit or [ behind it. A match
of the second has a digit, then twice a dot and up to three digits, then a dot and a digit. A row with such a place goes
through Python's `re`, which alone knows what it finds.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from refinery.kernels.core.arrow import EXACT
from refinery.kernels.core.blocks import BLOCK, equal_to, first_set
from refinery.kernels.core.jit import entry, inlined, kernel

LOCAL, BEHIND, DIGIT = 1, 2, 4
AT, DOT = 0x40, 0x2E


@lru_cache(maxsize=1)
def kinds() -> np.ndarray:
    """Classes of each byte, uint8 (256): before an @, behind it, digits."""
    table = np.zeros(256, np.uint8)
    alphanumeric = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    table[list(alphanumeric + b"!#$%&'*+/=?^_`{|}~-")] = LOCAL
    table[list(alphanumeric + b"[")] |= BEHIND
    table[list(b"0123456789")] |= DIGIT
    return table


@kernel
def _next(data, i, end, byte):
    """Position of the next such byte, or `end`."""
    while i < end and i + BLOCK <= len(data):
        places = equal_to(data, i, byte)
        if places:
            return min(i + first_set(places), end)
        i += BLOCK
    while i < end and data[i] != byte:
        i += 1
    return min(i, end)


@inlined
def _group(data, i, end, kinds):
    """Position behind a dot at i and the one to three digits that follow it; -1 without them."""
    if i >= end or data[i] != DOT:
        return -1
    stop = i + 1
    while stop < end and stop <= i + 3 and kinds[data[stop]] & DIGIT:
        stop += 1
    return stop if stop > i + 1 else -1


@kernel
def _has_email(data, low, high, kinds):
    at = _next(data, low, high, AT)
    while at < high:
        if low < at < high - 1 and kinds[data[at - 1]] & LOCAL and kinds[data[at + 1]] & BEHIND:
            return True
        at = _next(data, at + 1, high, AT)
    return False


@kernel
def _has_ip(data, low, high, kinds):
    dot = _next(data, low, high, DOT)
    while dot < high:
        if low < dot < high - 5 and kinds[data[dot - 1]] & DIGIT and kinds[data[dot + 1]] & DIGIT:
            second = _group(data, dot, high, kinds)
            third = _group(data, second, high, kinds) if second >= 0 else -1
            if third >= 0 and _group(data, third, high, kinds) >= 0:
                return True
        dot = _next(data, dot + 1, high, DOT)
    return False


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] uint8[] bool bool -> int64")
def mark_rows(data, offsets, valid, out, out_offsets, state, kinds, emails, ips):
    """Kernel for `arrow.delta`: rows that may have an address of a wanted kind are EXACT, others stay as they are."""
    for row in range(len(valid)):
        if valid[row]:
            low, high = offsets[row], offsets[row + 1]
            if (emails and _has_email(data, low, high, kinds)) or (ips and _has_ip(data, low, high, kinds)):
                state[row] = EXACT
    return 0
