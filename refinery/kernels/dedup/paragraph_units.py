"""Paragraphs of a text as units to compare and remove; keys as in `line_units`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import texts, without_blank
from refinery.kernels.core.charclass import classes
from refinery.kernels.core.jit import entry
from refinery.kernels.core.stripping import stripped
from refinery.kernels.dedup.line_units import CaseFolder, find, folded_key, lists, remove_parts, shorter


def paragraph_keys(column: pa.Array | pa.ChunkedArray, separator: str, how: int, min_length: int) -> pa.Array:
    """Key of each paragraph of each text (`list<uint64>`), paragraphs as in str.split(separator); NULL for NULL.

    White space at a paragraph's ends does not count; `how`: LOWER and ONE_SPACE of `line_units`. The key is 0 for empty
    paragraphs and those of fewer than `min_length` code points.
    """
    view, between = texts(column), _bytes(separator)
    firsts = np.zeros(len(view) + 1, np.int64)
    _count(view.data, view.offsets, view.valid, between, firsts)
    keys, folder = np.empty(firsts[-1], np.uint64), CaseFolder(view, how, int(firsts[-1]))
    _paragraph_keys(
        view.data, view.offsets, view.valid, between, firsts, keys, max(min_length, 1), classes(),
        how, folder.table, folder.room, folder.left,
    )  # fmt: skip
    folder.finish(keys)
    return lists(firsts, keys, view.valid)


def remove_paragraphs(
    column: pa.Array | pa.ChunkedArray, removed: pa.Array | pa.ChunkedArray, separator: str
) -> pa.Array:
    """Remove from each text the paragraphs with the numbers (from 0) in its list; join the rest by the separator.

    Empty when only white space stays; NULL where no paragraph is removed.
    """
    return without_blank(remove_parts(column, removed, _bytes(separator)))


def _bytes(separator: str) -> np.ndarray:
    if not separator:
        raise ValueError("separator is empty; it must have at least one character")
    return np.frombuffer(separator.encode(), np.uint8)


@entry("uint8[] int64[] bool[] uint8[] int64[]")
def _count(data, offsets, valid, separator, firsts):
    for row in range(len(valid)):
        count = 0
        if valid[row]:
            count, at = 1, find(data, offsets[row], offsets[row + 1], separator)
            while at >= 0:
                count += 1
                at = find(data, at + len(separator), offsets[row + 1], separator)
        firsts[row + 1] = firsts[row] + count


@entry("uint8[] int64[] bool[] uint8[] int64[] uint64[] int64 uint8[] int64 uint8[] uint8[] int64[,]")
def _paragraph_keys(
    data, offsets, valid, separator, firsts, keys, min_length, class_table, how, table, room, left
):  # fmt: skip
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1]
        for unit in range(firsts[row], firsts[row + 1]):
            stop = find(data, i, end, separator)
            stop = end if stop < 0 else stop
            first, last = stripped(data, i, stop, class_table)
            if shorter(data, first, last, min_length):
                keys[unit] = 0
            else:
                keys[unit] = folded_key(data, first, last, how, table, room, left, unit)
            i = stop + len(separator)
