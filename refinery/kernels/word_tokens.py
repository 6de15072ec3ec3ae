"""Words by the rules of `word_rules`, in kernels: where the words of a piece of text begin."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from refinery.kernels import word_rules
from refinery.kernels.arrow import of_texts, texts
from refinery.kernels.blocks import load_word, low_bits
from refinery.kernels.jit import inlined, kernel
from refinery.kernels.line_units import key_of
from refinery.kernels.utf8 import before, decode, same
from refinery.kernels.word_rules import (
    ALPHA,
    BEFORE_STOP,
    CURRENCY,
    DIGIT,
    ICON,
    IN_HOST,
    JOINT,
    LONGEST_RUN,
    LOWER,
    PREFIX,
    QUOTE,
    SUFFIX,
    UPPER,
)

WORD = 8  # bytes that are compared at once

# Kinds of an entry of the lexicon, and where its words end: in the bits from 8, 16 and 24 on, after the first and the
# second word, and of the last one.
EXCEPTION, CUT, UNIT = 1, 2, 4

FIRST, LAST = 1, 2  # bits of a lexicon's gate

FULL_STOP, AT, COLON, SLASH, APOSTROPHE = 0x2E, 0x40, 0x3A, 0x2F, 0x27
RIGHT_QUOTE, ELLIPSIS, EM_DASH, EN_DASH, DEGREE = 0x2019, 0x2026, 0x2014, 0x2013, 0xB0


class Lexicon(NamedTuple):
    """A hash table of short texts. An entry's place is its key or the next free one after it; key 0: free.

    keys: uint64 (capacity, a power of two). entries: int64 (capacity, 3): value, never 0, and where the text begins and
    ends in data, uint8. gate: uint8 (bytes of the longest text + 1, 256): FIRST, LAST for bytes that a text of so many
    begins, ends with; most texts that are not in the table are told by it.
    """

    keys: np.ndarray
    entries: np.ndarray
    data: np.ndarray
    gate: np.ndarray


def _pairs(cut: Mapping[str, tuple[str, ...]]) -> np.ndarray:
    """uint8 (256, 256): whether an exception is cut into words of which the first two begin with these bytes."""
    found = np.zeros((256, 256), np.uint8)
    for text in cut:
        first, second = (word.encode()[0] for word in word_rules.cut(text, known=False)[:2])
        found[first, second] = 1
    return found


class Rules(NamedTuple):
    """What the kernels know: classes of characters, exceptions and units, and how exceptions that are cut begin."""

    classes: np.ndarray
    lexicon: Lexicon
    pairs: np.ndarray


@lru_cache(maxsize=1)
def rules() -> Rules:
    """The rules for English; made once in a process."""
    found: dict[str, int] = dict.fromkeys(word_rules.UNITS, UNIT)
    cut = word_rules.cut_exceptions()
    for text, parts in word_rules.exceptions().items():
        ends = np.cumsum([len(part.encode()) for part in parts])
        value = EXCEPTION | (CUT if text in cut else 0)
        for place in range(3):
            value |= int(ends[min(place, len(parts) - 1)]) << (8 + 8 * place)
        found[text] = found.get(text, 0) | value
    return Rules(word_rules.classes(), lexicon(found), _pairs(cut))


def lexicon(entries: Mapping[str, int]) -> Lexicon:
    """A table of texts with their values, none of which is 0."""
    capacity = 16
    while capacity < 8 * len(entries):
        capacity *= 2
    view = texts(of_texts(list(entries)))
    found = np.empty(len(entries), np.uint64)
    _keys(view.data, view.offsets, found)
    keys, table = np.zeros(capacity, np.uint64), np.zeros((capacity, 3), np.int64)
    sizes = np.diff(view.offsets)
    gate = np.zeros((int(sizes.max(initial=0)) + 1, 256), np.uint8)
    for n, value in enumerate(entries.values()):
        place = int(found[n]) & (capacity - 1)
        while keys[place]:
            place = (place + 1) & (capacity - 1)
        start, end = view.offsets[n : n + 2]
        keys[place], table[place] = found[n], (value, start, end)
        if end > start:
            gate[sizes[n], view.data[start]] |= FIRST
            gate[sizes[n], view.data[end - 1]] |= LAST
    data = np.zeros(len(view.data) + WORD, np.uint8)
    data[: len(view.data)] = view.data
    return Lexicon(keys, table, data, gate)


@kernel
def _keys(data, offsets, keys):
    for row in range(len(keys)):
        keys[row] = word_key(data, offsets[row], offsets[row + 1])


@inlined
def word_key(data, start, end):
    """A hash of data[start:end], never 0."""
    if end - start > WORD:
        return key_of(data, start, end)
    word = short_word(data, start, end)
    key = (word ^ (word >> np.uint64(29)) ^ np.uint64(end - start)) * np.uint64(0xE7037ED1A0B428DB)
    key ^= key >> np.uint64(32)
    return key if key != np.uint64(0) else np.uint64(1)


@inlined
def short_word(data, start, end):
    """The at most WORD bytes data[start:end] as a number."""
    if start + WORD <= len(data):
        return load_word(data, start) & low_bits(8 * (end - start))
    word = np.uint64(0)
    for i in range(end - 1, start - 1, -1):
        word = (word << np.uint64(8)) | np.uint64(data[i])
    return word


@inlined
def equal(data, start, end, other, other_start, other_end):
    """Whether data[start:end] and other[other_start:other_end] are the same bytes."""
    size = end - start
    if size != other_end - other_start:
        return False
    if size <= WORD:
        return short_word(data, start, end) == short_word(other, other_start, other_end)
    return same(data, start, end, other, other_start, other_end)


@inlined
def look_up(known, key, data, start, end):
    """The value of data[start:end], whose key is given, in a lexicon; 0 when it has none."""
    if known.keys[np.int64(key) & (len(known.keys) - 1)] == np.uint64(0):
        return np.int64(0)
    return _find(known.keys, known.entries, known.data, key, data, start, end)


@kernel
def _find(keys, entries, texts, key, data, start, end):
    mask = len(keys) - 1
    place = np.int64(key) & mask
    while keys[place] != np.uint64(0):
        if keys[place] == key and equal(data, start, end, texts, entries[place, 1], entries[place, 2]):
            return entries[place, 0]
        place = (place + 1) & mask
    return np.int64(0)


@inlined
def _exception(known, data, start, end):
    """The value of an exception or unit; 0 for other texts."""
    size = end - start
    if size <= 0 or size >= len(known.gate):
        return np.int64(0)
    if not known.gate[size, data[start]] & FIRST or not known.gate[size, data[end - 1]] & LAST:
        return np.int64(0)
    return _known(known.keys, known.entries, known.data, data, start, end)


@kernel
def _known(keys, entries, texts, data, start, end):
    key = word_key(data, start, end)
    if keys[np.int64(key) & (len(keys) - 1)] == np.uint64(0):
        return np.int64(0)
    return _find(keys, entries, texts, key, data, start, end)


# Pieces: what stands between white space


@kernel
def cut_piece(data, start, end, table, known, pairs, room):
    """Write where the words of data[start:end], which holds no white space, begin to room[0:]; how many there are.

    `room` has place for three times as many numbers as the piece has bytes, and three more.
    """
    n = 0
    tail = len(room)
    first_start, last_end = start, end
    while start < end:
        if _exception(known, data, start, end) & EXCEPTION:
            break
        first = _prefix(data, start, end, table)
        if first > 0 and _exception(known, data, start + first, end) & EXCEPTION:
            room[n] = start
            n += 1
            start += first
            break
        last = _suffix(data, start + first, end, table, known) if start + first < end else 0
        if last > 0 and _exception(known, data, start, end - last) & EXCEPTION:
            end -= last
            tail -= 1
            room[tail] = end
            break
        if first == 0 and last == 0:
            break
        if first > 0:
            room[n] = start
            n += 1
            start += first
        if last > 0:
            end -= last
            tail -= 1
            room[tail] = end
    if start < end:
        n = _inside(data, start, end, table, known, room, n)
    while tail < len(room):
        room[n] = room[tail]
        n += 1
        tail += 1
    for k in range(n - 1):
        if pairs[data[room[k]], data[room[k + 1]]]:
            return _joined(data, first_start, last_end, known, room, n)
    return n


@kernel
def _parts(value, start, room, n):
    """Write where the words of an exception begin."""
    room[n] = start
    n += 1
    for place in range(2):
        end = (value >> (8 + 8 * place)) & 0xFF
        if end < (value >> 24) & 0xFF:
            room[n] = start + end
            n += 1
    return n


@kernel
def _joined(data, start, end, known, room, n):
    """Put runs of words that are an exception into its form; how many words there are then."""
    third = len(room) // 3
    found = False
    for i in range(n):
        room[third + i] = 0  # whether the word belongs to a run
        room[2 * third + i] = 0  # how many words the run that begins here has, if it is taken
    for length in range(min(n, LONGEST_RUN), 1, -1):
        for i in range(n - length + 1):
            stop = room[i + length] if i + length < n else end
            if not _exception(known, data, room[i], stop) & CUT:
                continue
            if room[third + i] == 0 and room[third + i + length - 1] == 0:
                room[2 * third + i] = length
                found = True
            for k in range(i, i + length):
                room[third + k] = 1
    return _written(data, end, known, room, n, third) if found else n


@kernel
def _written(data, end, known, room, n, third):
    """Write the words with the runs in the exceptions' form, which may have more words; how many there are."""
    i = 0
    w = third  # nobody asks any more what was seen
    while i < n:
        length = room[2 * third + i]
        if length == 0:
            room[w] = room[i]
            w += 1
            i += 1
            continue
        stop = room[i + length] if i + length < n else end
        w = _parts(_exception(known, data, room[i], stop), room[i], room, w)
        i += length
    for k in range(w - third):
        room[k] = room[third + k]
    return w - third


@kernel
def _prefix(data, start, end, table):
    """Bytes that are cut off the front."""
    byte = data[start]
    cp, after = decode(data, start)
    if table[cp] & PREFIX:
        return after - start
    if byte == FULL_STOP:
        i = start + 1
        while i < end and data[i] == FULL_STOP:
            i += 1
        return i - start if i - start > 1 else 0
    if byte == 0x2B:
        return 1 if start + 1 == end or not table[data[start + 1]] & DIGIT else 0
    return _dollar(data, start, end)


@kernel
def _dollar(data, start, end):
    """Bytes of US$, C$ or A$ at the start; 0 for others."""
    byte = data[start]
    if (byte == 0x41 or byte == 0x43) and start + 1 < end and data[start + 1] == 0x24:
        return 2
    if byte == 0x55 and start + 2 < end and data[start + 1] == 0x53 and data[start + 2] == 0x24:
        return 3
    return 0


@kernel
def _suffix(data, start, end, table, known):
    """Bytes that are cut off the end of data[start:end], which is not empty."""
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
    """Bytes of what follows the last digit when that is a unit, a currency or a plus sign; else 0."""
    i = last
    while i >= start and end - i <= len(known.gate):
        if table[data[i]] & DIGIT and data[i] < 0x80:
            size = end - i - 1
            if size == 0:
                return 0
            if i + 1 == last and (cp == 0x2B or table[cp] & CURRENCY):
                return size
            if _exception(known, data, i + 1, end) & UNIT or _dollar(data, i + 1, end) == size:
                return size
            return 0
        i -= 1
    return 0


@kernel
def _ends_before_stop(data, start, at, table):
    """Whether the full stop at `at` is a mark of its own by what stands before it."""
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
def _inside(data, start, end, table, known, room, n):
    """Write where the words of a text begin from whose ends nothing is to be cut off."""
    value = _exception(known, data, start, end)
    if value & EXCEPTION:
        return _parts(value, start, room, n)
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
    """Bytes of the mark at i that cuts a text in two; 0 when there is none. previous: bits of the character before."""
    if cp == FULL_STOP and after < end and data[after] == FULL_STOP:
        while after < end and data[after] == FULL_STOP:
            after += 1
        return after - i
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


# Addresses


@kernel
def is_address(data, start, end, table):
    """Whether data[start:end] is an address: a host, with or without a scheme, a user, a port, a path."""
    if _is_host(data, start, end, table):
        return True
    scheme = True
    i = start
    while i < end:
        byte = data[i]
        if byte == AT and i > start and _is_host(data, i + 1, end, table):
            return True
        if byte == COLON and scheme:
            scheme = False
            if i - start >= 2 and i + 2 < end and data[i + 1] == SLASH and data[i + 2] == SLASH:
                if _has_two(data, start, i) and _is_host(data, i + 3, end, table):
                    return True
        elif byte < 0x80 and not (_is_word(byte) or byte == 0x2B or byte == 0x2D or byte == FULL_STOP):
            scheme = False
        i += 1
    return False


@kernel
def _is_word(byte):
    return 0x30 <= byte <= 0x39 or 0x41 <= byte <= 0x5A or 0x61 <= byte <= 0x7A or byte == 0x5F


@kernel
def _has_two(data, start, end):
    """Whether data[start:end] has two characters or more."""
    return end > start and decode(data, start)[1] < end


@kernel
def _is_host(data, start, end, table):
    """Whether a host begins at `start`, and an address ends at `end`."""
    i = label = start
    labels = 0
    numbers = 0  # labels that are numbers
    lower = 0  # characters of the label so far that can be of a top-level domain; -1: not all can
    chars = 0
    joined = False  # whether the label's last character is one that stands only inside of labels
    digits = True
    while i < end:
        byte = data[i]
        if byte == COLON or byte == SLASH or byte == 0x3F or byte == 0x23:
            break
        cp, after = decode(data, i)
        bits = table[cp]
        if byte == FULL_STOP:
            if chars == 0 or chars > 64 or joined:
                return False
            labels += 1
            numbers += digits
            label = after
            lower = chars = 0
            joined = False
            digits = True
        else:
            inner = byte == 0x2D or byte == 0x5F
            if not (bits & IN_HOST or (inner and chars > 0)):
                if not bits & LOWER:  # a last label may have letters that no other one has
                    return False
                labels = -1000
            joined = inner
            digits = digits and bits & DIGIT != 0 and after - label <= 3
            lower = lower + 1 if lower >= 0 and bits & LOWER else -1
            chars += 1
        i = after
    if labels < 0:  # a letter beyond U+FFFF: allowed in the last label only, which is looked at again
        return _ends_in_far_letters(data, start, i, end, table)
    if labels == 0 or not _is_path(data, i, end):
        return False
    if labels == 3 and numbers == 3 and digits and chars > 0:
        return _is_public(data, start, i)
    return 2 <= lower <= 63


@kernel
def _ends_in_far_letters(data, start, stop, end, table):
    """`_is_host` for a host in which there are letters beyond U+FFFF."""
    dot = stop
    while dot > start and data[dot - 1] != FULL_STOP:
        dot -= 1
    if dot == start or not _is_path(data, stop, end):
        return False
    chars = 0
    i = dot
    while i < stop:
        cp, i = decode(data, i)
        if not table[cp] & LOWER:
            return False
        chars += 1
    if not 2 <= chars <= 63:
        return False
    i = start
    chars = 0
    joined = False
    while i < dot:
        byte = data[i]
        cp, i = decode(data, i)
        if byte == FULL_STOP:
            if chars == 0 or chars > 64 or joined:
                return False
            chars = 0
            joined = False
            continue
        inner = byte == 0x2D or byte == 0x5F
        if not (table[cp] & IN_HOST or (inner and chars > 0)):
            return False
        joined = inner
        chars += 1
    return True


@kernel
def _is_path(data, i, end):
    """Whether data[i:end] is nothing, or a port, or a path, or one after the other."""
    if i < end and data[i] == COLON:
        port = i + 1
        i = port
        while i < end and 0x30 <= data[i] <= 0x39:
            i += 1
        if not 2 <= i - port <= 5:
            return False
    return i == end or data[i] == SLASH or data[i] == 0x3F or data[i] == 0x23


@kernel
def _is_public(data, start, end):
    """Whether four numbers are an address outside of private networks, written without needless zeros at either end."""
    a = b = number = place = 0
    first = start
    for i in range(start, end + 1):
        if i < end and data[i] != FULL_STOP:
            number = number * 10 + data[i] - 0x30
            continue
        if number > 255 or ((place == 0 or place == 3) and data[first] == 0x30):
            return False
        if place == 0:
            a = number
        elif place == 1:
            b = number
        place += 1
        last = number
        number = 0
        first = i + 1
    private = a == 10 or a == 127 or (a == 169 and b == 254) or (a == 192 and b == 168)
    return not private and not (a == 172 and 16 <= b <= 31) and 1 <= a <= 223 and 1 <= last <= 254
