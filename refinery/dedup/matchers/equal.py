"""Samples with equal values in a column, which several matchers look for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from refinery import kernels
from refinery.dedup.matchers.model import KeyRelations, Pairs, SetQuery

if TYPE_CHECKING:
    import pyarrow as pa


def same_key(column: str) -> SetQuery:
    """Query for the pairs (`_row`, `via`) of samples that are equal in a column of `compared`."""
    return SetQuery("same_key", values={"key": column})


def equal_pairs(keys: KeyRelations, column: str, how: int) -> Iterator[Pairs]:
    """Samples with equal values in a column."""
    for batch in keys.batches(keys.sql(same_key(column))):
        yield pairs_of(batch, how)


def pairs_of(batch: pa.RecordBatch, how: int) -> Pairs:
    """Pairs from rows of `same_key`."""
    import numpy as np  # the list of operators knows the matchers, and needs no numpy

    row, via = kernels.core.arrow.numbers(batch.column("_row")), kernels.core.arrow.numbers(batch.column("via"))
    return Pairs(row, via, np.full(len(row), how, np.int32), np.full(len(row), np.nan))
