"""Repetition of the n-grams of a text's words, as Gopher's filter in datatrove measures it.

The most frequent n-gram: equal words get the number of the first of them, and an n-gram is the (n - 1)-gram before it and its
last word, so two numbers identify it. Only n-grams whose two (n - 1)-grams both repeat are looked up.

Repeated n-grams are compared as the text of their words without anything between two, which may be cut into words in several
ways. Most words are not followed by the same 16 bytes as any other word is, and no longer n-gram that begins there repeats;
the others are looked up by a hash, a difference of two prefix hashes, and their bytes decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import EXACT, numbers, structs, texts, texts_at
from refinery.kernels.core.blocks import (
    BLOCK,
    blanks,
    copy_block,
    count_set,
    first_set,
    lanes,
    line_feeds,
    load_word,
    low_bits,
    within,
)
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.text.piece_stats import lists
from refinery.kernels.words.lexicon import equal, word_key

LINE_FEED, BLANK = 0x0A, 0x20
UNIQUE = -1  # in place of the first position of an n-gram that occurs once
AHEAD = 16  # bytes that are compared to find the words with which no repeated n-gram begins
GOLDEN, PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)

# An odd number, of which powers weigh the bytes of a prefix hash, and its inverse modulo 2**64.
BASE = 0x9E3779B185EBCA87
INVERSE = pow(BASE, -1, 1 << 64)

_inner = lanes(lambda x: within(x, 0x80, 0xBF))  # bytes of a character after its first


class Room(NamedTuple):
    """Room for a text's words.

    plain: uint8, the words without anything between two. starts: int64 (words + 1), begin of each there, and the end. chars:
    int64 (words + 1), characters of all words before. sums: uint64 (words + 1), the hash of all words before. scales: uint64
    (words), which makes a difference of two hashes independent of its place. ids: int32 (words), the first word that is equal. firsts: int32 (words),
    the first position of the same n-gram, or UNIQUE. counts, others: int32 (words), occurrences of an n-gram by its first
    position. lone: bool (words), no other word is followed by the same AHEAD bytes. keys: uint64 (words), by position. slots:
    int32 (a power of two), 1 + a position, 0 for a free one.
    """

    plain: np.ndarray
    starts: np.ndarray
    chars: np.ndarray
    sums: np.ndarray
    scales: np.ndarray
    ids: np.ndarray
    firsts: np.ndarray
    counts: np.ndarray
    others: np.ndarray
    lone: np.ndarray
    keys: np.ndarray
    slots: np.ndarray


record(Room, "uint8[] int64[] int64[] uint64[] uint64[] int32[] int32[] int32[] int32[] bool[] uint64[] int32[]")


def gopher_repetition(joined: pa.Array, n: pa.Array, tops: Sequence[int], duplicates: Sequence[int]) -> pa.Array:
    """Lists for each text, as a struct; NULL for NULL. joined: words with U+000A between two. n: their number.

    top: for each size of n-grams, characters of the most frequent one (of several the first) with a blank between two
    words, times its count; 0 without any. duplicates: for each size, characters of the n-grams that occurred before, without
    blanks, where the search goes on behind such an n-gram.
    """
    view = texts(joined)
    measures = np.zeros((len(view), len(tops)), np.int64), np.zeros((len(view), len(duplicates)), np.int64)
    state = np.zeros(len(view), np.uint8)
    sizes = np.array(tops, np.int64), np.array(duplicates, np.int64)
    longest = int(np.max(np.diff(view.offsets), initial=0))
    room = _room(int(np.max(numbers(n), initial=0)) + 1, longest)
    _measure(view.data, view.offsets, view.valid, *sizes, room, *measures, state)
    todo = np.flatnonzero(state == EXACT)
    for row, text in zip(todo, texts_at(view, todo), strict=True):
        words = text.split("\n")
        measures[0][row] = [_top(words, size) for size in tops]
        measures[1][row] = [_duplicates(words, size) for size in duplicates]
    return structs(view.valid, top=lists(measures[0]), duplicates=lists(measures[1]))


def _top(words: Sequence[str], n: int) -> int:
    """Measure of one text for which the kernel is not exact: a word with a blank may be mistaken for two."""
    grams = Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
    return sum(len(gram) * count for gram, count in grams.most_common(1))


def _duplicates(words: Sequence[str], n: int) -> int:
    seen: set[str] = set()
    total = i = 0
    while i + n <= len(words):
        gram = "".join(words[i : i + n])
        total += len(gram) * (gram in seen)
        i += n if gram in seen else 1
        seen.add(gram)
    return total


def _room(words: int, size: int) -> Room:
    ids, firsts, counts, others = (np.empty(words, np.int32) for _ in range(4))
    return Room(
        plain=np.empty(size + 2 * BLOCK, np.uint8),
        starts=np.empty(words + 1, np.int64),
        chars=np.empty(words + 1, np.int64),
        sums=np.empty(words + 1, np.uint64),
        scales=np.empty(words + 1, np.uint64),
        ids=ids,
        firsts=firsts,
        counts=counts,
        others=others,
        lone=np.empty(words, np.bool_),
        keys=np.empty(words, np.uint64),
        slots=np.empty(1 << _bits(words), np.int32),
    )


@entry("int64 -> int64")
def _bits(words):
    """Bits that number the slots for so many words."""
    bits = 4
    while (1 << bits) < 2 * words:
        bits += 1
    return bits


@entry("uint8[] int64[] bool[] int64[] int64[] Room int64[,] int64[,] uint8[]", Room)
def _measure(data, offsets, valid, tops, duplicates, room, top_sizes, duplicate_sizes, state):
    most = np.int64(0)
    for k in range(len(tops)):
        most = max(most, tops[k])
    for row in range(len(valid)):
        begin, end = offsets[row], offsets[row + 1]
        if not valid[row] or begin == end:
            continue
        words = _split(data, begin, end, room)
        if words == 0:
            state[row] = EXACT
            continue
        if most:
            _measure_tops(words, most, tops, room, top_sizes[row])
        if len(duplicates):
            _find_lone(words, room)
            _hash(words, room)
        for k in range(len(duplicates)):
            duplicate_sizes[row, k] = _repeated(words, duplicates[k], room)


@kernel
def _split(data, i, end, room):
    """Fill in the words, their starts and characters; returns their number, 0 if any of them holds a blank."""
    words = w = chars = 0
    room.starts[0] = room.chars[0] = 0
    while i < end:
        if i + BLOCK <= len(data):
            size = min(first_set(line_feeds(data, i)), end - i)
            here = low_bits(size)
            if blanks(data, i) & here:
                return 0
            copy_block(data, i, room.plain, w)
            chars += size - count_set(_inner(data, i) & here)
            i, w = i + size, w + size
            if size == BLOCK:
                continue
        while i < end and data[i] != LINE_FEED:
            if data[i] == BLANK:
                return 0
            room.plain[w] = data[i]
            chars += (data[i] & 0xC0) != 0x80
            i, w = i + 1, w + 1
        i, words = i + 1, words + 1
        room.starts[words], room.chars[words] = w, chars
    return words


@kernel
def _measure_tops(words, most, sizes, room, tops):
    """Measure the most frequent n-gram of each size, from n = 1 up."""
    best, count = _number(words, room)
    counts, others = room.counts, room.others
    for n in range(1, min(most, words) + 1):
        if n > 1:
            best, count = _join(words - n + 1, n, counts, others, room) if count > 1 else (0, 1)
            counts, others = others, counts
        for k in range(len(sizes)):
            if sizes[k] == n:
                tops[k] = (room.chars[best + n] - room.chars[best] + n - 1) * count


@kernel
def _number(words, room):
    """Number the words by the first equal one, and count the equal ones; returns the most frequent one and its count."""
    bits = _bits(words)
    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
    room.slots[: 1 << bits] = 0
    best, most = 0, 1
    for k in range(words):
        begin, end = room.starts[k], room.starts[k + 1]
        key = word_key(room.plain, begin, end)
        slot = np.int64((key * GOLDEN) >> shift)
        while True:
            first = room.slots[slot] - 1
            if first < 0:
                room.slots[slot], room.keys[k] = k + 1, key
                room.ids[k] = room.firsts[k] = k
                room.counts[k] = 1
                break
            if room.keys[first] == key and equal(
                room.plain, begin, end, room.plain, room.starts[first], room.starts[first + 1]
            ):
                room.ids[k] = room.firsts[k] = first
                best, most = _counted(first, best, most, room.counts)
                break
            slot = (slot + 1) & mask
    return best, most


@inlined
def _counted(first, best, most, counts):
    """Count an occurrence; returns the most frequent n-gram, of several the first, and its count."""
    counts[first] += 1
    if counts[first] > most or (counts[first] == most and first < best):
        return np.int64(first), np.int64(counts[first])
    return np.int64(best), np.int64(most)


@kernel
def _join(grams, n, counts, others, room):
    """Replace the first positions of (n - 1)-grams by those of n-grams, and write their counts to `others`.

    Returns the most frequent n-gram, of several the first, and its count.
    """
    bits = _bits(grams)
    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
    room.slots[: 1 << bits] = 0
    best, most = 0, 1
    for i in range(grams):
        before, behind = room.firsts[i], room.firsts[i + 1]
        if before == UNIQUE or behind == UNIQUE or counts[before] == 1 or counts[behind] == 1:
            room.firsts[i] = UNIQUE
            continue
        key = (np.uint64(before) << np.uint64(32)) | np.uint64(room.ids[i + n - 1])
        slot = np.int64((key * GOLDEN) >> shift)
        while True:
            first = room.slots[slot] - 1
            if first < 0:
                room.slots[slot], room.keys[i] = i + 1, key
                room.firsts[i] = i
                others[i] = 1
                break
            if room.keys[first] == key:
                room.firsts[i] = first
                best, most = _counted(first, best, most, others)
                break
            slot = (slot + 1) & mask
    return best, most


@kernel
def _find_lone(words, room):
    """Mark the words that no other word equals in its AHEAD bytes, those of the words behind it among them."""
    bits = _bits(words)
    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
    room.slots[: 1 << bits] = 0
    for k in range(words):
        low, high = load_word(room.plain, room.starts[k]), load_word(room.plain, room.starts[k] + AHEAD // 2)
        slot = np.int64(((low * GOLDEN) ^ (high * PRIME)) * GOLDEN >> shift)
        room.lone[k] = True
        while True:
            first = room.slots[slot] - 1
            if first < 0:
                room.slots[slot] = k + 1
                break
            at = room.starts[first]
            if load_word(room.plain, at) == low and load_word(room.plain, at + AHEAD // 2) == high:
                room.lone[k] = room.lone[first] = False
                break
            slot = (slot + 1) & mask


@kernel
def _hash(words, room):
    """Fill in sums and scales."""
    total, power, inverse = np.uint64(0), np.uint64(1), np.uint64(1)
    for k in range(words):
        room.sums[k], room.scales[k] = total, inverse
        for i in range(room.starts[k], room.starts[k + 1]):
            total += power * np.uint64(room.plain[i])
            power *= np.uint64(BASE)
            inverse *= np.uint64(INVERSE)
    room.sums[words] = total


@kernel
def _repeated(words, n, room):
    """Characters of the n-grams that occurred before; the search goes on behind such an n-gram."""
    grams = words - n + 1
    if grams < 2:
        return 0
    bits = _bits(grams)
    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
    room.slots[: 1 << bits] = 0
    total = i = 0
    while i < grams:
        begin, end = room.starts[i], room.starts[i + n]
        if room.lone[i] and end - begin >= AHEAD:
            i += 1
            continue
        key = (room.sums[i + n] - room.sums[i]) * room.scales[i]
        slot = np.int64((key * GOLDEN) >> shift)
        while True:
            first = room.slots[slot] - 1
            if first < 0:
                room.slots[slot], room.keys[i] = i + 1, key
                i += 1
                break
            if room.keys[first] == key and equal(
                room.plain, begin, end, room.plain, room.starts[first], room.starts[first + n]
            ):
                total += room.chars[i + n] - room.chars[i]
                i += n
                break
            slot = (slot + 1) & mask
    return total
