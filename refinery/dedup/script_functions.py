"""Functions that the scripts of `refinery sql` call where a run compares sets in Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.operators import Function

SET_FUNCTIONS = (
    Function(
        name="hamming_pairs",
        columns=("UBIGINT[]",),
        constants=("BIGINT", "BIGINT"),
        returns="STRUCT(a UBIGINT, b UBIGINT)[]",
        runs="kernel",
        call="hamming_pairs",
        path=Path(__file__),
    ),
    Function(
        name="units_in_filter",
        columns=("BIGINT[]", "UBIGINT[][]", "INTEGER[][]"),
        constants=("BIGINT", "DOUBLE", "DOUBLE", "VARCHAR", "VARCHAR"),
        returns="STRUCT(_row BIGINT, unit BIGINT, matched VARCHAR)[]",
        runs="kernel",
        call="units_in_filter",
        path=Path(__file__),
    ),
)

_NO_UNITS = pa.array([], pa.struct({"_row": pa.int64(), "unit": pa.int64(), "matched": pa.string()}))


def hamming_pairs(values: pa.Array, blocks: int, distance: int) -> pa.Array:
    """Pairs that differ in at most `distance` bits, for each list of ascending, distinct values.

    Enough pairs to find all connected components; see `refinery.kernels.dedup.hamming`. NULL for NULL.
    """
    from refinery.kernels.dedup.hamming import pairs

    results, ends = [np.zeros((2, 0), np.uint64)], [0]
    for one in values:
        if one.is_valid:
            numbers = np.asarray(one.values.to_numpy(zero_copy_only=False), np.uint64)
            results.append(numbers[np.stack(pairs(numbers, blocks, distance))])
        ends.append(ends[-1] + (results[-1].shape[1] if one.is_valid else 0))
    a, b = np.concatenate(results, axis=1)
    known = np.append(values.is_valid().to_numpy(zero_copy_only=False), True)
    offsets = pa.array(np.array(ends, np.int32), mask=~known)
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([pa.array(a), pa.array(b)], ["a", "b"]))


def units_in_filter(
    rows: pa.Array,
    ngrams: pa.Array,
    sizes: pa.Array,
    expected: int,
    rate: float,
    threshold: float,
    remember: str,
    level: str,
) -> pa.Array:
    """Units that a filter of n-grams removes from texts, each element of the arrays having all texts in order; NULL for NULL."""
    from refinery.dedup.ngram_filter import Decision
    from refinery.dedup.ngram_units import removed_in_order

    rule, results, ends = Decision(threshold, remember == "all", level), [_NO_UNITS], [0]
    for texts, keys, counts in zip(rows, ngrams, sizes, strict=True):
        if texts.is_valid:
            table = removed_in_order(texts.values, keys.values, counts.values, (expected, rate), rule)[0]
            results.append(table.drop_columns(["kept"]).to_struct_array().combine_chunks())
        ends.append(ends[-1] + (len(results[-1]) if texts.is_valid else 0))
    known = np.append(rows.is_valid().to_numpy(zero_copy_only=False), True)
    return pa.ListArray.from_arrays(pa.array(np.array(ends, np.int32), mask=~known), pa.concat_arrays(results))
