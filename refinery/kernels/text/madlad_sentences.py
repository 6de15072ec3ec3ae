"""Sentences of a text and the rules of MADLAD-400 that they break, as datamap-rs applies them (rules 2 to 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.utf8 import decode
from refinery.kernels.text.short_patterns import Patterns, holds_any
from refinery.kernels.unicode.word_break import ALNUM, INK, UPPERCASE
from refinery.kernels.unicode.word_segments import segment

LIST_CASE, LENGTH, TECHNICAL, CURSED = 1 << 2, 1 << 3, 1 << 4, 1 << 5  # bits of rules


class Limits(NamedTuple):
    """Limits of the rules, float64 each of one number.

    case_words, case_share: rule 2, words of a sentence and share of those with a capital. shortest, longest: rule 3, bytes.
    technical_share: rule 4, technical characters per byte.
    """

    case_words: np.ndarray
    case_share: np.ndarray
    shortest: np.ndarray
    longest: np.ndarray
    technical_share: np.ndarray


record(Limits, " ".join(["float64[]"] * len(Limits._fields)))


@entry(
    "uint8[] int64[] bool[] int64 Limits Patterns uint16[] uint64[] int64[] uint8[] int64[,] -> int64", Limits, Patterns
)
def find_sentences(data, offsets, valid, wanted, limits, patterns, properties, state, counts, rules, bounds):
    """Write begin and end of each sentence and the bits of rules of `wanted` that it breaks; counts: sentences of each text.

    Returns the number of sentences, of which those without room are not written.
    """
    used = 0
    for row in range(len(valid)):
        begin, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        before = used
        while begin < end:
            stop, following = _sentence(data, begin, end, properties)
            if _has_ink(data, begin, stop, properties):
                if used < len(rules):
                    bounds[0, used], bounds[1, used] = begin, stop
                    rules[used] = _broken(data, begin, stop, wanted, limits, patterns, properties, state)
                used += 1
            begin = following
        counts[row] = used - before
    return used


@kernel
def _sentence(data, i, end, properties):
    """End of the sentence that begins at i, and the start of the next: behind marks and the white space that follows."""
    while i < end:
        if not _is_mark(data[i]):
            i += 1
            continue
        stop = i
        while i < end and _is_mark(data[i]):
            i += 1
        after = _after_blanks(data, i, end, properties)
        if after > i:
            return stop, after
    return end, end


@inlined
def _is_mark(byte):
    return byte == 0x2E or byte == 0x21 or byte == 0x3F


@kernel
def _after_blanks(data, i, end, properties):
    while i < end:
        cp, after = decode(data, i)
        if properties[cp] & INK:
            return i
        i = after
    return end


@kernel
def _has_ink(data, start, end, properties):
    return _after_blanks(data, start, end, properties) < end


@kernel
def _broken(data, start, end, wanted, limits, patterns, properties, state):
    size = end - start
    broken = 0
    if wanted & LIST_CASE:
        words, capitals = _capitals(data, start, end, properties)
        if words >= limits.case_words[0] and capitals > limits.case_share[0] * words:
            broken |= LIST_CASE
    if wanted & LENGTH and (size < limits.shortest[0] or size > limits.longest[0]):
        broken |= LENGTH
    if wanted & TECHNICAL and _technical(data, start, end) / size > limits.technical_share[0]:
        broken |= TECHNICAL
    if wanted & CURSED and holds_any(data, start, end, patterns, state):
        broken |= CURSED
    return broken


@kernel
def _capitals(data, i, end, properties):
    """Number of words, and of those that begin with an upper-case letter."""
    words = capitals = 0
    while i < end:
        first = properties[decode(data, i)[0]]
        i, held = segment(data, i, end, properties)
        if held & ALNUM:
            words += 1
            capitals += first & UPPERCASE != 0
    return words, capitals


@kernel
def _technical(data, start, end):
    """Number of digits and of the characters { } + / ( ) >."""
    count = 0
    for i in range(start, end):
        byte = data[i]
        marks = byte == 0x7B or byte == 0x7D or byte == 0x2B or byte == 0x28 or byte == 0x29 or byte == 0x3E
        count += marks or 0x2F <= byte <= 0x39
    return count
