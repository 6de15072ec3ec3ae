"""Conversion of decimal text to DOUBLE, rounded as in Python: 8 digits at a time, without the C library.

One or two multiplications with a power of five cut to 128 bits give the nearest DOUBLE (Lemire 2021, "Number
parsing at a gigabyte per second"). Texts of more than 19 digits that fall between two DOUBLEs are left to Python.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import first_set, last_set, load_word
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.memory import as_double, byte_at, high_product

# States that `number` returns beside the value.
FINE, HARD, NONE = 0, 1, 2

_SMALLEST, _GREATEST = -342, 308
_TENS = 10.0 ** np.arange(23)
_WHOLE_TENS = np.array([10**n for n in range(8)], np.uint64)


def _powers() -> np.ndarray:
    """The leading 128 bits of 5 to the powers -342 to 308, each as two uint64: high, low."""
    powers = []
    for q in range(_SMALLEST, 0):
        five = 5**-q
        bits = (five - 1).bit_length()
        c = (1 << (bits + 127 if q >= -27 else 2 * bits + 128)) // five + 1
        powers.append(c >> max(0, c.bit_length() - 128))
    for q in range(_GREATEST + 1):
        five = 5**q
        shift = five.bit_length() - 128
        powers.append(five >> shift if shift > 0 else five << -shift)
    halves = [(c >> 64, c & (2**64 - 1)) for c in powers]
    return np.array(halves, np.uint64)


_FIVES = _powers()


@inlined
def _digits_of_eight(word):
    """Number of leading digits among the eight bytes."""
    low = word ^ np.uint64(0x3030303030303030)
    # A byte is above 9 when adding 0x76 carries into its highest bit, or when that bit is already set.
    seven = np.uint64(0x7F7F7F7F7F7F7F7F)
    over = (((low & seven) + np.uint64(0x7676767676767676)) | low) & ~seven
    return first_set(over) >> 3


@inlined
def _eight(word):
    """Value of eight digits."""
    word = word & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = (word * np.uint64(2561)) >> np.uint64(8)
    word = ((word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)


@inlined
def _digits(data, i, w):
    """Append the digits from i on to w (modulo 2**64); returns w and the position after the digits."""
    word = load_word(data, i)
    n = _digits_of_eight(word)
    while n == 8:
        w = w * np.uint64(100_000_000) + _eight(word)
        i += 8
        word = load_word(data, i)
        n = _digits_of_eight(word)
    if n > 0:  # shifted to the end of the eight, with zeros before them
        w = w * _WHOLE_TENS[n] + _eight(word << np.uint64(64 - 8 * n))
    return w, i + n


@kernel
def _leading_zeros(data, i, end):
    """Number of zeros at the start of a number of many digits, its point not counted."""
    n = 0
    while i < end:
        b = byte_at(data, i)
        if b == 48:
            n += 1
        elif b != 46:
            break
        i += 1
    return n


@kernel
def _nearest(w, q):
    """Bits of the DOUBLE nearest to w * 10**q, w not zero."""
    if q < _SMALLEST:
        return np.uint64(0)
    if q > _GREATEST:
        return np.uint64(0x7FF) << np.uint64(52)
    shift = 63 - last_set(w)
    w = w << np.uint64(shift)
    five, more = _FIVES[q - _SMALLEST, 0], _FIVES[q - _SMALLEST, 1]
    high, low = high_product(w, five), w * five
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        second = high_product(w, more)
        low = low + second
        if second > low:
            high = high + np.uint64(1)
    top = np.int64(high >> np.uint64(63))
    mantissa = high >> np.uint64(top + 9)
    exponent = ((217706 * q) >> 16) + 63 + top - shift + 1023
    if exponent <= 0:
        if exponent <= -63:
            return np.uint64(0)
        mantissa = mantissa >> np.uint64(1 - exponent)
        mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
        return mantissa  # 2**52 is the least normal number, and its bits are right
    if low <= np.uint64(1) and -4 <= q <= 23 and mantissa & np.uint64(3) == np.uint64(1):
        if mantissa << np.uint64(top + 9) == high:  # a tie: round to even
            mantissa = mantissa & ~np.uint64(1)
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    if mantissa >= np.uint64(1) << np.uint64(53):
        mantissa = np.uint64(1) << np.uint64(52)
        exponent += 1
    if exponent >= 0x7FF:
        return np.uint64(0x7FF) << np.uint64(52)
    return (mantissa & ~(np.uint64(1) << np.uint64(52))) | (np.uint64(exponent) << np.uint64(52))


@entry("uint8[] int64 int64 -> float64 int64 int64")
def number(data, i, end):
    """The JSON number that starts at i: (value, position after it, FINE, HARD or NONE).

    HARD: Python must read the number, the value is unusable. NONE: there is no number; the position is i. 24 bytes
    after `end` must exist.
    """
    first = i
    negative = byte_at(data, i) == 45
    if negative:
        i += 1
    start = i
    w, i = _digits(data, i, np.uint64(0))
    count = i - start
    if count == 0 or (count > 1 and byte_at(data, start) == 48) or i > end:
        return 0.0, first, NONE
    q = 0
    if i < end and byte_at(data, i) == 46:
        point = i + 1
        w, i = _digits(data, point, w)
        q = point - i
        if q == 0 or i > end:
            return 0.0, first, NONE
        count -= q
    last = i
    if i < end and byte_at(data, i) | 32 == 101:
        i += 1
        down = byte_at(data, i) == 45
        if down or byte_at(data, i) == 43:
            i += 1
        at = i
        digits, i = _digits(data, i, np.uint64(0))
        power = int(np.int64(digits))
        if i == at or i > end:
            return 0.0, first, NONE
        power = power if i - at <= 8 else 99_999_999  # beyond any DOUBLE
        q += -power if down else power
    if count > 19 and count - _leading_zeros(data, start, last) > 19:
        return 0.0, i, HARD
    if w == 0:
        return (-0.0 if negative else 0.0), i, FINE
    if w <= np.uint64(1) << np.uint64(53) and -22 <= q <= 22:
        value = float(w) / _TENS[-q] if q < 0 else float(w) * _TENS[q]
    else:
        value = as_double(_nearest(w, q))
    return (-value if negative else value), i, FINE
