"""Pieces of text that are known as they stand, in kernels: what `word_rules` lists, found by their bytes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from refinery.kernels import word_rules
from refinery.kernels.jit import inlined, kernel
from refinery.kernels.lexicon import FIRST, LAST, Lexicon, find, lexicon, word_key
from refinery.kernels.word_rules import LONGEST_RUN

# Kinds of an entry of the lexicon, and where its words end: in the bits from 8, 16 and 24 on, after the first and the
# second word, and of the last one.
EXCEPTION, CUT, UNIT = 1, 2, 4


def _pairs(cut: Iterable[str]) -> np.ndarray:
    """uint8 (256, 256): whether there is an exception, cut by the rules, of which two words in a row may begin so."""
    found = np.zeros((256, 256), np.uint8)
    for text in cut:
        first, *others = (char.encode()[0] for char in text)
        found[first, others] = 1
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


@inlined
def exception(known, data, start, end):
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
    return find(keys, entries, texts, key, data, start, end)


@kernel
def write_parts(value, start, room, n):
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
def joined(data, start, end, known, pairs, room, n):
    """Put runs of words that are an exception into its form; how many words there are then."""
    third = len(room) // 3
    found = False
    for i in range(n):
        room[third + i] = 0  # whether the word belongs to a run
        room[2 * third + i] = 0  # how many words the run that begins here has, if it is taken
    for length in range(min(n, LONGEST_RUN), 1, -1):
        for i in range(n - length + 1):
            if not pairs[data[room[i]], data[room[i + 1]]]:
                continue
            stop = room[i + length] if i + length < n else end
            if not exception(known, data, room[i], stop) & CUT:
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
        w = write_parts(exception(known, data, room[i], stop), room[i], room, w)
        i += length
    for k in range(w - third):
        room[k] = room[third + k]
    return w - third
