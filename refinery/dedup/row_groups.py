"""Parquet files whose row groups are partitions of a column, so that a task reads its share of many files.

A file names no partition: the writer returns the partition of each row group, and readers receive it from their caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.kernels.core.arrow import numbers
from refinery.storage.store import Store

# A file in the store, and the row group to read.
Share = tuple[str, int]


def write_groups(table: pa.Table, by: str, bounds: Sequence[int], path: Path) -> list[int]:
    """Write a table in the order of `by`, a row group for each partition that has rows; returns these partitions.

    bounds: first value of each partition, ascending, and the end of the last one. Raises ValueError for values outside.
    """
    values = numbers(table[by])
    order = np.argsort(values, kind="stable")
    cuts = np.searchsorted(values[order], np.asarray(bounds, np.int64))
    if cuts[0] or cuts[-1] != len(values):
        raise ValueError(f"{by}: values outside of {bounds[0]} .. {bounds[-1]}")
    table, found = table.take(pa.array(order)), []
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for partition, (start, end) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
            if end > start:
                writer.write_table(table.slice(start, end - start), row_group_size=end - start)
                found.append(partition)
    return found


def read_groups(store: Store, shares: Sequence[Share]) -> pa.Table:
    """The rows of some row groups, in the order of the shares, of which there is at least one."""
    found = []
    for name, group in shares:
        with store.reading(name) as place, pq.ParquetFile(place) as file:
            found.append(file.read_row_group(group))
    return pa.concat_tables(found, promote_options="permissive")


def shares_of(names: Sequence[str], partitions: Sequence[Sequence[int]], count: int) -> list[list[Share]]:
    """For each of `count` partitions, its row groups in some files. partitions: of each file, from `write_groups`."""
    found: list[list[Share]] = [[] for _ in range(count)]
    for name, own in zip(names, partitions, strict=True):
        for group, partition in enumerate(own):
            found[partition].append((name, group))
    return found
