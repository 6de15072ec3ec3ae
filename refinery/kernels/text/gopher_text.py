"""Hashes and ellipses of texts, and lines with bullets and ellipses, as Gopher's filter in datatrove counts them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.blocks import BLOCK, count_set, first_set, is_byte, lanes, low_bits
from refinery.kernels.core.charclass import classes
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.stripping import stripped
from refinery.kernels.core.utf8 import before, decode
from refinery.kernels.text.split_lines import next_line

FIELDS = ("hashes", "ellipses", "lines", "bullets", "ended")
HASHES, ELLIPSES, LINES, BULLETS, ENDED = range(len(FIELDS))

HASH, DOT, DASH, BULLET, ELLIPSIS = 0x23, 0x2E, 0x2D, 0x2022, 0x2026

_hashes = lanes(lambda x: is_byte(x, b"#"))
_may_be_ellipses = lanes(lambda x, y, z: (is_byte(x, b".") & is_byte(y, b".") & is_byte(z, b".")) | is_byte(x, b"\xe2"))


def gopher_text(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Counts of each text, as a struct; NULL for NULL.

    hashes; ellipses: `...`, which do not overlap, and `…`; lines of str.splitlines; those that begin, after white space,
    with - or •; those that end, before white space, with an ellipsis.
    """
    view = texts(column)
    counts = np.zeros((len(view), len(FIELDS)), np.int64)
    _count_rows(view.data, view.offsets, view.valid, classes(), counts)
    return structs(view.valid, **{name: counts[:, k] for k, name in enumerate(FIELDS)})


@entry("uint8[] int64[] bool[] uint8[] int64[,]")
def _count_rows(data, offsets, valid, table, counts):
    for row in range(len(valid)):
        if valid[row]:
            begin, end = offsets[row], offsets[row + 1]
            _count_marks(data, begin, end, counts[row])
            while begin < end:
                stop, after = next_line(data, begin, end)
                _count_line(data, begin, stop, table, counts[row])
                begin = after


@kernel
def _count_marks(data, i, end, counts):
    behind = i  # end of the last ellipsis
    while i < end:
        if i + BLOCK + 2 <= len(data):
            here = low_bits(min(BLOCK, end - i))
            counts[HASHES] += count_set(_hashes(data, i) & here)
            marks = _may_be_ellipses(data, i) & here
            while marks:
                behind = _count_ellipsis(data, i + first_set(marks), end, behind, counts)
                marks &= marks - np.uint64(1)
            i += BLOCK
        else:
            counts[HASHES] += data[i] == HASH
            behind = _count_ellipsis(data, i, end, behind, counts)
            i += 1


@kernel
def _count_ellipsis(data, i, end, behind, counts):
    """Count the ellipsis at i, if there is one and it does not overlap the last one; returns the end of the last one."""
    if i < behind or i + 3 > end:
        return behind
    dots = data[i] == DOT and data[i + 1] == DOT and data[i + 2] == DOT
    if not dots and not (data[i] == 0xE2 and data[i + 1] == 0x80 and data[i + 2] == 0xA6):
        return behind
    counts[ELLIPSES] += 1
    return i + 3


@kernel
def _count_line(data, begin, stop, table, counts):
    counts[LINES] += 1
    first, last = stripped(data, begin, stop, table)
    if first == last:
        return
    cp, _ = decode(data, first)
    counts[BULLETS] += cp == DASH or cp == BULLET
    dots = last - first >= 3 and data[last - 1] == DOT and data[last - 2] == DOT and data[last - 3] == DOT
    counts[ENDED] += dots or (data[last - 1] == 0xA6 and decode(data, before(data, last, first))[0] == ELLIPSIS)
