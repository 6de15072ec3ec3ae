"""C4's rules for the lines of texts, as datatrove has them: lines are dropped, and the rest of a text is judged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import CHANGED, strings, structs, texts
from refinery.kernels.core.blocks import BLOCK, equal_to, first_set
from refinery.kernels.core.charclass import classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.stripping import stripped
from refinery.kernels.core.utf8 import copy, decode, same
from refinery.kernels.text.c4_phrases import JAVASCRIPT, LOREM, POLICY, find_phrases, tables
from refinery.kernels.text.sentence_starts import sentence_starts
from refinery.kernels.text.split_lines import next_line
from refinery.kernels.words import mark_characters
from refinery.kernels.words.lexicon import Lexicon
from refinery.kernels.words.mark_characters import DECIMAL
from refinery.kernels.words.word_exceptions import rules
from refinery.kernels.words.word_pieces import blanks_end, piece_end

FIELDS = ("lines", "kept_lines", "sentences", "lorem_ipsum", "curly_bracket")
LINES, KEPT_LINES, SENTENCES, LOREM_IPSUM, CURLY_BRACKET = range(len(FIELDS))

# Places of the rules
MOST_CHARS, CITATIONS, ENDS, FEWEST_WORDS, LOREM_RULE, JAVASCRIPT_RULE, BRACKET_RULE, POLICY_RULE, COUNT = range(9)

ROOM = 3 * 4096 + 3
LINE_FEED, OPENING, CLOSING, CURLY, STOP = 0x0A, 0x5B, 0x5D, 0x7B, 0x2E
DROPPED, KEPT, LOREM_FOUND, CURLY_FOUND = range(4)


class Tables(NamedTuple):
    """Classes of characters, tables of the rules for English words, and C4's phrases."""

    spaces: np.ndarray
    marks: np.ndarray
    classes: np.ndarray
    pairs: np.ndarray
    phrases: np.ndarray
    letters: np.ndarray
    facts: np.ndarray


record(Tables, "uint8[] uint8[] uint32[] uint8[,] int16[,] uint8[,] int64[,]")


@lru_cache(maxsize=1)
def _tables() -> tuple[Lexicon, Tables]:
    own = rules()
    return own.lexicon, Tables(classes(), mark_characters.classes(), own.classes, own.pairs, own.phrases, *tables())


def c4_lines(column: pa.Array | pa.ChunkedArray, chosen: Sequence[int], by_sentence: bool) -> pa.Array:
    """The rest of each text, and counts, as a struct; NULL for NULL.

    chosen: values of the rules, by their places; -1 and 0 as in datatrove. by_sentence: judge the sentences of a text in place
    of its lines. delta: the lines that are left, NULL where they are the text itself. lines, kept_lines; sentences: of kept
    lines. lorem_ipsum, curly_bracket: 1 if such a line ended the search.
    """
    view = texts(column)
    rows = len(view)
    counts, state = np.zeros((rows, len(FIELDS)), np.int64), np.zeros(rows, np.uint8)
    out, ends = np.empty(2 * view.size + 2 * BLOCK, np.uint8), np.zeros(rows + 1, np.int64)
    longest = int(np.max(np.diff(view.offsets), initial=0)) if by_sentence else 0
    starts, limits = np.empty(longest + 1 if by_sentence else 0, np.int64), np.array(chosen, np.int64)
    row, room = 0, np.empty(ROOM, np.int64)
    while row < rows:
        row, needed = _judge_rows(
            row, room, view.data, view.offsets, view.valid, *_tables(), limits, starts, out, ends, state, counts
        )
        if needed:
            room = np.empty(2 * needed, np.int64)
    delta = strings(out[: max(int(ends[-1]), 1)], ends, state == CHANGED)
    return structs(view.valid, delta=delta, **{name: counts[:, k] for k, name in enumerate(FIELDS)})


@entry(
    "int64 int64[] uint8[] int64[] bool[] Lexicon Tables int64[] int64[] uint8[] int64[] uint8[] int64[,] -> int64 int64",
    Lexicon,
    Tables,
)
def _judge_rows(row, room, data, offsets, valid, known, table, limits, starts, out, ends, state, counts):
    """Judge rows from `row` on; returns the row reached and the numbers that `room` must hold for it."""
    while row < len(valid):
        first = ends[row]
        ends[row + 1] = first
        if valid[row]:
            begin, end = offsets[row], offsets[row + 1]
            counts[row] = 0
            w, needed = _judge(data, begin, end, room, known, table, limits, starts, out, first, counts[row])
            if needed:
                return row, needed
            start, w = stripped(out, first, w, table.spaces)
            if not same(data, begin, end, out, start, w):
                state[row] = CHANGED
                ends[row + 1] = copy(out, start, w, out, first)
        row += 1
    return row, 0


@kernel
def _judge(data, begin, end, room, known, table, limits, starts, out, w, counts):
    """Write what is left of a text to out[w:]; returns the position behind it, and what `room` must hold."""
    first, number, sentences = w, 0, 0
    if len(starts):
        sentences, needed = sentence_starts(
            data, begin, end, room, table.classes, known, table.pairs, table.phrases, starts
        )
        if needed:
            return first, needed
    while begin < end or (len(starts) and number == 0):
        if len(starts):
            number += 1
            stop = after = starts[number] if number < sentences else end
        else:
            stop, after = next_line(data, begin, end)
        counts[LINES] += 1
        left, right = stripped(data, begin, stop, table.spaces)
        verdict, place = _judge_line(data, left, right, table, limits, out, w)
        counts[LOREM_IPSUM] = verdict == LOREM_FOUND
        counts[CURLY_BRACKET] = verdict == CURLY_FOUND
        if verdict > KEPT:
            return first, 0
        if verdict == KEPT:
            begun, needed = _sentences(out, w, place, room, known, table, limits, len(starts) > 0)
            if needed:
                return first, needed
            counts[SENTENCES] += begun
            counts[KEPT_LINES] += 1
            out[place] = 0x20 if len(starts) else LINE_FEED
            w = place + 1
        begin = after
    return max(w - 1, first), 0


@inlined
def _sentences(out, begin, end, room, known, table, limits, by_sentence):
    """Sentences of a kept line, and what `room` must hold; a blank line has one."""
    if not limits[COUNT]:
        return 0, 0
    if by_sentence:
        return 1, 0
    count, needed = sentence_starts(
        out, begin, end, room, table.classes, known, table.pairs, table.phrases, table.facts[0, :0]
    )
    return max(count, 1), needed


@kernel
def _judge_line(data, begin, end, table, limits, out, w):
    """Judge a line without white space at its ends, and write it to out[w:]; returns the verdict and the place behind it."""
    if (
        limits[MOST_CHARS] != -1
        and end - begin > limits[MOST_CHARS]
        and _has_long_word(data, begin, end, table, limits[MOST_CHARS])
    ):
        return DROPPED, w
    place = _write_line(data, begin, end, table, limits[CITATIONS], out, w)
    if limits[ENDS] and not _is_ended(out, w, place):
        return DROPPED, w
    if limits[FEWEST_WORDS] > 0 and not _has_words(data, begin, end, table, limits[FEWEST_WORDS]):
        return DROPPED, w
    kinds = find_phrases(out, w, place, table.letters, table.facts)
    if limits[LOREM_RULE] and kinds & LOREM:
        return LOREM_FOUND, w
    if limits[JAVASCRIPT_RULE] and kinds & JAVASCRIPT:
        return DROPPED, w
    if limits[BRACKET_RULE] and _next(out, w, place, CURLY) < place:
        return CURLY_FOUND, w
    if limits[POLICY_RULE] and kinds & POLICY:
        return DROPPED, w
    return KEPT, place


@kernel
def _has_long_word(data, i, end, table, most):
    """True if a word between white space has more than `most` characters."""
    while i < end:
        stop = piece_end(data, i, end, table.classes)
        if stop - i > most:
            chars = 0
            for k in range(i, stop):
                chars += (data[k] & 0xC0) != 0x80
            if chars > most:
                return True
        i = blanks_end(data, stop, end) if stop < end else end
    return False


@kernel
def _has_words(data, i, end, table, fewest):
    """True if there are so many words between white space, or more; the text neither begins nor ends with white space."""
    words = 0
    while i < end:
        stop = piece_end(data, i, end, table.classes)
        words += stop > i
        if words >= fewest:
            return True
        i = blanks_end(data, stop, end) if stop < end else end
    return False


@inlined
def _is_ended(data, begin, end):
    """True if data[begin:end] ends with one of . ? ! \" ' but not with an ellipsis of three full stops."""
    if begin == end:
        return False
    mark = data[end - 1]
    if mark == STOP:
        return end - begin < 3 or data[end - 2] != STOP or data[end - 3] != STOP
    return mark == 0x3F or mark == 0x21 or mark == 0x22 or mark == 0x27


@kernel
def _next(data, i, end, byte):
    """Position of the next such byte of data[i:end], or `end`."""
    while i < end:
        if i + BLOCK <= len(data):
            run = first_set(equal_to(data, i, np.uint8(byte)))
            i += run
            if run < BLOCK:
                return min(i, end)
        elif data[i] == byte:
            return i
        else:
            i += 1
    return end


@kernel
def _write_line(data, begin, end, table, citations, out, w):
    """Write a line to out[w:], without citations if these are to be removed; returns the position behind it."""
    while begin < end:
        at = _next(data, begin, end, OPENING) if citations else end
        w = copy(data, begin, at, out, w)
        begin = at
        if at < end:
            begin = _citation_end(data, at, end, table)
            if begin == at:
                out[w] = OPENING
                begin, w = at + 1, w + 1
    return w


@kernel
def _citation_end(data, i, end, table):
    """Position behind the citation at i, which is [edit], [citation needed] or digits in brackets; i if there is none."""
    k = i + 1
    while k < end:
        cp, after = decode(data, k)
        if not table.marks[cp] & DECIMAL:
            break
        k = after
    if k < end and data[k] == CLOSING:
        return k + 1
    for row in range(len(table.facts) - 2, len(table.facts)):
        size = table.facts[row, 0]
        if i + size <= end:
            k = 0
            while k < size and data[i + k] == table.letters[row, k]:
                k += 1
            if k == size:
                return i + size
    return i
