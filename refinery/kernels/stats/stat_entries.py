"""Kernels that read the entries of statistics files from JSON.

A file is an object, key -> entry; an entry is a number or an object of numbers and a unit. `read` turns the bytes of
several files into rows of numbers; `refinery.kernels.stats.stat_sums` interprets them.
"""

from __future__ import annotations

import math

import numpy as np

from refinery.kernels.core.blocks import equal_to, first_set, load_word, low_bits
from refinery.kernels.core.decimals import FINE, HARD, NONE, number
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.memory import byte_at
from refinery.kernels.core.scan import skip_text
from refinery.kernels.json.jsontext import is_space, put_string, skip_space, skip_string, skip_value

# Columns of the results of `read`: numbers of an entry, and facts beside them.
TOTAL, N, MEAN, VARIANCE, MIN, MAX, NANS, INFINITIES, LOW = range(9)
NUMBERS = 9
HASH, START, LENGTH, GIVEN, UNIT, FILE = range(6)
FACTS = 6
# Bits of GIVEN above those of the numbers present: the entry is a number; its unit is `task`; its unit is another.
IS_NUMBER, TASK, OTHER = 1 << 9, 1 << 10, 1 << 11

# End states of `read`. DAMAGED: malformed JSON.
DONE, FULL, DAMAGED = range(3)

SPARE = 64  # bytes that must exist after the last one that is read


def _word(name: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(name, "little"))


_TOTAL, _N, _MEAN, _MIN, _MAX = _word(b'total"'), _word(b'n"'), _word(b'mean"'), _word(b'min"'), _word(b'max"')
_VARIANCE, _STD_DEV, _UNIT, _NANS = _word(b"variance"), _word(b'std_dev"'), _word(b'unit"'), _word(b'nans"')
_LOW, _INFINITI, _TASK, _DOC = _word(b"mean_low"), _word(b"infiniti"), _word(b'"task"'), _word(b'"doc"')
_INFINITY, _NAN = _word(b"Infinity"), _word(b"NaN")
_2, _4, _5, _6 = (np.uint64((1 << 8 * size) - 1) for size in (2, 4, 5, 6))

_UNKNOWN, _SKIPPED, _IS_UNIT = -1, -2, -3


@inlined
def _after_space(data, i, end):
    return skip_space(data, i, end) if i < end and is_space(byte_at(data, i)) else i


@inlined
def _field(data, i):
    """Field whose quoted name has its first letter at i, and the position after the closing quote.

    Returns _UNKNOWN, -1 for an unknown name.
    """
    word = load_word(data, i)
    if word & _6 == _TOTAL:
        return TOTAL, i + 6
    if word & _2 == _N:
        return N, i + 2
    if word & _5 == _MEAN:
        return MEAN, i + 5
    if word == _VARIANCE and byte_at(data, i + 8) == 34:
        return VARIANCE, i + 9
    if word == _STD_DEV:
        return _SKIPPED, i + 8
    if word & _4 == _MIN:
        return MIN, i + 4
    if word & _4 == _MAX:
        return MAX, i + 4
    if word & _5 == _UNIT:
        return _IS_UNIT, i + 5
    if word & _5 == _NANS:
        return NANS, i + 5
    if word == _LOW and byte_at(data, i + 8) == 34:
        return LOW, i + 9
    if (
        word == _INFINITI
        and byte_at(data, i + 8) == 101
        and byte_at(data, i + 9) == 115
        and byte_at(data, i + 10) == 34
    ):
        return INFINITIES, i + 11
    return _UNKNOWN, -1


@inlined
def _number_or_word(data, i, end):
    """Read a number by `decimals.number`, or one of Python's words NaN, Infinity and -Infinity."""
    value, after, state = number(data, i, end)
    if state != NONE:
        return value, after, state
    negative = byte_at(data, i) == 45
    at = i + 1 if negative else i
    word = load_word(data, at)
    if word == _INFINITY and at + 8 <= end:
        return (-math.inf if negative else math.inf), at + 8, FINE
    if word & np.uint64(0xFFFFFF) == _NAN and not negative and at + 3 <= end:
        return math.nan, at + 3, FINE
    return 0.0, i, NONE


@inlined
def _skip_number(data, i, end):
    """Position after an unused number, or -1."""
    b = byte_at(data, i)
    if b != 45 and (b < 48 or b > 57):
        return -1
    i += first_set(equal_to(data, i, np.uint8(44)) | equal_to(data, i, np.uint8(125)))
    return i if i < end else -1


@kernel
def _put_hard(hard, row, field, start, end):
    """Note a number that Python must read; hard[0, 0] counts them. Returns False without room."""
    count = hard[0, 0] + 1
    if count >= len(hard):
        return False
    hard[count, 0] = row
    hard[count, 1] = field
    hard[count, 2] = start
    hard[count, 3] = end
    hard[0, 0] = count
    return True


@inlined
def _read_object(data, i, end, row, facts, numbers, hard):
    """Read the entry's fields after its brace at i; returns (position after the entry, DONE).

    On failure returns (position of the failure, DAMAGED), or FULL when `hard` has no room.
    """
    fields = 0
    i = _after_space(data, i + 1, end)
    if i < end and byte_at(data, i) == 125:
        facts[row, GIVEN] = 0
        return i + 1, DONE
    while True:
        if i >= end or byte_at(data, i) != 34:
            return i, DAMAGED
        field, after = _field(data, i + 1)
        known = after >= 0
        if not known:
            after = skip_string(data, i, end)
        if after < 0:
            return i, DAMAGED
        i = _after_space(data, after, end)
        if i >= end or byte_at(data, i) != 58:
            return i, DAMAGED
        i = _after_space(data, i + 1, end)
        if i >= end:
            return i, DAMAGED
        if field >= 0:
            value, after, state = _number_or_word(data, i, end)
            if state == NONE:
                return i, DAMAGED
            if state == HARD and not _put_hard(hard, row, field, i, after):
                return i, FULL
            numbers[row, field] = value
            fields |= 1 << field
        elif field == _IS_UNIT:
            word = load_word(data, i)
            if word & _6 == _TASK:
                fields |= TASK
                after = i + 6
            elif word & _5 == _DOC:
                after = i + 5
            elif byte_at(data, i) == 34:
                fields |= OTHER
                facts[row, UNIT] = i
                after = skip_string(data, i, end)
            else:
                return i, DAMAGED
        else:
            after = _skip_number(data, i, end) if field == _SKIPPED else skip_value(data, i, end)
        if after < 0:
            return i, DAMAGED
        i = _after_space(data, after, end)
        if i >= end:
            return i, DAMAGED
        mark = byte_at(data, i)
        if mark == 125:
            facts[row, GIVEN] = fields
            return i + 1, DONE
        if mark != 44:
            return i, DAMAGED
        i = _after_space(data, i + 1, end)


@inlined
def _hash(data, start, length):
    """Hash of data[start : start + length], and all its bytes or-ed; eight bytes after it must exist."""
    h = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(length)
    seen = np.uint64(0)
    i = start
    end = start + length
    while i < end:
        word = load_word(data, i)
        if end - i < 8:
            word = word & low_bits(8 * (end - i))
        seen = seen | word
        h = (h ^ word) * np.uint64(0xD6E8FEB86659FD93)
        h = h ^ (h >> np.uint64(32))
        i += 8
    h = h * np.uint64(0xD6E8FEB86659FD93)
    return h ^ (h >> np.uint64(29)), seen


@inlined
def _read_key(data, i, end, row, facts, texts, used, hard):
    """Read the key whose quote is at i: the position after it, or -1, and the used length of `texts`."""
    plain = skip_text(data, i + 1, end)
    if plain < end and byte_at(data, plain) == 34:
        hashed, seen = _hash(data, i + 1, plain - i - 1)
        facts[row, START] = i + 1
        facts[row, LENGTH] = plain - i - 1
        after, written = plain + 1, used
    else:
        after, written = put_string(data, i, end, texts, used)
        hashed, seen = _hash(texts, used, written - used)
        facts[row, START] = -1 - used
        facts[row, LENGTH] = written - used
    facts[row, HASH] = np.int64(hashed)
    if seen & np.uint64(0x8080808080808080) != 0:
        hard[0, 1] = 1
    return after, written


@entry("uint8[] int64[] int64[] int64[,] float64[,] uint8[] int64[,] -> int64 int64 int64 int64")
def read(data, starts, ends, facts, numbers, texts, hard):
    """Read the files data[starts[k]:ends[k]]: (rows, DONE, 0, 0), or (0, FULL or DAMAGED, file, position).

    facts int64[., FACTS], numbers float64[., NUMBERS]; texts, for keys with escapes, as long as `data`; hard
    int64[., 4]: in its first row the count of numbers that Python must read and whether a key is not ASCII, then
    (row, field, start, end) of these numbers. SPARE bytes must exist after the last file.
    """
    row, used = 0, 0
    hard[0, 0] = 0
    hard[0, 1] = 0
    for file in range(len(starts)):
        end = ends[file]
        i = skip_space(data, starts[file], end)
        if i >= end or byte_at(data, i) != 123:
            return 0, DAMAGED, file, i
        i = skip_space(data, i + 1, end)
        closed = i < end and byte_at(data, i) == 125
        while not closed:
            if row >= len(facts):
                return 0, FULL, file, i
            if i >= end or byte_at(data, i) != 34:
                return 0, DAMAGED, file, i
            after, used = _read_key(data, i, end, row, facts, texts, used, hard)
            if after < 0:
                return 0, DAMAGED, file, i
            i = _after_space(data, after, end)
            if i >= end or byte_at(data, i) != 58:
                return 0, DAMAGED, file, i
            i = _after_space(data, i + 1, end)
            if i >= end:
                return 0, DAMAGED, file, i
            facts[row, FILE] = file
            if byte_at(data, i) == 123:
                i, how = _read_object(data, i, end, row, facts, numbers, hard)
                if how != DONE:
                    return 0, how, file, i
            else:
                value, after, state = _number_or_word(data, i, end)
                if state == NONE:
                    return 0, DAMAGED, file, i
                if state == HARD and not _put_hard(hard, row, TOTAL, i, after):
                    return 0, FULL, file, i
                numbers[row, TOTAL] = value
                facts[row, GIVEN] = IS_NUMBER | TASK | 1 << TOTAL
                i = after
            row += 1
            i = _after_space(data, i, end)
            if i >= end:
                return 0, DAMAGED, file, i
            mark = byte_at(data, i)
            closed = mark == 125
            if not closed:
                if mark != 44:
                    return 0, DAMAGED, file, i
                i = _after_space(data, i + 1, end)
        i = skip_space(data, i + 1, end)
        if i != end:
            return 0, DAMAGED, file, i
    return row, DONE, 0, 0
