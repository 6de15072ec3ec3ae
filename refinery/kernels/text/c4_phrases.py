"""Phrases for which C4 drops a line or a page, searched as in the text's lower case."""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.blocks import BLOCK, all_of, any_of, first_set, is_byte, lanes, low_bits
from refinery.kernels.core.jit import kernel

LOREM, JAVASCRIPT, POLICY = 1, 2, 4

# Phrases by kind. Only a part of them is searched first: three letters, at a place in the phrase.
PHRASES = (
    ("lorem ipsum", LOREM, 0),
    ("javascript", JAVASCRIPT, 2),
    ("terms of use", POLICY, 2),
    ("privacy policy", POLICY, 3),
    ("cookie policy", POLICY, 0),
    ("uses cookies", POLICY, 5),
    ("use of cookies", POLICY, 7),
    ("use cookies", POLICY, 4),
)

CITATIONS = ("[edit]", "[citation needed]")  # beside digits in brackets

LETTER_K = 0x6B  # also the lower case of U+212A, the sign of a unit


def _part(x, y, z, letters):
    return all_of(*(is_byte(block | 0x20, letters[at : at + 1]) for at, block in enumerate((x, y, z))))


_parts = lanes(lambda x, y, z: any_of(*(_part(x, y, z, part) for part in (b"lor", b"vas", b"rms", b"vac", b"coo"))))


def tables() -> tuple[np.ndarray, np.ndarray]:
    """Phrases and citations: their letters, uint8 (phrases, most letters), 0 behind; and size, kind, place of the part."""
    rows = [*PHRASES, *((citation, 0, 0) for citation in CITATIONS)]
    letters = np.zeros((len(rows), 1 + max(len(phrase) for phrase, _, _ in rows)), np.uint8)
    for row, (phrase, _, _) in enumerate(rows):
        letters[row, : len(phrase)] = list(phrase.encode())
    return letters, np.array([(len(phrase), kind, place) for phrase, kind, place in rows], np.int64)


@kernel
def find_phrases(data, start, end, letters, facts):
    """Kinds of the phrases in data[start:end], as bits."""
    kinds = 0
    i = start
    while i < end:
        if i + BLOCK + 2 <= len(data):
            hits = _parts(data, i) & low_bits(min(BLOCK, end - i))
            while hits:
                kinds |= _kinds_at(data, start, i + first_set(hits), end, letters, facts)
                hits &= hits - np.uint64(1)
            i += BLOCK
        else:
            kinds |= _kinds_at(data, start, i, end, letters, facts)
            i += 1
    return kinds


@kernel
def _kinds_at(data, start, at, end, letters, facts):
    """Kinds of the phrases of which the part is at `at`."""
    kinds = 0
    for row in range(len(facts)):
        begin = at - facts[row, 2]
        if facts[row, 1] and begin >= start and _is_at(data, begin, end, letters[row]):
            kinds |= facts[row, 1]
    return kinds


@kernel
def _is_at(data, i, end, letters):
    """True if the lower case of the text from i on begins with these letters, which a 0 follows."""
    k = 0
    while letters[k] != 0:
        if i >= end:
            return False
        byte = data[i]
        if 0x41 <= byte <= 0x5A:
            byte |= 0x20
        if byte == letters[k]:
            i += 1
        elif letters[k] == LETTER_K and i + 3 <= end and byte == 0xE2 and data[i + 1] == 0x84 and data[i + 2] == 0xAA:
            i += 3
        else:
            return False
        k += 1
    return True
