"""Repetition of the n-grams of a text's words, as Gopher's filter in datatrove measures it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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
    low_bits,
    within,
)
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.text.piece_stats import lists
from refinery.kernels.words.gopher_duplicates import measure_duplicates
from refinery.kernels.words.gopher_room import Room, room_for
from refinery.kernels.words.gopher_tops import measure_tops

LINE_FEED, BLANK = 0x0A, 0x20

_inner = lanes(lambda x: within(x, 0x80, 0xBF))  # bytes of a character after its first


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
    room = room_for(int(np.max(numbers(n), initial=0)), longest)
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


@entry("uint8[] int64[] bool[] int64[] int64[] Room int64[,] int64[,] uint8[]", Room)
def _measure(data, offsets, valid, tops, duplicates, room, top_sizes, duplicate_sizes, state):
    for row in range(len(valid)):
        begin, end = offsets[row], offsets[row + 1]
        if not valid[row] or begin == end:
            continue
        words = _split(data, begin, end, room)
        if words == 0:
            state[row] = EXACT
            continue
        if len(tops):
            measure_tops(words, tops, room, top_sizes[row])
        if len(duplicates):
            measure_duplicates(words, duplicates, room, duplicate_sizes[row])


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
