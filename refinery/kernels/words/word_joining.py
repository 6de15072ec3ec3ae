"""Kernels that find phrases among the words of adjacent pieces, as `word_rules.joined` does.

`room` has three parts. The first holds the start of each word. The second holds the number of each word among those of
phrases, and later a flag for words inside a phrase. The third holds, for each word, bits for the lengths of the phrases
that begin there, and above them (TAKEN) the length of the chosen phrase.
"""

from __future__ import annotations

from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.utf8 import before, decode
from refinery.kernels.words.lexicon import look_up, word_key
from refinery.kernels.words.word_exceptions import NUMBER, exception, write_parts
from refinery.kernels.words.word_phrases import BESIDE, IS_PHRASE
from refinery.kernels.words.word_pieces import piece_end
from refinery.kernels.words.word_rules import LONGEST_PHRASE, SPACE

BLANK = 0x20
TAKEN = 16


@kernel
def _piece_start(data, i, start, table):
    """Start of the piece that ends at i."""
    while i > start:
        place = before(data, i, start)
        if table[decode(data, place)[0]] & SPACE:
            break
        i = place
    return i


@kernel
def first_beside(data, i, first, table, pairs):
    """Start of the pieces that could share a phrase with the piece at i, each a single U+0020 before the next."""
    for _ in range(LONGEST_PHRASE - 1):
        if i - 2 < first or data[i - 1] != BLANK or not pairs[data[i - 2], data[i]] & BESIDE:
            break
        start = _piece_start(data, i - 1, first, table)
        if start == i - 1:  # more white space
            break
        i = start
    return i


@kernel
def last_beside(data, i, last, table, pairs):
    """End of the pieces that could share a phrase with the piece that ends at i."""
    for _ in range(LONGEST_PHRASE - 1):
        if i + 1 >= last or data[i] != BLANK or not pairs[data[i - 1], data[i + 1]] & BESIDE:
            break
        end = piece_end(data, i + 1, last, table)
        if end == i + 1:
            break
        i = end
    return i


@inlined
def _word_end(data, end, room, i, n):
    """End of word i of n, where the last word ends at `end`; a blank follows the last word of a piece."""
    if i + 1 == n:
        return end
    after = room[i + 1]
    return after - 1 if data[after - 1] == BLANK else after


@kernel
def find_phrases(data, end, known, phrases, room, n):
    """Note the phrases among n words, the last of which ends at `end`; returns True if there is one."""
    third = len(room) // 3
    any_phrase = False
    for i in range(n):
        after = _word_end(data, end, room, i, n)
        room[third + i] = look_up(known, word_key(data, room[i], after), data, room[i], after) >> NUMBER
    for i in range(n):
        state = 0
        lengths = 0
        for k in range(i, n):
            if room[third + k] == 0:
                break
            state = phrases[state, room[third + k]]
            if state == 0:
                break
            if phrases[state, IS_PHRASE]:
                lengths |= 1 << (k + 1 - i)
        room[2 * third + i] = lengths
        any_phrase = any_phrase or lengths != 0
    return any_phrase


@kernel
def take_phrases(data, room, n):
    """Choose among the phrases found: longer phrases first, then earlier ones."""
    third = len(room) // 3
    for i in range(n):
        room[third + i] = 0
    for length in range(min(n, LONGEST_PHRASE), 1, -1):
        for i in range(n - length + 1):
            if not room[2 * third + i] >> length & 1:
                continue
            if room[third + i] == 0 and room[third + i + length - 1] == 0 and not _is_parted(data, room, i, length):
                room[2 * third + i] |= length << TAKEN
            for k in range(i, i + length):
                room[third + k] = 1


@kernel
def _is_parted(data, room, i, length):
    """True if a phrase lies in several pieces."""
    for k in range(i + 1, i + length):
        if data[room[k] - 1] == BLANK:
            return True
    return False


@kernel
def write_phrases(data, end, known, room, i, stop, n):
    """Write words i to `stop` of n to room[0:], chosen phrases in the exception's form; returns their number."""
    third = len(room) // 3
    w = third  # the second part of `room` is no longer needed
    while i < stop:
        length = room[2 * third + i] >> TAKEN
        if length == 0:
            room[w] = room[i]
            w += 1
            i += 1
            continue
        after = _word_end(data, end, room, i + length - 1, n)
        w = write_parts(exception(known, data, room[i], after), room[i], room, w)
        i += length
    for k in range(w - third):
        room[k] = room[third + k]
    return w - third
