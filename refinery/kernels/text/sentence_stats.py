"""Measures of the sentences of a text, as datatrove defines them; sentences are those of `word_rules`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.utf8 import decode
from refinery.kernels.text.piece_stats import lists
from refinery.kernels.words.lexicon import Lexicon
from refinery.kernels.words.word_exceptions import rules
from refinery.kernels.words.word_rules import PUNCT, SPACE, TERMINAL
from refinery.kernels.words.word_tokens import cut_piece

FIELDS = ("sentences", "chars")
SENTENCES, CHARS, BEGIN, END, SEEN = range(len(FIELDS) + 3)
ROOM = 3 * 4096 + 3


def sentence_stats(column: pa.Array | pa.ChunkedArray, short: Sequence[int], long: Sequence[int]) -> pa.Array:
    """Struct for each text, NULL for NULL: sentences, their code points, and (lists) numbers of short and long ones.

    White space at a sentence's ends does not count; white space alone is no sentence.
    """
    view = texts(column)
    rows = len(view)
    counts = np.zeros((rows, len(FIELDS) + 3), np.int64)
    shorter, longer = np.zeros((rows, len(short)), np.int64), np.zeros((rows, len(long)), np.int64)
    limits = np.array(short, np.int64), np.array(long, np.int64)
    row, room = 0, np.zeros(ROOM, np.int64)
    while row < rows:
        row, needed = _measure(
            row, room, view.data, view.offsets, view.valid, *rules(), *limits, counts, shorter, longer
        )
        if needed:
            room = np.zeros(2 * needed, np.int64)
    fields = {name: counts[:, k] for k, name in enumerate(FIELDS)}
    return structs(view.valid, **fields, short=lists(shorter), long=lists(longer))


@entry(
    "int64 int64[] uint8[] int64[] bool[] uint32[] Lexicon uint8[,] int16[,] int64[] int64[] int64[,] int64[,] int64[,] -> int64 int64",
    Lexicon,
)
def _measure(row, room, data, offsets, valid, classes, known, pairs, phrases, short, long, counts, shorter, longer):
    """Measure rows from `row` on; returns the row reached and the numbers that `room` must hold for it."""
    while row < len(valid):
        if valid[row]:
            needed = _measure_text(
                data, offsets[row], offsets[row + 1], room, classes, known, pairs, phrases, short, long, counts[row], shorter[row],
                longer[row],
            )  # fmt: skip
            if needed:
                return row, needed
        row += 1
    return row, 0


@kernel
def _measure_text(data, start, end, room, classes, known, pairs, phrases, short, long, counts, shorter, longer):
    """Measure one text; returns 0, or the numbers that `room` must hold. BEGIN, END in counts: the open sentence."""
    counts[:] = 0
    shorter[:] = 0
    longer[:] = 0
    counts[BEGIN] = -1
    i = start
    while i < end:
        begin = i
        i = _run_end(data, i, end, classes, True)
        if i > begin and counts[SEEN] and not (i == begin + 1 and data[begin] == 0x20 and begin > start):
            _close(data, short, long, counts, shorter, longer)
        begin = i
        i = _run_end(data, i, end, classes, False)
        if i > begin and _is_plain(data, begin, i):
            _word(data, begin, i, classes, short, long, counts, shorter, longer)
            continue
        if 3 * (i - begin) + 3 > len(room):
            return 3 * (i - begin) + 3
        n = cut_piece(data, begin, i, start, end, classes, known, pairs, phrases, room) if i > begin else 0
        if n < 0:
            return -n
        for k in range(n):
            stop = room[k + 1] if k + 1 < n else i
            _word(data, room[k], stop, classes, short, long, counts, shorter, longer)
    if counts[BEGIN] >= 0:
        _close(data, short, long, counts, shorter, longer)
    return 0


@kernel
def _is_plain(data, i, end):
    """True if data[i:end] holds only ASCII letters: contractions among them do not affect sentences."""
    while i < end:
        if not 0x61 <= (data[i] | 0x20) <= 0x7A:
            return False
        i += 1
    return True


@kernel
def _run_end(data, i, end, classes, blank):
    """End of the run of white space (`blank`), or of other characters, that begins at i."""
    while i < end:
        cp, after = decode(data, i)
        if (classes[cp] & SPACE != 0) != blank:
            break
        i = after
    return i


@kernel
def _word(data, begin, end, classes, short, long, counts, shorter, longer):
    """Add a word, which may begin a sentence."""
    cp, after = decode(data, begin)
    terminal = after == end and classes[cp] & TERMINAL != 0
    if counts[SEEN] and not terminal and not _is_punctuation(data, begin, end, classes):
        _close(data, short, long, counts, shorter, longer)
    if terminal:
        counts[SEEN] = 1
    if counts[BEGIN] < 0:
        counts[BEGIN] = begin
    counts[END] = end


@kernel
def _is_punctuation(data, i, end, classes):
    while i < end:
        cp, i = decode(data, i)
        if not classes[cp] & PUNCT:
            return False
    return True


@kernel
def _close(data, short, long, counts, shorter, longer):
    """Count the open sentence; the next word begins another."""
    size = 0
    for i in range(counts[BEGIN], counts[END]):
        size += (data[i] & 0xC0) != 0x80
    counts[SENTENCES] += 1
    counts[CHARS] += size
    for k in range(len(short)):
        shorter[k] += size <= short[k]
    for k in range(len(long)):
        longer[k] += size >= long[k]
    counts[BEGIN] = -1
    counts[SEEN] = 0
