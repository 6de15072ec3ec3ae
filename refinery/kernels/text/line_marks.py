"""Numbers of the lines of a text that begin with a bullet, and that end with an ellipsis; a line feed separates lines."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import of_texts, structs, texts
from refinery.kernels.core.blocks import BLOCK, first_set, line_feeds
from refinery.kernels.core.charclass import classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.stripping import stripped
from refinery.kernels.core.utf8 import before, decode

FIELDS = (
    "lines", "filled", "inked", "bullets", "raw_bullets", "raw_dashes", "typed_bullets", "ellipses", "raw_ellipses",
    "raw_ellipsis_chars", "unended", "cut_short",
)  # fmt: skip
(
    LINES, FILLED, INKED, BULLETS, RAW_BULLETS, RAW_DASHES, TYPED_BULLETS, ELLIPSES, RAW_ELLIPSES, RAW_ELLIPSIS_CHARS, UNENDED,
    CUT_SHORT,
) = range(len(FIELDS))  # fmt: skip

LINE_FEED, DOT, BLANK, ELLIPSIS = 0x0A, 0x2E, 0x20, 0x2026
# Ends of a line, in lower case, that NeMo Curator takes for an ellipsis.
CUTS = ("...", "[...]", "(...)", "…", "[…]", "-»", "read more..", "read more")
CIRCLE, BULLET, ASTERISK, DASH = 0x25CF, 0x2022, 0x2A, 0x2D


def line_marks(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Numbers of lines of each text, as a struct; NULL for NULL. See the feature of this name."""
    view = texts(column)
    counts = np.zeros((len(view), len(FIELDS)), np.int64)
    cuts = texts(of_texts(CUTS))
    _count_rows(view.data, view.offsets, view.valid, classes(), cuts.data, cuts.offsets, counts)
    return structs(view.valid, **{name: counts[:, k] for k, name in enumerate(FIELDS)})


@entry("uint8[] int64[] bool[] uint8[] uint8[] int64[] int64[,]")
def _count_rows(data, offsets, valid, class_table, cuts, cut_offsets, counts):
    for row in range(len(valid)):
        if valid[row]:
            begin, end = offsets[row], offsets[row + 1]
            while begin <= end:
                stop = line_end(data, begin, end)
                _count(data, begin, stop, class_table, cuts, cut_offsets, counts[row])
                begin = stop + 1


@kernel
def line_end(data, i, end):
    """Position of the next line feed of data[i:end], or `end`."""
    while i < end:
        if i + BLOCK <= len(data):
            run = first_set(line_feeds(data, i))
            i += run
            if run < BLOCK:
                return min(i, end)
        elif data[i] == LINE_FEED:
            return i
        else:
            i += 1
    return end


@kernel
def _count(data, begin, stop, class_table, cuts, cut_offsets, counts):
    counts[LINES] += 1
    if begin == stop:
        return
    counts[FILLED] += 1
    cp, _ = decode(data, begin)
    dash = cp == ASTERISK or cp == DASH
    counts[RAW_DASHES] += dash
    counts[RAW_BULLETS] += dash or cp == CIRCLE or cp == BULLET
    counts[RAW_ELLIPSES] += _ends_with_ellipsis(data, begin, stop)
    counts[RAW_ELLIPSIS_CHARS] += decode(data, before(data, stop, begin))[0] == ELLIPSIS
    first, last = stripped(data, begin, stop, class_table)
    if first == last:
        return
    counts[INKED] += 1
    cp, _ = decode(data, first)
    counts[BULLETS] += cp == ASTERISK or cp == DASH or cp == CIRCLE or cp == BULLET
    counts[TYPED_BULLETS] += cp > 0x7F and _is_typed_bullet(cp)
    counts[ELLIPSES] += _ends_with_ellipsis(data, first, last)
    mark = data[last - 1]
    counts[UNENDED] += not (mark == DOT or mark == 0x3F or mark == 0x21 or mark == 0x22 or mark == 0x27)
    counts[CUT_SHORT] += _ends_with_any(data, first, last, cuts, cut_offsets)


@inlined
def _is_typed_bullet(cp):
    """True for the bullets • ‣ ⁃ ⁌ ⁍ ∙ ○ ● ◘ ◦ ⦾ ⦿."""
    return (
        cp == BULLET or cp == 0x2023 or cp == 0x2043 or cp == 0x204C or cp == 0x204D or cp == 0x2219 or cp == 0x25CB
        or cp == CIRCLE or cp == 0x25D8 or cp == 0x25E6 or cp == 0x29BE or cp == 0x29BF
    )  # fmt: skip


@kernel
def _ends_with_any(data, begin, stop, cuts, offsets):
    """True if data[begin:stop], its ASCII letters in lower case, ends with one of the texts."""
    for k in range(len(offsets) - 1):
        at = stop - 1
        left = offsets[k + 1] - 1
        while left >= offsets[k] and at >= begin and _lower(data[at]) == cuts[left]:
            at -= 1
            left -= 1
        if left < offsets[k]:
            return True
    return False


@inlined
def _lower(byte):
    return byte | 0x20 if 0x41 <= byte <= 0x5A else byte


@kernel
def _ends_with_ellipsis(data, begin, stop):
    """True if data[begin:stop] ends with three dots, three dots and two blanks between them, or an ellipsis."""
    mark = data[stop - 1]
    if mark == 0xA6:
        return stop - begin >= 3 and data[stop - 2] == 0x80 and data[stop - 3] == 0xE2
    if mark != DOT or stop - begin < 3:
        return False
    if data[stop - 2] == DOT:
        return data[stop - 3] == DOT
    return (
        stop - begin >= 5
        and data[stop - 2] == BLANK
        and data[stop - 3] == DOT
        and data[stop - 4] == BLANK
        and data[stop - 5] == DOT
    )
