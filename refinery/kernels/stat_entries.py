"""Statistics files in kernels: entries read from JSON, and added up by key.

A file is an object, key -> entry; an entry is a number or an object of numbers and a unit. `read` turns the bytes of several
files into rows of numbers, without looking at what they mean; `add` gives them their meaning and adds them to what is known of
their keys. A row of moments is merged as Chan, Golub and LeVeque 1979 do, the mean, M2 and total each kept as a sum of two
DOUBLEs, so that neither a thousand files nor values that are large against their spread cost digits.
"""

from __future__ import annotations

import math

import numpy as np

from refinery.kernels.blocks import equal_to, first_set, load_word, low_bits
from refinery.kernels.decimals import FINE, HARD, NONE, number
from refinery.kernels.jit import inlined, kernel
from refinery.kernels.jsontext import is_space, put_string, skip_space, skip_string, skip_value
from refinery.kernels.scan import byte_at, skip_text

# Columns of what `read` finds: numbers of an entry, and what there is beside them.
TOTAL, N, MEAN, VARIANCE, MIN, MAX, NANS, INFINITIES, LOW = range(9)
NUMBERS = 9
HASH, START, LENGTH, GIVEN, UNIT, FILE = range(6)
FACTS = 6
# Bits of GIVEN above those of the numbers that are there: the entry is a number; its unit is `task`; it is another.
IS_NUMBER, TASK, OTHER = 1 << 9, 1 << 10, 1 << 11

# How `read` and `add` end. DAMAGED: the JSON. The others name what is wrong with an entry.
DONE, FULL, DAMAGED, NO_TOTAL, BAD_N, TWICE = range(6)

# Columns of what is known of a key. The numbers are sums of two.
KEY_HASH, KEY_START, KEY_LENGTH, KEY_N, KEY_NANS, KEY_INFINITIES, KEY_UNIT, KEY_FILE = range(8)
KEY_MEAN, KEY_MEAN_LOW, KEY_M2, KEY_M2_LOW, KEY_TOTAL, KEY_TOTAL_LOW, KEY_MIN, KEY_MAX = range(8)

# Counters of `add`.
UNKNOWN, NOT_FINITE = range(2)

SPARE = 64  # bytes that must be there after the last that is read


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


@kernel
def _field(data, i):
    """Which field the name between quotes is whose first letter is at i, and the position after its closing quote.

    _UNKNOWN, -1 for one that is not known.
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


@kernel
def _number_or_word(data, i, end):
    """A number as `decimals.number` reads it, or Python's words NaN, Infinity and -Infinity."""
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
    """Position after a number that nobody wants, or -1."""
    b = byte_at(data, i)
    if b != 45 and (b < 48 or b > 57):
        return -1
    i += first_set(equal_to(data, i, np.uint8(44)) | equal_to(data, i, np.uint8(125)))
    return i if i < end else -1


@kernel
def _put_hard(hard, row, field, start, end):
    """Note a number that Python must read; hard[0, 0] counts them. Whether there was room."""
    count = hard[0, 0] + 1
    if count >= len(hard):
        return False
    hard[count, 0] = row
    hard[count, 1] = field
    hard[count, 2] = start
    hard[count, 3] = end
    hard[0, 0] = count
    return True


@kernel
def _read_object(data, i, end, row, facts, numbers, hard):
    """Read the entry's fields after its brace at i: the position after it, or -1 - the place where it is damaged.

    FULL is answered as the second.
    """
    given = 0
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
            given |= 1 << field
        elif field == _IS_UNIT:
            word = load_word(data, i)
            if word & _6 == _TASK:
                given |= TASK
                after = i + 6
            elif word & _5 == _DOC:
                after = i + 5
            elif byte_at(data, i) == 34:
                given |= OTHER
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
            facts[row, GIVEN] = given
            return i + 1, DONE
        if mark != 44:
            return i, DAMAGED
        i = _after_space(data, i + 1, end)


@kernel
def _hash(data, start, length):
    """A hash of data[start : start + length], and all its bytes or-ed; eight bytes after it must be there."""
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


@kernel
def _read_key(data, i, end, row, facts, texts, used, hard):
    """Read the key whose quote is at i: the position after it, or -1, and how much of `texts` is in use."""
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


@kernel
def read(data, starts, ends, facts, numbers, texts, hard):
    """Read the files data[starts[k]:ends[k]]: (rows, DONE, 0, 0), or (0, FULL or DAMAGED, file, position).

    facts int64[., FACTS], numbers float64[., NUMBERS]; texts, for keys with escapes, as long as `data`; hard int64[., 4]: after
    its first row (how many; whether a key is not ASCII) (row, field, start, end) of numbers that Python must read. SPARE bytes after the last file.
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


@kernel
def meaning(row, facts, numbers, out):
    """What an entry says, by datatrove's rules: out[:] = n, mean, M2, minimum, maximum, total; (how it ends, n is a guess).

    Left out are a mean of 1, the n of an entry whose mean is 1 and whose total is n, else an n of 1; minimum and maximum that are
    the mean; a variance of 0.
    """
    given = facts[row, GIVEN]
    total = numbers[row, TOTAL]
    if given & (1 << TOTAL) == 0:
        return NO_TOTAL, False
    if given & IS_NUMBER:
        out[0], out[1], out[2], out[3], out[4], out[5] = 1.0, total, 0.0, total, total, total
        return DONE, total == 0
    mean = numbers[row, MEAN] if given & (1 << MEAN) else 1.0
    n = numbers[row, N] if given & (1 << N) else (total if mean == 1 else 1.0)
    low = numbers[row, MIN] if given & (1 << MIN) else mean
    high = numbers[row, MAX] if given & (1 << MAX) else mean
    variance = numbers[row, VARIANCE] if given & (1 << VARIANCE) else 0.0
    if not (0 <= n < 2.0**53 and n == math.floor(n)):
        return BAD_N, False
    out[0], out[1], out[3], out[4], out[5] = n, mean, low, high, total
    out[2] = variance * (n - 1) if n > 1 else 0.0
    # One value has no spread: datatrove leaves n out when it equals the total, though rounding has moved the mean from 1.
    return DONE, given & (1 << N) == 0 and mean != 1 and (low != high or variance != 0)


@inlined
def _add_to(values, row, column, x):
    """Add x to the sum of two numbers at values[row, column]."""
    a = values[row, column]
    s = a + x
    b = s - a
    values[row, column + 1] += (a - (s - b)) + (x - b)
    values[row, column] = s


@kernel
def _add_moments(key, n, new, low, known, values):
    """Merge n values with mean new[1] + low, M2 new[2] into those of a key."""
    before = known[key, KEY_N]
    known[key, KEY_N] = before + n
    if before == 0:
        values[key, KEY_MEAN] = new[1]
        values[key, KEY_MEAN_LOW] = low
        _add_to(values, key, KEY_M2, new[2])
        return
    a, b = new[1], values[key, KEY_MEAN]
    d = a - b
    c = d - a
    # The difference of two sums of two, with what rounding took from the difference of their first.
    distance = d + (((a - (d - c)) - (b + c)) + (low - values[key, KEY_MEAN_LOW]))
    share = n / (before + n)
    _add_to(values, key, KEY_MEAN, distance * share)
    _add_to(values, key, KEY_M2, new[2])
    _add_to(values, key, KEY_M2, distance * distance * before * share)


@inlined
def _same(data, i, arena, k, length):
    """Whether data[i : i + length] is arena[k : k + length]; eight bytes after both must be there."""
    at = 0
    while at + 8 <= length:
        if load_word(data, i + at) != load_word(arena, k + at):
            return False
        at += 8
    left = (load_word(data, i + at) ^ load_word(arena, k + at)) & low_bits(8 * (length - at))
    return left == 0


@kernel
def _find(hashed, data, start, length, table, known, arena):
    """The slot of a key, or of the free place where it belongs."""
    mask = len(table) - 1
    slot = hashed & mask
    while True:
        key = table[slot]
        if key < 0:
            return slot
        if known[key, KEY_HASH] == hashed and known[key, KEY_LENGTH] == length:
            if _same(data, start, arena, known[key, KEY_START], length):
                return slot
        slot = (slot + 1) & mask


@kernel
def _new_key(key, hashed, data, start, length, known, values, arena, used):
    """Set up a key that was not there; its bytes go to arena[used:]."""
    for at in range(length):
        arena[used + at] = byte_at(data, start + at)
    for column in range(8):
        known[key, column] = 0
        values[key, column] = 0.0
    known[key, KEY_HASH] = hashed
    known[key, KEY_START] = used
    known[key, KEY_LENGTH] = length
    known[key, KEY_FILE] = -1
    values[key, KEY_MIN] = math.inf
    values[key, KEY_MAX] = -math.inf


@kernel
def _add_entry(key, row, facts, numbers, out, known, values, tallies):
    """Add an entry to its key; how it ends."""
    how, guess = meaning(row, facts, numbers, out)
    if how != DONE:
        return how
    given = facts[row, GIVEN]
    tallies[UNKNOWN] += guess
    if known[key, KEY_UNIT] == 0:
        known[key, KEY_UNIT] = facts[row, UNIT] if given & OTHER else 1 if given & TASK else 0
    if given & (1 << NANS):
        known[key, KEY_NANS] += np.int64(numbers[row, NANS])
    if given & (1 << INFINITIES):
        known[key, KEY_INFINITIES] += np.int64(numbers[row, INFINITIES])
    n = np.int64(out[0])
    if not (math.isfinite(out[1]) and math.isfinite(out[3]) and math.isfinite(out[4])):
        tallies[NOT_FINITE] += n
        nan = math.isnan(out[1]) or math.isnan(out[5])
        known[key, KEY_NANS if nan else KEY_INFINITIES] += n
        return DONE
    if n > 0 or out[3] <= out[4]:  # of nothing, what refinery writes has a minimum above its maximum
        values[key, KEY_MIN] = min(values[key, KEY_MIN], out[3])
        values[key, KEY_MAX] = max(values[key, KEY_MAX], out[4])
    _add_to(values, key, KEY_TOTAL, out[5])
    if n > 0:
        _add_moments(key, n, out, numbers[row, LOW] if given & (1 << LOW) else 0.0, known, values)
    return DONE


@kernel
def add(first, count, file_number, data, texts, facts, numbers, table, known, values, arena, sizes, out, tallies):
    """Add rows first to count - 1 to what is known of their keys: (next row, DONE), or (row, what ended it).

    sizes: keys and bytes of `arena` in use. FULL: `known`, `values`, `table` (a power of two, a half of it free) or `arena` has
    no room for the row's key. file_number: of the first file that was read, to see that no key is in a file twice.
    """
    for row in range(first, count):
        hashed, start, length = facts[row, HASH], facts[row, START], facts[row, LENGTH]
        escaped = start < 0
        if escaped:
            start = -1 - start
            slot = _find(hashed, texts, start, length, table, known, arena)
        else:
            slot = _find(hashed, data, start, length, table, known, arena)
        key = table[slot]
        if key < 0:
            key, used = sizes[0], sizes[1]
            if key >= len(known) or 2 * key >= len(table) or used + length + SPARE > len(arena):
                return row, FULL
            if escaped:
                _new_key(key, hashed, texts, start, length, known, values, arena, used)
            else:
                _new_key(key, hashed, data, start, length, known, values, arena, used)
            table[slot] = key
            sizes[0] = key + 1
            sizes[1] = used + length
        file = file_number + facts[row, FILE]
        if known[key, KEY_FILE] == file:
            return row, TWICE
        known[key, KEY_FILE] = file
        how = _add_entry(key, row, facts, numbers, out, known, values, tallies)
        if how != DONE:
            return row, how
    return count, DONE


@kernel
def fill(table, known, count):
    """Enter the first `count` keys into an empty (-1) table."""
    mask = len(table) - 1
    for key in range(count):
        slot = known[key, KEY_HASH] & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = key
