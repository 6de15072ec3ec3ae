"""126-bit keys of whole texts, equal for texts that are equal after folding.

The hash is MurmurHash3 x64 128 (Austin Appleby, public domain) without its two highest bits. Any two of n different
texts share a key with a probability of about n * n / 2 ** 127: below 1e-20 for a billion. As with Data-Juicer's MD5,
texts can be made to collide.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import texts
from refinery.kernels.core.blocks import load_word
from refinery.kernels.core.charclass import CODE_POINTS, DIGIT, RE_SPACE, classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.stripping import stripped
from refinery.kernels.core.utf8 import decode, encode
from refinery.kernels.words import words

DROPPED = 1  # bit of a rule, below the code point to write

# DuckDB, Arrow and Parquet all keep this type in 16 bytes; UHUGEINT becomes a DOUBLE in Parquet, UUID a text in Arrow.
KEY = pa.decimal128(38, 0)
HIGHEST = np.uint64(0x3FFFFFFFFFFFFFFF)  # mask of the upper half that keeps keys below 10 ** 38


class FoldingRules(NamedTuple):
    """Rules of folding. code_points: int32, output code point << 1 | DROPPED, -1 for characters that need Python.

    ascii: uint8 (256), the output byte of an ASCII byte. kept: int64 (256), 0 where nothing is written.
    """

    code_points: np.ndarray
    ascii: np.ndarray
    kept: np.ndarray


def text_keys(column: pa.Array | pa.ChunkedArray, lowercase: bool, ignore_non_character: bool) -> pa.Array:
    """Key (DECIMAL(38, 0)) of each text without the white space at its ends (`str.strip`); NULL for NULL.

    lowercase: after `str.lower`. ignore_non_character: then without white space and decimal digits (by the `regex`
    module) and without ASCII punctuation. Texts have equal keys exactly if Data-Juicer 1.6.1 gives them equal MD5 sums
    (whose values differ from these keys).
    """
    view = texts(column)
    keys, left = np.zeros((len(view), 2), np.uint64), np.zeros(len(view), np.bool_)
    if lowercase or ignore_non_character:
        room = np.empty(int(np.diff(view.offsets).max(initial=0)) + 8, np.uint8)
        rules = _rules(lowercase, ignore_non_character)
        _folded_keys(view.data, view.offsets, view.valid, *rules, classes(), room, keys, left)
    else:
        _keys(view.data, view.offsets, view.valid, classes(), keys)
    todo = np.flatnonzero(left)
    if len(todo):
        again = text_keys(words.lowered(view, todo), False, ignore_non_character)
        keys[todo] = np.frombuffer(again.buffers()[1], np.uint64).reshape(-1, 2)
    keys[:, 1] &= HIGHEST
    nulls = int(len(view) - np.count_nonzero(view.valid))
    mask = pa.py_buffer(np.packbits(view.valid, bitorder="little")) if nulls else None
    return pa.Array.from_buffers(KEY, len(view), [mask, pa.py_buffer(keys)], nulls)


@lru_cache(maxsize=4)
def _rules(lowercase: bool, ignore_non_character: bool) -> FoldingRules:
    written = words.tables().code_points >> 2 if lowercase else np.arange(CODE_POINTS, dtype=np.int32)
    known = written >= 0
    dropped = np.zeros(CODE_POINTS, np.int32)
    if ignore_non_character:
        dropped[(classes() & (DIGIT | RE_SPACE)) != 0] = DROPPED
        dropped[[ord(char) for char in string.punctuation]] = DROPPED
    rules = np.full(CODE_POINTS, -1, np.int32)
    rules[known] = written[known] << 1 | dropped[written[known]]
    ascii, kept = np.arange(256).astype(np.uint8), np.ones(256, np.int64)
    ascii[:128], kept[:128] = rules[:128] >> 1, 1 - (rules[:128] & DROPPED)
    return FoldingRules(rules, ascii, kept)


def fold(text: str, lowercase: bool, ignore_non_character: bool) -> str:
    """Fold a text for the hash, in plain Python."""
    import regex

    if lowercase:
        text = text.lower()
    if ignore_non_character:
        text = regex.sub(rf"\s+|\d+|[{re.escape(string.punctuation)}]", "", text)
    return text.strip()


@entry("uint8[] int64[] bool[] uint8[] uint64[,]")
def _keys(data, offsets, valid, class_table, keys):
    for row in range(len(valid)):
        if valid[row]:
            start, end = stripped(data, offsets[row], offsets[row + 1], class_table)
            murmur(data, start, end, keys, row)


@entry("uint8[] int64[] bool[] int32[] uint8[] int64[] uint8[] uint8[] uint64[,] bool[]")
def _folded_keys(data, offsets, valid, rules, ascii, kept, class_table, room, keys, left):
    """Write keys of folded texts; texts with a character without a rule are marked in `left`."""
    for row in range(len(valid)):
        if not valid[row]:
            continue
        length = _fold(data, offsets[row], offsets[row + 1], rules, ascii, kept, room)
        if length < 0:
            left[row] = True
            continue
        start, end = stripped(room, 0, length, class_table)
        murmur(room, start, end, keys, row)


@kernel
def _fold(data, i, end, rules, ascii, kept, room):
    """Write the folded data[i:end] to room[0:]; returns its length, or -1 when a character has no rule."""
    w = 0
    while i < end:
        byte = data[i]
        if byte < 0x80:
            room[w] = ascii[byte]
            w += kept[byte]
            i += 1
            continue
        cp, i = decode(data, i)
        rule = rules[cp]
        if rule < 0:
            return -1
        if not rule & DROPPED:
            w = encode(rule >> 1, room, w)
    return w


# MurmurHash3


@inlined
def _turn(x, bits):
    return x << np.uint64(bits) | x >> np.uint64(64 - bits)


@kernel
def _rest(data, i, end):
    """Up to eight bytes from i on, before `end`, as a word."""
    word = np.uint64(0)
    for k in range(min(np.int64(8), np.int64(end) - np.int64(i))):
        word |= np.uint64(data[i + np.uint64(k)]) << np.uint64(8 * k)
    return word


@kernel
def mixed(x):
    x = (x ^ x >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ x >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ x >> np.uint64(33)


@kernel
def murmur(data, start, end, keys, row):
    """Hash data[start:end] to keys[row]."""
    one, two = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
    low = high = np.uint64(0)
    i, stop, size = np.uint64(start), np.uint64(end), np.uint64(end - start)
    for _ in range((end - start) >> 4):
        low ^= _turn(load_word(data, np.int64(i)) * one, 31) * two
        low = (_turn(low, 27) + high) * np.uint64(5) + np.uint64(0x52DCE729)
        high ^= _turn(load_word(data, np.int64(i + np.uint64(8))) * two, 33) * one
        high = (_turn(high, 31) + low) * np.uint64(5) + np.uint64(0x38495AB5)
        i += np.uint64(16)
    high ^= _turn(_rest(data, i + np.uint64(8), stop) * two, 33) * one
    low ^= _turn(_rest(data, i, stop) * one, 31) * two
    low, high = low ^ size, high ^ size
    low += high
    high += low
    low, high = mixed(low), mixed(high)
    low += high
    keys[row, 0], keys[row, 1] = low, high + low
