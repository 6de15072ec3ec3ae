"""Removal of words from texts.

The remaining words are joined by the strongest of the separators between them: line feed over tab over space.
A text of unchanged length has lost nothing and is the same text.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import CHANGED, UNCHANGED, delta
from refinery.kernels.core.charclass import SPECIAL, classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.utf8 import before, copy, decode
from refinery.kernels.words.words import NEWLINE, SEPARATOR, SPACE, TAB, tables

BEGINS = 4  # first byte of a substring, beside the kinds of `words.Tables`


def remove_long_words(column: pa.Array | pa.ChunkedArray, min_len: int, max_len: int) -> pa.Array:
    """Remove words of fewer than min_len or more than max_len code points; NULL for unchanged texts.

    A word that is too long stays when it fits without the special characters at its ends (which it keeps).
    Runs of separators shrink to one, and none is left at the ends of lines, as in Data-Juicer.
    """
    return delta(column, _remove_long, tables().kinds, classes(), min_len, max_len)


def remove_words_with(column: pa.Array | pa.ChunkedArray, substrings: list[str]) -> pa.Array:
    """Remove words that hold one of the substrings; NULL for unchanged texts.

    Special characters at the ends of a word are ignored. White space is treated as in `remove_long_words`.
    """
    encoded = [s.encode("utf-8", "surrogatepass") for s in substrings if not set(s) & set(" \t\n")]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(s) for s in encoded], out=offsets[1:])
    needles = np.frombuffer(b"".join(encoded) + b"\0", np.uint8)
    marks = np.zeros(256, np.uint8)
    marks[[SPACE, TAB, NEWLINE]] = SEPARATOR
    for needle in encoded:
        marks[needle[0] if needle else slice(None)] |= BEGINS
    return delta(column, _remove_with, marks, needles, offsets, classes())


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] int64[] uint8[] int64 int64 -> int64")
def _remove_long(data, offsets, valid, out, out_offsets, state, kinds, class_table, min_len, max_len):
    w = 0
    for row in range(len(valid)):
        if valid[row]:
            first, run, run_end, i, end = w, 0, -1, offsets[row], offsets[row + 1]
            while i < end:
                begin, length = i, 0
                while i < end and (data[i] > SPACE or kinds[data[i]] != SEPARATOR):
                    length += (data[i] & 0xC0) != 0x80
                    i += 1
                if length > max_len:
                    length = _stripped_length(data, begin, i, class_table)
                if i > begin and min_len <= length <= max_len:
                    run, run_end, w = _append(data, begin, i, run, run_end, out, w)
                i += 1
            w, state[row] = _finish(data, offsets[row], end, run, run_end, out, first, w)
        out_offsets[row + 1] = w
    return w


@kernel
def _stripped_length(data, begin, end, class_table):
    """Number of code points of the word without the special characters at its ends."""
    begin, end = _stripped(data, begin, end, class_table)
    length = 0
    for i in range(begin, end):
        length += (data[i] & 0xC0) != 0x80
    return length


@entry("uint8[] int64[] bool[] uint8[] int64[] uint8[] uint8[] uint8[] int64[] uint8[] -> int64")
def _remove_with(data, offsets, valid, out, out_offsets, state, marks, needles, needle_offsets, class_table):
    w = 0
    for row in range(len(valid)):
        if valid[row]:
            first, run, run_end, i, end = w, 0, -1, offsets[row], offsets[row + 1]
            while i < end:
                begin, suspect = i, False
                while i < end and not marks[data[i]] & SEPARATOR:
                    if marks[data[i]] and not suspect:
                        suspect = _begins(data, i, end, needles, needle_offsets)
                    i += 1
                if i > begin and not (suspect and _holds(data, begin, i, needles, needle_offsets, class_table)):
                    run, run_end, w = _append(data, begin, i, run, run_end, out, w)
                i += 1
            w, state[row] = _finish(data, offsets[row], end, run, run_end, out, first, w)
        out_offsets[row + 1] = w
    return w


@kernel
def _begins(data, i, end, needles, needle_offsets):
    """True if one of the substrings is at the start of data[i:end]."""
    for needle in range(len(needle_offsets) - 1):
        start, length = needle_offsets[needle], needle_offsets[needle + 1] - needle_offsets[needle]
        k = 0
        while k < length and i + k < end and data[i + k] == needles[start + k]:
            k += 1
        if k == length:
            return True
    return False


@kernel
def _holds(data, begin, end, needles, needle_offsets, class_table):
    """True if one of the substrings is in the word without the special characters at its ends."""
    begin, end = _stripped(data, begin, end, class_table)
    for i in range(begin, end + 1):  # an empty word holds an empty substring, too
        if _begins(data, i, end, needles, needle_offsets):
            return True
    return False


@kernel
def _stripped(data, begin, end, class_table):
    """Bounds of the word without the special characters at its ends."""
    while begin < end:
        cp, after = decode(data, begin)
        if not class_table[cp] & SPECIAL:
            break
        begin = after
    while begin < end:
        last = before(data, end, begin)
        if not class_table[decode(data, last)[0]] & SPECIAL:
            break
        end = last
    return begin, end


@inlined
def _append(data, begin, end, run, run_end, out, w):
    """Append the word data[begin:end] to the uncopied run data[run:run_end] (run_end -1: no run yet).

    A word one separator further extends the run; otherwise the run is written with the joint after it, and the word
    begins a new run. Returns the run's bounds and the position in `out`.
    """
    if begin == run_end + 1 and run_end >= 0:
        return run, end, w
    if run_end >= 0:
        w = copy(data, run, run_end, out, w)
        out[w] = _joint(data, run_end, begin)
        w += 1
    return begin, end, w


@kernel
def _joint(data, start, end):
    """Strongest separator in data[start:end]."""
    strongest = SPACE
    for i in range(start, end):
        if data[i] == NEWLINE:
            return NEWLINE
        if data[i] == TAB:
            strongest = TAB
    return strongest


@kernel
def _finish(data, start, end, run, run_end, out, first, w):
    """Write the last run of a row whose output begins at `first`; returns the position after it and the row's state."""
    if run_end - run == end - start and w == first:
        return first, UNCHANGED
    if run_end >= 0:
        w = copy(data, run, run_end, out, w)
    return (first, UNCHANGED) if w - first == end - start else (w, CHANGED)
