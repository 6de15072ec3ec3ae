"""Sums of rows of a fastText model, in float32 and in the order of the rows, as many columns at once as a processor can."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from refinery.kernels.core.jit import Instruction, inlined, kernel, llvm_form
from refinery.kernels.models.fasttext_file import CODES, CODES_AT, DIM, NORMS_AT, PART, ROWS_AT
from refinery.kernels.models.fasttext_matrix import CENTROIDS


def _adder(lanes: int) -> Any:
    """Make an instruction that adds `lanes` columns of some rows to a sum.

    total: float32, place: the first column in it. data: uint8, whose rows have `width` bytes; base: place of the column in
    row 0, which need not be a multiple of 4. rows: int32, of which those from first up to last are added.
    """

    def add(total, place, data, base, width, rows, first, last):
        columns = slice(place, place + lanes)
        result = np.array(total[columns])
        for at in range(first, last):
            start = base + rows[at] * width
            result += np.frombuffer(data[start : start + 4 * lanes].tobytes(), np.float32)
        total[columns] = result

    return Instruction(add, partial(llvm_form, "fasttext.adder", lanes))


_add_16, _add_4, _add_1 = _adder(16), _adder(4), _adder(1)


@inlined
def add_rows(tables, total, rows, first, last):
    """Add rows[first:last] of the input to a sum."""
    if tables.sizes[CODES] > 0:
        _add_codes(tables, total, rows, first, last)
    else:
        add_from(tables.rows, tables.sizes[ROWS_AT], tables.sizes[DIM], total, rows, first, last)


@inlined
def add_from(data, base, dim, total, rows, first, last):
    """Add rows[first:last] of a table of float32, which begins at data[base], to a sum."""
    column = 0
    while column + 16 <= dim:
        _add_16(total, column, data, base + 4 * column, 4 * dim, rows, first, last)
        column += 16
    while column + 4 <= dim:
        _add_4(total, column, data, base + 4 * column, 4 * dim, rows, first, last)
        column += 4
    while column < dim:
        _add_1(total, column, data, base + 4 * column, 4 * dim, rows, first, last)
        column += 1


@kernel
def _add_codes(tables, total, rows, first, last):
    """Add quantized rows: a centroid for each code, times the norm of the row."""
    dim, parts, codes, norms = tables.sizes[DIM], tables.sizes[CODES], tables.sizes[CODES_AT], tables.sizes[NORMS_AT]
    width = tables.sizes[PART]
    for at in range(first, last):
        row = np.int64(rows[at])
        norm = np.float32(1)
        if norms > 0:
            norm = tables.norms[tables.file[norms + row]]
        for part in range(parts):
            start = part * width
            size = min(width, dim - start)
            centroid = CENTROIDS * start + size * np.int64(tables.file[codes + row * parts + part])
            for i in range(size):
                total[start + i] += norm * tables.centroids[centroid + i]
