"""Repetition of the n-grams of a text's words, as Gopher's filter in datatrove measures it.

The most frequent n-gram: equal words get the number of the first of them, and an n-gram is the (n - 1)-gram before it and its
last word, so two numbers identify it. Only n-grams whose two (n - 1)-grams both repeat are looked up.

Repeated n-grams are compared as the text of their words without anything between two, which may be cut into words in several
ways. So bytes bound them first: most words are not followed by the same 16, 24, 32 or 48 bytes as any other word is, and no
n-gram of so many bytes that begins there repeats. The others are looked up by a hash, and their bytes decide.
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
from refinery.kernels.words.lexicon import WORD, equal, word_key

LINE_FEED, BLANK = 0x0A, 0x20
AHEAD, FARTHEST = 16, 48  # bytes behind a word that are compared with those behind other words, first and last
NEVER = 1 << 31  # more bytes than an n-gram has
REPEATED = 3  # note of a hash that occurs more than once
ONE = np.uint64(1)
GOLDEN, PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)

_inner = lanes(lambda x: within(x, 0x80, 0xBF))  # bytes of a character after its first


class Room(NamedTuple):
    """Room for a text's words.

    plain: uint8, the words without anything between two. starts: int64 (words + 1), begin of each there, and the end. chars:
    int64 (words + 1), characters of all words before. ids: uint32 (words), the first word that is equal. firsts: uint32 (words
    + 1), the first position of the same n-gram; `words` stands for an n-gram that occurs once. counts, others: uint32 (words +
    1), occurrences of an n-gram by its first position. places: uint32 (words), n-grams that may repeat. bounds: uint32 (words),
    bytes from which on no n-gram that begins with the word repeats. spots: uint32 (words), places in `notes`. notes: uint8 (a
    power of two), how often a hash occurs: 0, 1, or REPEATED. keys: uint64 (words), by position. slots: uint32 (a power of
    two), 1 + a position, 0 for a free one. Indexes are unsigned: others would have to be checked for negative ones.
    """

    plain: np.ndarray
    starts: np.ndarray
    chars: np.ndarray
    ids: np.ndarray
    firsts: np.ndarray
    counts: np.ndarray
    others: np.ndarray
    places: np.ndarray
    bounds: np.ndarray
    spots: np.ndarray
    notes: np.ndarray
    keys: np.ndarray
    slots: np.ndarray


record(
    Room,
    "uint8[] int64[] int64[] uint32[] uint32[] uint32[] uint32[] uint32[] uint32[] uint32[] uint8[] uint64[] uint32[]",
)


def gopher_repetition(joined: pa.Array, n: pa.Array, tops: Sequence[int], duplicates: Sequence[int]) -> pa.Array:
    """Lists for each text, as a struct; NULL for NULL. joined: words with U+000A between two. n: their number.

    top: for each size of n-grams, characters of the most frequent one (of several the first) with a blank between two
    words, times its count; 0 without any. duplicates: for each size, characters of the n-grams that occurred before, without
    blanks, where the search goes on behind such an n-gram.
    """
    view = texts(joined)
    measures = np.zeros((len(view), len(tops)), np.int64), np.zeros((len(view), len(duplicates)), np.int64)
    state = np.zeros(len(view), np.uint8)
    order = np.argsort(
        duplicates, kind="stable"
    )  # ascending: a longer n-gram repeats only where the bytes of a shorter one do
    sizes = np.array(tops, np.int64), np.array(duplicates, np.int64)[order]
    longest = int(np.max(np.diff(view.offsets), initial=0))
    room = _room(int(np.max(numbers(n), initial=0)) + 1, longest)
    _measure(view.data, view.offsets, view.valid, *sizes, room, *measures, state)
    measures[1][:, order] = measures[1].copy()
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
    ids, firsts, counts, others, places, bounds, spots = (np.empty(words + 1, np.uint32) for _ in range(7))
    return Room(
        plain=np.zeros(size + 4 * BLOCK, np.uint8),
        starts=np.empty(words + 1, np.int64),
        chars=np.empty(words + 1, np.int64),
        ids=ids,
        firsts=firsts,
        counts=counts,
        others=others,
        places=places,
        bounds=bounds,
        spots=spots,
        notes=np.empty(1 << _bits(2 * words), np.uint8),
        keys=np.empty(words, np.uint64),
        slots=np.empty(1 << _bits(words), np.uint32),
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
            _measure_duplicates(words, duplicates, room, duplicate_sizes[row])


@kernel
def _split(data, i, end, room):
    """Fill in the words, their starts and characters; returns their number, 0 if any of them holds a blank."""
    words = w = inner = 0
    room.starts[0] = room.chars[0] = 0
    while i + 2 * BLOCK <= len(data) and i < end:
        size = min(BLOCK, end - i)
        here = low_bits(size)
        if blanks(data, i) & here:
            return 0
        feeds, within_chars = line_feeds(data, i) & here, _inner(data, i) & here
        begin = np.int64(0)
        while feeds:
            stop = first_set(feeds)
            copy_block(data, i + begin, room.plain, w)
            w += stop - begin
            words += 1
            before = count_set(within_chars & low_bits(stop)) if within_chars else 0
            room.starts[words], room.chars[words] = w, w - inner - before
            begin = stop + 1
            feeds &= feeds - np.uint64(1)
        copy_block(data, i + begin, room.plain, w)
        w += size - begin
        inner += count_set(within_chars)
        i += size
    while i < end:
        if data[i] == BLANK:
            return 0
        if data[i] == LINE_FEED:
            words += 1
            room.starts[words], room.chars[words] = w, w - inner
        else:
            room.plain[w] = data[i]
            inner += (data[i] & 0xC0) == 0x80
            w += 1
        i += 1
    words += 1
    room.starts[words], room.chars[words] = w, w - inner
    return words


@kernel
def _measure_tops(words, most, sizes, room, tops):
    """Measure the most frequent n-gram of each size, from n = 1 up."""
    best, count = _number(words, room)
    counts, others = room.counts, room.others
    room.firsts[words] = words
    counts[words] = others[words] = 1
    candidates = words
    for n in range(1, min(most, words) + 1):
        if n > 1:
            candidates = _still_repeated(words - n + 1, words, n, candidates, counts, room) if count > 1 else 0
            best, count = _join(n, candidates, others, room)
            counts, others = others, counts
        for k in range(len(sizes)):
            if sizes[k] == n:
                tops[k] = (room.chars[best + n] - room.chars[best] + n - 1) * count


@kernel
def _number(words, room):
    """Number the words by the first equal one, and count the equal ones; returns the most frequent one and its count."""
    bits = _bits(words)
    shift, mask = np.uint64(64 - bits), (ONE << np.uint64(bits)) - ONE
    room.slots[: 1 << bits] = 0
    best, most = 0, 1
    for k in range(words):
        begin, end = room.starts[k], room.starts[k + 1]
        if end - begin <= WORD:
            key = load_word(room.plain, begin) & low_bits(8 * (end - begin))
        else:
            key = word_key(room.plain, begin, end)
        slot = (key * GOLDEN) >> shift
        while True:
            first = np.int64(room.slots[slot]) - 1
            if first < 0:
                room.slots[slot], room.keys[k] = k + 1, key
                room.ids[k] = room.firsts[k] = k
                room.counts[k] = 1
                break
            if room.keys[first] == key and _is_same(room, begin, end, room.starts[first], room.starts[first + 1]):
                room.ids[k] = room.firsts[k] = first
                best, most = _counted(first, best, most, room.counts)
                break
            slot = (slot + ONE) & mask
    return best, most


@inlined
def _is_same(room, begin, end, other, other_end):
    """True if two words of the same key are equal; that of a short word is the word itself."""
    if end - begin <= WORD:
        return end - begin == other_end - other
    return equal(room.plain, begin, end, room.plain, other, other_end)


@inlined
def _counted(first, best, most, counts):
    """Count an occurrence; returns the most frequent n-gram, of several the first, and its count."""
    count = np.int64(counts[first]) + 1
    counts[first] = count
    if count > most or (count == most and first < best):
        return np.int64(first), count
    return np.int64(best), np.int64(most)


@kernel
def _still_repeated(grams, words, n, candidates, counts, room):
    """Leave those of the candidates whose two (n - 1)-grams repeat; returns their number.

    The candidates are `places`, for n = 2 all words. n-grams that are left out get `words` in `firsts`.
    """
    left = 0
    for k in range(candidates):
        i = np.uint64(k) if n == 2 else np.uint64(room.places[k])
        if i >= np.uint64(grams):
            break
        repeats = counts[room.firsts[i]] > 1 and counts[room.firsts[i + ONE]] > 1
        room.places[left] = i
        left += repeats
        if not repeats:
            room.firsts[i] = words
    return left


@kernel
def _join(n, candidates, others, room):
    """Replace the first positions of the candidates' (n - 1)-grams by those of n-grams, and write their counts to `others`.

    Returns the most frequent n-gram, of several the first, and its count.
    """
    bits = _bits(candidates)
    shift, mask = np.uint64(64 - bits), (ONE << np.uint64(bits)) - ONE
    room.slots[: 1 << bits] = 0
    best, most = 0, 1
    for k in range(candidates):
        i = np.uint64(room.places[k])
        key = (np.uint64(room.firsts[i]) << np.uint64(32)) | np.uint64(room.ids[i + np.uint64(n - 1)])
        slot = (key * GOLDEN) >> shift
        while True:
            first = np.int64(room.slots[slot]) - 1
            if first < 0:
                room.slots[slot], room.keys[i] = i + ONE, key
                room.firsts[i] = i
                others[i] = 1
                break
            if room.keys[first] == key:
                room.firsts[i] = first
                best, most = _counted(first, best, most, others)
                break
            slot = (slot + ONE) & mask
    return best, most


@kernel
def _measure_duplicates(words, sizes, room, measures):
    """Measure the repeated n-grams of each size, from the smallest up."""
    _bound(words, room)
    candidates = 0
    for i in range(words - sizes[0] + 1):
        room.places[candidates] = i
        candidates += room.starts[i + sizes[0]] - room.starts[i] < room.bounds[i]
    for k in range(len(sizes)):
        measures[k], candidates = _repeated(words, sizes[k], candidates, room)


@kernel
def _bound(words, room):
    """Fill in `bounds`."""
    shift = _clear_notes(words, room)
    for k in range(words):
        at = room.starts[k]
        key = (load_word(room.plain, at) * GOLDEN) ^ (load_word(room.plain, at + WORD) * PRIME)
        _note(room, k, (key * GOLDEN) >> shift)
    left = 0
    for k in range(words):
        room.bounds[k] = AHEAD
        room.places[left] = k
        left += room.notes[room.spots[k]] == REPEATED
    size = AHEAD
    while left > 0 and size < FARTHEST:
        left, size = _bound_further(left, size, size + (WORD if size < 2 * AHEAD else 2 * WORD), room)
    for k in range(left):
        room.bounds[room.places[k]] = NEVER


@kernel
def _bound_further(candidates, size, more, room):
    """Leave the candidates that are followed by the same `more` bytes as another is, not only by `size`.

    Returns their number, and `more`. A place among the notes stands for the first `size` bytes.
    """
    shift = _clear_notes(candidates, room)
    for k in range(candidates):
        i = np.uint64(room.places[k])
        at = room.starts[i] + size
        key = np.uint64(room.spots[i]) * PRIME ^ load_word(room.plain, at)
        key = (key ^ (key >> np.uint64(32))) * PRIME ^ load_word(room.plain, room.starts[i] + more - WORD)
        _note(room, i, (key * GOLDEN) >> shift)
    left = 0
    for k in range(candidates):
        i = np.uint64(room.places[k])
        room.bounds[i] = more
        room.places[left] = i
        left += room.notes[room.spots[i]] == REPEATED
    return left, more


@inlined
def _clear_notes(count, room):
    """Make room for notes of so many hashes; returns by how many bits a hash is shifted to be a place."""
    bits = _bits(2 * count)
    room.notes[: 1 << bits] = 0
    return np.uint64(64 - bits)


@inlined
def _note(room, i, spot):
    """Note that a hash occurs, and its place for the word i."""
    room.spots[i] = spot
    room.notes[spot] = (room.notes[spot] << 1 | 1) & REPEATED


@kernel
def _repeated(words, n, candidates, room):
    """Characters of the n-grams that occurred before, and the number of candidates that are left for longer n-grams.

    The search goes on behind an n-gram that occurred before.
    """
    bits = _bits(candidates)
    shift, mask = np.uint64(64 - bits), (ONE << np.uint64(bits)) - ONE
    room.slots[: 1 << bits] = 0
    total = left = 0
    behind, grams = np.uint64(0), np.uint64(max(words - n + 1, 0))
    for k in range(candidates):
        i = np.uint64(room.places[k])
        if i >= grams:
            break
        after = i + np.uint64(n)
        begin, end = room.starts[i], room.starts[after]
        if end - begin >= room.bounds[i]:
            continue
        room.places[left] = i
        left += 1
        if i < behind:
            continue
        key = word_key(room.plain, begin, end)
        slot = (key * GOLDEN) >> shift
        while True:
            first = np.int64(room.slots[slot]) - 1
            if first < 0:
                room.slots[slot], room.keys[i] = i + ONE, key
                break
            if room.keys[first] == key and equal(
                room.plain, begin, end, room.plain, room.starts[first], room.starts[first + n]
            ):
                total += room.chars[after] - room.chars[i]
                behind = after
                break
            slot = (slot + ONE) & mask
    return total, left
