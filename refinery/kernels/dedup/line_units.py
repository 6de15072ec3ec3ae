"""Lines of a text as units to compare and remove: one 64-bit key per line, and texts without some lines.

The keys are hashes of the normalised lines; 0 is reserved for lines that are not compared. Two different lines share
a key with a probability of 2 ** -64. Any two of n different lines share a key with about n * n / 2 ** 65: 1 in 37 for
a billion lines, 1 in 37 million for a million. The hash has no secret, so texts can be made to collide.

`key_of`, `fold` and `without` also serve paragraphs and sentences.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc
from refinery.kernels.core.arrow import CHANGED, Texts, delta, ints, texts
from refinery.kernels.core.blocks import load_word
from refinery.kernels.core.charclass import SPACE, classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.memory import high_product
from refinery.kernels.core.sorting import sort, stack
from refinery.kernels.core.stripping import stripped
from refinery.kernels.core.utf8 import copy, decode
from refinery.kernels.text.lines import count_lines

SKIP_BRACKETS, SKIP_HEADERS, SKIP_LATEX, SKIP_TAGS = 1, 2, 4, 8  # kinds of lines that are not compared
LOWER, LETTERS_ONLY, ONE_SPACE = 1, 2, 4  # flags of `fold`; LETTERS_ONLY: no white space, digits and punctuation

BLANK, DIGIT, PUNCTUATION, CASED = 1, 2, 4, 8  # bits of `fold_table`

_NO_OFFSET = np.zeros(1, np.int64)
_NO_PLACES = ints(np.zeros(2, np.int64))
_LINE_FEED = np.frombuffer(b"\n", np.uint8)
_NOT_LETTERS = re.compile(rf"\s+|\d+|[{re.escape(string.punctuation)}]")


@lru_cache(maxsize=1)
def fold_table() -> np.ndarray:
    """Bits of code points (uint8) as in Python: BLANK, DIGIT (decimal), PUNCTUATION (ASCII), CASED (lower differs)."""
    table = np.where(classes() & SPACE, np.uint8(BLANK), np.uint8(0))
    for c in range(0x20000):  # beyond, no character has a lower case or is a digit; a test checks all of them
        char = chr(c)
        if char.isdecimal():
            table[c] |= DIGIT
        elif char.lower() != char:
            table[c] |= CASED
    table[[ord(c) for c in string.punctuation]] |= PUNCTUATION
    return table


def fold_exactly(text: str, how: int) -> str:
    """Fold a text as the kernel `fold` does, for texts that the kernel leaves to Python."""
    if how & LOWER:
        text = text.lower()
    if how & LETTERS_ONLY:
        text = _NOT_LETTERS.sub("", text)
    if how & ONE_SPACE:
        text = " ".join(text.split())
    return text.strip()


def line_keys(column: pa.Array | pa.ChunkedArray, how: int, min_length: int, skipped: int) -> pa.Array:
    """Key of each line of each text (`list<uint64>`), lines being separated by U+000A; NULL for NULL.

    `how`: LOWER and LETTERS_ONLY, the folding before the hash. The key is 0 for lines of fewer than `min_length` code
    points (white space at the ends not counted) and for lines of the kinds `skipped`.
    """
    view = texts(column)
    firsts = np.zeros(len(view) + 1, np.int64)
    _count_lines(view.data, view.offsets, view.valid, firsts)
    keys, folder = np.empty(firsts[-1], np.uint64), CaseFolder(view, how, int(firsts[-1]))
    _line_keys(
        view.data, view.offsets, view.valid, firsts, keys, min_length, skipped, classes(),
        how, folder.table, folder.room, folder.left,
    )  # fmt: skip
    folder.finish(keys)
    return lists(firsts, keys, view.valid)


def remove_lines(column: pa.Array | pa.ChunkedArray, removed: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Remove from each text the lines with the numbers (from 0) in its list, and join the rest by U+000A.

    NULL where no line is removed. Numbers may come in any order and repeat; those beyond the last line are ignored.
    """
    return remove_parts(column, removed, _LINE_FEED)


def remove_parts(
    column: pa.Array | pa.ChunkedArray, removed: pa.Array | pa.ChunkedArray, separator: np.ndarray
) -> pa.Array:
    """`remove_lines` for parts that `separator` (uint8, not empty) divides."""
    places, offsets = numbers(removed)
    return delta(column, without, separator, places.copy(), offsets, stack())


def numbers(column: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Values (int64) and offsets (int64) of a column of lists; a NULL list is an empty one."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    array = array.cast(pa.large_list(pa.int64()))
    if array.null_count:
        array = pc.coalesce(array, pa.LargeListArray.from_arrays(_NO_PLACES, _NO_PLACES[:0])[0])
    offsets = np.frombuffer(array.buffers()[1] or _NO_OFFSET, np.int64)[array.offset : array.offset + len(array) + 1]
    values = array.values
    places = np.frombuffer(values.buffers()[1] or b"", np.int64)[values.offset : values.offset + len(values)]
    return _frozen(places), _frozen(offsets)


def lists(firsts: np.ndarray, keys: np.ndarray, valid: np.ndarray) -> pa.Array:
    """Column of `list<uint64>`, row r being keys[firsts[r]:firsts[r + 1]]; NULL where `valid` is False."""
    nulls = int(np.count_nonzero(~valid))
    mask = pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None
    kind, offsets = pa.list_(pa.uint64()), pa.py_buffer(firsts.astype(np.int32))
    return pa.ListArray.from_buffers(kind, len(valid), [mask, offsets], nulls, 0, [ints(keys)])


class CaseFolder:
    """Room for folding in a kernel, and the units that the kernel leaves to Python.

    table: `fold_table`. room: uint8, as long as the longest text. left: int64 (units, 2), begin and end of each unit
    with a letter whose lower case is not in a table.
    """

    def __init__(self, view: Texts, how: int, units: int) -> None:
        self._view, self._how = view, how
        lengths = np.diff(view.offsets) if how else np.zeros(1, np.int64)
        self.table = fold_table() if how else classes()  # not read without folding
        self.room = np.empty(int(lengths.max(initial=0)) + 8, np.uint8)
        self.left = np.zeros((units if how else 0, 2), np.int64)

    def finish(self, keys: np.ndarray, exactly: Callable[[str, int], str] = fold_exactly) -> None:
        """Write the keys of the units that the kernel left."""
        units = np.flatnonzero(self.left[:, 1])
        if len(units):
            pieces = [self._view.data[start:end].tobytes().decode() for start, end in self.left[units]]
            keys[units] = keys_of([exactly(piece, self._how) for piece in pieces])


def keys_of(pieces: list[str]) -> np.ndarray:
    """`key_of` of each string."""
    encoded = [piece.encode() for piece in pieces]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(piece) for piece in encoded], out=offsets[1:])
    keys = np.empty(len(encoded), np.uint64)
    _keys_of(np.frombuffer(b"".join(encoded) + b"\0", np.uint8), offsets, keys)
    return keys


def _frozen(array: np.ndarray) -> np.ndarray:
    array = array.view()
    array.flags.writeable = False
    return array


@inlined
def _fold_product(a, b):
    """XOR of the two halves of the 128-bit product of two uint64."""
    return high_product(a, b) ^ a * b


@kernel
def key_of(data, start, end):
    """Hash of data[start:end], never 0: multiply and fold 16 bytes at a time, as in wyhash."""
    one, two = np.uint64(0xA0761D6478BD642F), np.uint64(0xE7037ED1A0B428DB)
    i, stop, sixteen, eight = np.uint64(start), np.uint64(end), np.uint64(16), np.uint64(8)
    word = _fold_product(np.uint64(end - start) ^ one, two)
    while i + sixteen <= stop:
        word = _fold_product(load_word(data, np.int64(i)) ^ one, load_word(data, np.int64(i + eight)) ^ word)
        i += sixteen
    first, second = np.uint64(0), np.uint64(0)
    if i + eight <= stop:
        first = load_word(data, np.int64(i))
        i += eight
    while i < stop:
        second = (second << eight) | np.uint64(data[i])
        i += np.uint64(1)
    word = _fold_product(first ^ two, second ^ word)
    word = _fold_product(word ^ one, two)
    return word if word != np.uint64(0) else np.uint64(1)


@entry("uint8[] int64[] uint64[]")
def _keys_of(data, offsets, keys):
    for i in range(len(keys)):
        keys[i] = key_of(data, offsets[i], offsets[i + 1])


@kernel
def shorter(data, start, end, length):
    """True if data[start:end] has fewer than `length` code points."""
    if end - start >= 4 * length:
        return False
    count = 0
    for i in range(start, end):
        count += (data[i] & 0xC0) != 0x80
    return count < length


@kernel
def fold(data, start, end, how, table, room):
    """Write the folded data[start:end], which has no white space at its ends, to room[0:]; returns its length.

    Returns -1 when LOWER is set and there is a letter beyond ASCII that has a lower case.
    """
    ascii, part = np.uint8(0), data[start:end]
    for i in range(len(part)):
        ascii |= part[i]
    if ascii < 0x80 and not how & ONE_SPACE:
        return _fold_ascii(part, how, table, room)
    w = 0
    i = start
    while i < end:
        b = data[i]
        if b < 0x80:
            kinds, after = table[b], i + 1
        else:
            cp, after = decode(data, i)
            kinds = table[cp]
        if kinds:
            if how & LETTERS_ONLY and kinds & (BLANK | DIGIT | PUNCTUATION):
                i = after
                continue
            if how & ONE_SPACE and kinds & BLANK:
                if room[w - 1] != 32:  # nothing starts with white space, so w > 0
                    room[w] = 32
                    w += 1
                i = after
                continue
            if how & LOWER and kinds & CASED:
                if b >= 0x80:
                    return -1
                b |= np.uint8(32)
        room[w] = b
        w += 1
        for k in range(i + 1, after):
            room[w] = data[k]
            w += 1
        i = after
    return w


@kernel
def _fold_ascii(part, how, table, room):
    lowered = np.uint8(32) if how & LOWER else np.uint8(0)
    w = 0
    if how & LETTERS_ONLY:
        for i in range(len(part)):
            b = part[i]
            kinds = table[b]
            room[w] = b | (lowered if kinds & CASED else np.uint8(0))
            w += 1 - ((kinds & (BLANK | DIGIT | PUNCTUATION)) != 0)
        return w
    target = room[: len(part)]
    for i in range(len(part)):
        upper = np.uint8(part[i] >= np.uint8(65)) & np.uint8(part[i] <= np.uint8(90))
        target[i] = part[i] + upper * lowered
    return len(part)


@kernel
def folded_key(data, start, end, how, table, room, left, unit):
    """Key of the folded data[start:end]; when folding needs Python, its bounds go to left[unit]."""
    if how == 0:
        return key_of(data, start, end)
    length = fold(data, start, end, how, table, room)
    if length < 0:
        left[unit, 0], left[unit, 1] = start, end
        return np.uint64(1)
    return key_of(room, 0, length)


@entry("uint8[] int64[] bool[] int64[]")
def _count_lines(data, offsets, valid, firsts):
    for row in range(len(valid)):
        lines = count_lines(data, offsets[row], offsets[row + 1]) + 1 if valid[row] else 0
        firsts[row + 1] = firsts[row] + lines


@kernel
def find(data, start, end, separator):
    """Position of the first `separator` in data[start:end], or -1."""
    length = len(separator)
    byte = separator[0]
    i = start
    while i + length <= end:
        while i + 16 <= end:
            part = data[i : i + 16]
            hit = np.uint8(0)
            for k in range(16):
                hit |= np.uint8(part[k] == byte)
            if hit:
                break
            i += 16
        while i < end and data[i] != byte:
            i += 1
        if i + length > end:
            return -1
        k = 1
        while k < length and data[i + k] == separator[k]:
            k += 1
        if k == length:
            return i
        i += 1
    return -1


@entry("uint8[] int64[] bool[] int64[] uint64[] int64 int64 uint8[] int64 uint8[] uint8[] int64[,]")
def _line_keys(
    data, offsets, valid, firsts, keys, min_length, skipped, class_table, how, table, room, left
):  # fmt: skip
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1]
        for unit in range(firsts[row], firsts[row + 1]):
            stop = _line_end(data, i, end)
            first, last = stripped(data, i, stop, class_table)
            if shorter(data, first, last, min_length) or _skips(data, first, last, skipped):
                keys[unit] = 0
            else:
                keys[unit] = folded_key(data, first, last, how, table, room, left, unit)
            i = stop + 1


@inlined
def _line_end(data, i, end):
    """End of the line that starts at i: a line feed, or `end`."""
    ones, line_feeds = np.uint64(0x0101010101010101), np.uint64(0x0A0A0A0A0A0A0A0A)
    while i + 8 <= end:
        word = load_word(data, i) ^ line_feeds
        if (word - ones) & ~word & (ones << np.uint64(7)):  # one of the bytes is zero
            break
        i += 8
    while i < end and data[i] != 10:
        i += 1
    return i


@kernel
def _skips(data, start, end, skipped):
    """True if the stripped line data[start:end] is of a kind in `skipped`."""
    if start == end:
        return skipped & SKIP_BRACKETS != 0  # an empty line counts as brackets only
    b = data[start]
    if b == 35:  # number sign
        return skipped & SKIP_HEADERS != 0
    if b == 92:  # backslash
        return skipped & SKIP_LATEX != 0 and (
            _begins(data, start, end, b"\\begin{") or _begins(data, start, end, b"\\end{")
        )
    if b == 60:  # less-than sign
        return skipped & SKIP_TAGS != 0 and _is_tag(data, start, end)
    return skipped & SKIP_BRACKETS != 0 and _brackets_only(data, start, end)


@kernel
def _brackets_only(data, start, end):
    for i in range(start, end):
        b = data[i]
        if not (b == 40 or b == 41 or b == 59 or b == 91 or b == 93 or b == 123 or b == 125):
            return False
    return True


@kernel
def _begins(data, start, end, word):
    if end - start < len(word):
        return False
    for i in range(len(word)):
        if data[start + i] != word[i]:
            return False
    return True


@kernel
def _is_tag(data, start, end):
    """True if data[start:end] is one HTML tag, closed or not: `<`, an optional slash, a letter, no tag end inside.

    With IGNORECASE, `[a-z]` of Python's `re` also matches U+0130, U+0131, U+017F and U+212A.
    """
    i = start + 1
    if i < end and data[i] == 47:
        i += 1
    if i == end:
        return False
    cp, after = decode(data, i)
    letter = (cp | 32) >= 97 and (cp | 32) <= 122
    if not letter and cp != 0x130 and cp != 0x131 and cp != 0x17F and cp != 0x212A:
        return False
    for k in range(after, end - 1):
        if data[k] == 62:
            return False
    return True


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] uint8[] int64[] int64[] int64[] -> int64")
def without(data, offsets, valid, out, out_offsets, state, separator, removed, removed_offsets, stack):
    """Kernel of `arrow.delta`: leave out parts of each text by their numbers, which are sorted; `separator` divides parts."""
    w = 0
    for row in range(len(valid)):
        count = removed_offsets[row + 1] - removed_offsets[row]
        if valid[row] and count > 0:
            start, end = offsets[row], offsets[row + 1]
            sort(removed, removed_offsets[row], removed_offsets[row + 1], stack)
            wanted = removed[removed_offsets[row] : removed_offsets[row + 1]]
            used = _leave_out(data, start, end, wanted, separator, out, w)
            if used - w != end - start:
                state[row] = CHANGED
                w = used
        out_offsets[row + 1] = w
    return w


@kernel
def _leave_out(data, start, end, wanted, separator, out, w):
    """Write data[start:end] without the parts `wanted` (ascending) to out[w:]; returns the position after it."""
    part, begin, run, next_wanted, some = 0, start, start, 0, False
    while next_wanted < len(wanted) and wanted[next_wanted] < 0:
        next_wanted += 1
    while begin <= end and next_wanted < len(wanted):
        stop = find(data, begin, end, separator)
        stop = end if stop < 0 else stop
        if part == wanted[next_wanted]:
            if begin > run:  # the parts in run:begin stay, up to the separator before this part
                w, some = _joined(data, run, begin - len(separator), separator, out, w, some)
            run = stop + len(separator)
            while next_wanted < len(wanted) and wanted[next_wanted] == part:
                next_wanted += 1
        part += 1
        begin = stop + len(separator)
    if run <= end:
        w, some = _joined(data, run, end, separator, out, w, some)
    return w


@kernel
def _joined(data, start, end, separator, out, w, some):
    if some:
        w = copy(separator, 0, len(separator), out, w)
    return copy(data, start, end, out, w), True
