"""Phrases among the words of pieces that stand side by side, in kernels: what `word_rules.joined` does.

`room` is in three parts. In the first stands where each word begins; in the second the number of each word among those of
phrases, and later whether a phrase has it; in the third, for each word, bits for the lengths of the phrases that begin there, and
above them (TAKEN) the length of the one that is taken.
"""

from __future__ import annotations

from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.utf8 import before, decode
from refinery.kernels.words.lexicon import look_up, word_key
from refinery.kernels.words.word_exceptions import NUMBER, exception, write_parts
from refinery.kernels.words.word_phrases import BESIDE, IS_PHRASE
from refinery.kernels.words.word_rules import LONGEST_PHRASE, SPACE

BLANK = 0x20
TAKEN = 16


@kernel
def piece_end(data, i, end, table):
    """Where the next white space from i on is, or the end."""
    while i < end:
        cp, after = decode(data, i)
        if table[cp] & SPACE:
            break
        i = after
    return i


@kernel
def _piece_start(data, i, start, table):
    """Where the piece that ends at i begins."""
    while i > start:
        place = before(data, i, start)
        if table[decode(data, place)[0]] & SPACE:
            break
        i = place
    return i


@kernel
def first_beside(data, i, first, table, pairs):
    """Where the pieces begin that could share a phrase with the one at i: each a single U+0020 before the next."""
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
    """Where the pieces end that could share a phrase with the one that ends at i."""
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
    """Where word i of n ends, of which the last ends at `end`; behind the last of a piece is a blank."""
    if i + 1 == n:
        return end
    after = room[i + 1]
    return after - 1 if data[after - 1] == BLANK else after


@kernel
def find_phrases(data, end, known, phrases, room, n):
    """Note the phrases among n words, of which the last ends at `end`; whether there is one."""
    third = len(room) // 3
    found = False
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
        found = found or lengths != 0
    return found


@kernel
def take_phrases(data, room, n):
    """Choose among the phrases that were found: longer ones first, then earlier ones."""
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
    """Whether a phrase lies in several pieces."""
    for k in range(i + 1, i + length):
        if data[room[k] - 1] == BLANK:
            return True
    return False


@kernel
def write_phrases(data, end, known, room, i, stop, n):
    """Write the words from i to `stop`, of n, to room[0:], phrases that are taken in the exception's form; how many."""
    third = len(room) // 3
    w = third  # nobody asks any more what a phrase has
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
