"""n-grams of words that a line feed divides, as features of words give them: their keys, and the first one of a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.contamination.gram_table import GramTable, may_have, mixed, value_of
from refinery.kernels.core.arrow import texts
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.words.lexicon import word_key

LINE_FEED = 0x0A
BASE = 0x9E3779B97F4A7C15  # of the polynomial of an n-gram's words; odd


def gram_keys(joined: pa.Array, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys of the n-grams of all texts, and the number of n-grams of each text."""
    view = texts(joined)
    counts = np.zeros(len(view), np.int64)
    keys = np.empty(view.size // 2 + len(view) + 1, np.uint64)
    end = _all_grams(view.data, view.offsets, view.valid, n, _ring(n), keys, counts)
    return keys[:end], counts


def first_grams(joined: pa.Array, n: int, table: GramTable) -> tuple[np.ndarray, list[str | None]]:
    """For each text the value of its first n-gram in the table, -1 for none, and that n-gram, words divided by a blank."""
    view = texts(joined)
    firsts = np.full((len(view), 3), -1, np.int64)
    _first_grams(view.data, view.offsets, view.valid, n, _ring(n), table, firsts)
    grams = [
        view.data[start:end].tobytes().decode().replace("\n", " ") if value >= 0 else None
        for value, start, end in firsts.tolist()
    ]
    return firsts[:, 0], grams


def _ring(n: int) -> np.ndarray:
    """Room for the keys and the begins of the last n words."""
    return np.zeros((2, n), np.uint64)


@entry("uint8[] int64[] bool[] int64 uint64[,] uint64[] int64[] -> int64")
def _all_grams(data, offsets, valid, n, ring, keys, counts):
    w = 0
    power = _power(n)
    for row in range(len(valid)):
        first = w
        i, end = offsets[row], offsets[row + 1]
        words, gram = 0, np.uint64(0)
        while valid[row] and i < end:
            stop = _word_end(data, i, end)
            gram = _next_gram(data, i, stop, words, n, power, ring, gram)
            words += 1
            if words >= n:
                keys[w] = mixed(gram)
                w += 1
            i = stop + 1
        counts[row] = w - first
    return w


@entry("uint8[] int64[] bool[] int64 uint64[,] GramTable int64[,]", GramTable)
def _first_grams(data, offsets, valid, n, ring, table, firsts):
    power = _power(n)
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1]
        words, gram = 0, np.uint64(0)
        while valid[row] and i < end and firsts[row, 0] < 0:
            stop = _word_end(data, i, end)
            gram = _next_gram(data, i, stop, words, n, power, ring, gram)
            words += 1
            if words >= n and may_have(mixed(gram), table):
                firsts[row, 0] = value_of(mixed(gram), table)
                firsts[row, 1] = np.int64(ring[1, words % n])
                firsts[row, 2] = stop
            i = stop + 1


@inlined
def _word_end(data, i, end):
    while i < end and data[i] != LINE_FEED:
        i += 1
    return i


@inlined
def _next_gram(data, start, end, words, n, power, ring, gram):
    """The polynomial of the last n words, with a further word in place of the first one."""
    place = words % n
    key = word_key(data, start, end)
    gram = gram * np.uint64(BASE) + key
    if words >= n:
        gram -= ring[0, place] * power
    ring[0, place] = key
    ring[1, place] = np.uint64(start)
    return gram


@kernel
def _power(n):
    power = np.uint64(1)
    for _ in range(n):
        power *= np.uint64(BASE)
    return power
