"""Starts of the sentences of a text, as spaCy's English tokenizer and sentencizer find them (rules of `word_rules`)."""

from __future__ import annotations

from refinery.kernels.core.jit import inlined, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.words.word_addresses import FULL_STOP
from refinery.kernels.words.word_exceptions import exception
from refinery.kernels.words.word_pieces import blanks_end, piece
from refinery.kernels.words.word_rules import PUNCT, SPACE, TERMINAL
from refinery.kernels.words.word_tokens import cut_piece

BLANK = 0x20


@kernel
def sentence_starts(data, start, end, room, classes, known, pairs, phrases, starts):
    """Write the starts of sentences to `starts`, if it is not empty; returns their number, and what `room` must hold.

    A sentence begins at the first word after a terminal mark that is not punctuation. White space is a word, except a single
    U+0020 behind another word: so a sentence may be blank. What `room` must hold is 0 if it is large enough.
    """
    n = _start(start, starts, 0) if end > start else 0
    seen = False  # a terminal mark in the open sentence
    i = start
    while i < end:
        begin = i
        i = _blank_end(data, i, end, classes)
        if seen and i > begin and not (i == begin + 1 and data[begin] == BLANK and begin > start):
            n = _start(begin, starts, n)
            seen = False
        begin = i
        size, i = piece(data, i, end, classes)
        if i == begin:
            continue
        if not _has_terminal(data, begin + size, i, classes) and (not seen or _is_no_mark(data, begin, size, classes)):
            n = _start(begin, starts, n) if seen else n
            seen = False
            continue
        if _is_word_and_stop(data, begin, size, i, known):
            n = _start(begin, starts, n) if seen else n
            seen = True
            continue
        if 3 * (i - begin) + 3 > len(room):
            return n, 3 * (i - begin) + 3
        count = cut_piece(data, begin, i, start, end, classes, known, pairs, phrases, room)
        if count < 0:
            return n, -count
        for k in range(count):
            stop = room[k + 1] if k + 1 < count else i
            terminal, mark = _kind(data, room[k], stop, classes)
            if seen and not mark:
                n = _start(room[k], starts, n)
                seen = False
            seen = seen or terminal
    return n, 0


@inlined
def _start(place, starts, n):
    if n < len(starts):
        starts[n] = place
    return n + 1


@inlined
def _blank_end(data, i, end, classes):
    while i < end and classes[decode(data, i)[0]] & SPACE:
        i = blanks_end(data, i, end)
    return i


@inlined
def _is_no_mark(data, begin, size, classes):
    """True if the first word of a piece that begins with `size` letters is surely not punctuation alone."""
    return size > 0 or not classes[decode(data, begin)[0]] & PUNCT


@kernel
def _has_terminal(data, i, end, classes):
    while i < end:
        cp, i = decode(data, i)
        if classes[cp] & TERMINAL:
            return True
    return False


@inlined
def _is_word_and_stop(data, begin, size, end, known):
    """True if a piece that begins with `size` letters is one word and a full stop."""
    return (
        size > 1
        and end == begin + size + 1
        and data[end - 1] == FULL_STOP
        and data[end - 2] >= 0x61
        and not exception(known, data, begin, end)
        and not exception(known, data, begin, end - 1)
    )


@kernel
def _kind(data, begin, end, classes):
    """Two flags of a word: a terminal mark; a terminal mark or punctuation alone."""
    cp, i = decode(data, begin)
    if i == end and classes[cp] & TERMINAL:
        return True, True
    while classes[cp] & PUNCT and i < end:
        cp, i = decode(data, i)
    return False, i == end and classes[cp] & PUNCT != 0
