"""Samples with equal values in a column, which several matchers look for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from refinery import kernels
from refinery.dedup.matchers.model import KeyRelations, Pairs, SetQuery

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def same_key(column: str) -> SetQuery:
    """Query for the pairs (`_row`, `via`) of samples that are equal in a column of `compared`."""
    return SetQuery("same_key", values={"key": column})


def equal_pairs(keys: KeyRelations, column: str, how: int) -> Iterator[Pairs]:
    """Samples with equal values in a column."""
    keys.keep()
    for batch in keys.batches(keys.sql(same_key(column))):
        yield pairs_of(batch, how)


def pairs_of(batch: pa.RecordBatch, how: int) -> Pairs:
    """Pairs from rows of `same_key`."""
    row, via = kernels.core.arrow.numbers(batch.column("_row")), kernels.core.arrow.numbers(batch.column("via"))
    return _pairs(row, via, how)


def pairs_in_memory(keys: KeyRelations, columns: Sequence[str]) -> Iterator[Pairs]:
    """Samples with equal values in one of several columns of numbers, as `equal_pairs` finds them, without SQL.

    `how` is the column's place. A pair is left out if it was the sample's last one in the columns before: most copies are
    the same in all columns. A column of 100,000 samples takes DuckDB 10 ms, most of it for the statement.
    """
    table = keys.table(["_row", *columns])
    rows = kernels.core.arrow.numbers(table["_row"])

    def pairs(name: str) -> tuple[np.ndarray, np.ndarray] | None:
        values = table[name]
        return None if values.null_count else kernels.dedup.equal.equal_pairs(rows, kernels.core.arrow.numbers(values))

    from concurrent.futures import ThreadPoolExecutor

    known = rows.copy()  # a sample is in no pair with itself
    with ThreadPoolExecutor(keys.threads) as pool:
        for how, (name, groups) in enumerate(zip(columns, pool.map(pairs, columns), strict=True)):
            if groups is None:
                yield from equal_pairs(keys, name, how)
            else:
                yield _pairs(*kernels.dedup.equal.new_pairs(*groups, rows, known), how)


def _pairs(row: np.ndarray, via: np.ndarray, how: int) -> Pairs:
    import numpy as np  # the list of operators knows the matchers, and needs no numpy

    return Pairs(row, via, np.full(len(row), how, np.int32), np.full(len(row), np.nan))
