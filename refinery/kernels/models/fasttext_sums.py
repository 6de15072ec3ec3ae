"""Sums of rows of a fastText model, in float32 and in the order of the rows, as many columns at once as a processor can."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from refinery.kernels.core.jit import inlined, intrinsic, kernel, types
from refinery.kernels.models.fasttext_file import CODES, CODES_AT, DIM, NORMS_AT, PART, ROWS_AT
from refinery.kernels.models.fasttext_matrix import CENTROIDS

_BYTE, _REAL, _WORD = ir.IntType(8), ir.FloatType(), ir.IntType(64)


def _adder(lanes: int) -> Any:
    """Make an instruction that adds `lanes` columns of some rows to a sum.

    total: float32, place: the first column in it. data: uint8, whose rows have `width` bytes; base: place of the column in
    row 0, which need not be a multiple of 4. rows: int32, of which those from first up to last are added.
    """

    def declare(typingctx, total, place, data, base, width, rows, first, last):
        def generate(context, builder, signature, args):
            from numba.core import cgutils

            kind = ir.VectorType(_REAL, lanes) if lanes > 1 else _REAL
            total, place, data, base, width, rows, first, last = args

            def start(array: int, position: Any) -> Any:
                found = context.make_array(signature.args[array])(context, builder, args[array]).data
                return builder.gep(found, [position])

            target = builder.bitcast(start(0, place), kind.as_pointer())
            total = cgutils.alloca_once_value(builder, builder.load(target, align=4))
            with cgutils.for_range_slice(builder, first, last, ir.Constant(_WORD, 1), _WORD) as (at, _):
                row = builder.sext(builder.load(start(5, at)), _WORD)
                source = start(2, builder.add(base, builder.mul(row, width)))
                values = builder.load(builder.bitcast(source, kind.as_pointer()), align=1)
                builder.store(builder.fadd(builder.load(total), values), total)
            builder.store(builder.load(total), target, align=4)
            return context.get_dummy_value()

        number = types.int64
        return types.void(total, number, data, number, number, rows, number, number), generate

    return intrinsic(declare)


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
