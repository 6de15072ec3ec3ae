"""Words of a text for the comparison with evaluation items: their keys, and where they stand.

A word is a run of letters and digits (`folding`). Marks, tags of HTML and character references divide words. A word of a script
without blanks is one character, whose key includes the character before it. A document and an item that differ in case, accents,
punctuation, markup or white space have the same words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.contamination.folding import DIVIDES, KIND_BITS, LETTER, LETTERS, NOTHING, UNSPACED, fold_table
from refinery.kernels.contamination.gram_table import mixed
from refinery.kernels.core.arrow import texts
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import decode

GRAM = 3  # words of an n-gram
# The low two bits of a key say of which sort the word is.
PLAIN, NUMBER, CHARACTER = 0, 1, 2
SORT_BITS = 3

_PRIME = 0x100000001B3
_START = 0xCBF29CE484222325
_TAG = 200  # most bytes of a tag
_REFERENCE = 10  # most bytes of a character reference


class Words(NamedTuple):
    """Words of a text. keys: uint64, with the sort of the word in the low bits. starts, ends: int64, bytes of the text."""

    keys: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


record(Words, "uint64[] int64[] int64[]")


def room_for(size: int) -> Words:
    """Room for the words of a text of so many bytes."""
    most = size // 2 + 2 + size // 3
    return Words(np.empty(most, np.uint64), np.empty(most, np.int64), np.empty(most, np.int64))


def words_of(column: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of the words of all texts, and where those of each text begin and end (int64, one more than texts)."""
    view = texts(column)
    room = room_for(int(np.diff(view.offsets).max(initial=0)))
    keys, offsets = (
        np.empty(room_for(view.size).keys.size + 2 * len(view), np.uint64),
        np.zeros(len(view) + 1, np.int64),
    )
    _all_words(view.data, view.offsets, view.valid, fold_table(), room, keys, offsets)
    return keys[: offsets[-1]].copy(), offsets


def grams_of(keys: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Key of the n-gram that begins at each word of some texts; 0 where the text ends before it."""
    grams = np.zeros(len(keys), np.uint64)
    _all_grams(keys, offsets, grams)
    return grams


@entry("uint8[] int64[] bool[] uint32[] Words uint64[] int64[]", Words)
def _all_words(data, offsets, valid, table, room, keys, bounds):
    w = 0
    for row in range(len(valid)):
        if valid[row]:
            count = cut_words(data, offsets[row], offsets[row + 1], table, room)
            for i in range(count):
                keys[w + i] = room.keys[i]
            w += count
        bounds[row + 1] = w


@entry("uint64[] int64[] uint64[]")
def _all_grams(keys, offsets, grams):
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1] - GRAM + 1):
            grams[i] = gram_at(keys, i)


@inlined
def gram_at(keys, i):
    """Key of the n-gram that begins at word i."""
    first = keys[i] * np.uint64(0x9E3779B97F4A7C15)
    second = (keys[i + 1] ^ (keys[i + 1] >> np.uint64(31))) * np.uint64(0xC2B2AE3D27D4EB4F)
    return mixed(first + (second ^ (keys[i + 2] + (second >> np.uint64(29)))))


@inlined
def _word_key(value, sort):
    """The key of a word with its sort, never 0."""
    key = (value ^ (value >> np.uint64(32))) * np.uint64(0xE7037ED1A0B428DB)
    key ^= key >> np.uint64(29)
    return (key << np.uint64(2)) | np.uint64(sort)


@kernel
def cut_words(data, start, end, table, words):
    """Write the words of data[start:end]; returns their number."""
    count = 0
    i = start
    before = np.uint64(0)  # code point of a character before, of a script without blanks
    kind, point, after = np.uint32(DIVIDES), np.uint64(0), np.int64(0)
    while i < end:
        value, first, digits = np.uint64(_START), np.int64(-1), True
        last = i
        while i < end:
            byte = data[i]
            code = np.int64(byte)
            after = i + 1
            if byte >= 0x80:
                code, after = decode(data, i)
            entry = table[code]
            kind = entry & np.uint32(7)
            point = np.uint64(entry >> np.uint32(KIND_BITS))
            if kind == LETTER:
                value = (value ^ point) * np.uint64(_PRIME)
                digits = digits and bool(point <= np.uint64(0x39))
            elif kind == LETTERS:
                value, digits = _spelled(value, point), False
            elif kind != NOTHING:
                break
            if kind != NOTHING:
                if first < 0:
                    first = i
                last = after
            i = after
        if first >= 0:
            words.keys[count] = _word_key(value, NUMBER if digits else PLAIN)
            words.starts[count], words.ends[count] = first, last
            count += 1
            before = np.uint64(0)
        if i >= end:
            break
        if kind == UNSPACED:
            words.keys[count] = _word_key((before << np.uint64(24)) ^ point ^ np.uint64(_START), CHARACTER)
            words.starts[count], words.ends[count] = i, after
            count += 1
            before = point
            i = after
        else:
            before = np.uint64(0)
            i = _after_mark(data, i, after, end)
    return count


@inlined
def _spelled(value, point):
    """The hash of a word, continued by the letters of a ligature."""
    while point != np.uint64(0):
        value = (value ^ (point & np.uint64(0x7F))) * np.uint64(_PRIME)
        point >>= np.uint64(7)
    return value


@inlined
def _after_mark(data, i, after, end):
    """The place after a character that divides words, after the tag `<...>` or the reference `&...;` that it begins."""
    if data[i] == 0x3C:
        return _after_tag(data, i, after, end)
    if data[i] == 0x26:
        return _after_reference(data, after, end)
    return after


@kernel
def _after_tag(data, i, after, end):
    if after >= end or not (data[after] == 0x2F or 0x61 <= (data[after] | 0x20) <= 0x7A):
        return after
    for k in range(after, min(end, i + _TAG)):
        if data[k] == 0x3E:
            return k + 1
        if data[k] == 0x3C or data[k] == 0x0A:
            break
    return after


@kernel
def _after_reference(data, after, end):
    for k in range(after, min(end, after + _REFERENCE)):
        byte = data[k]
        if byte == 0x3B:
            return k + 1 if k > after else after
        if not (byte == 0x23 or 0x30 <= byte <= 0x39 or 0x61 <= (byte | 0x20) <= 0x7A):
            break
    return after
