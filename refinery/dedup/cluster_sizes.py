"""Sizes of clusters (`save_cluster_size`), which the next stage writes to a field of the samples that stay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.kernels.core.arrow import flags, ints, numbers
from refinery.workers.match_keys import SHARD_BITS


def stay(members: pa.Table) -> pa.Table:
    """The members of clusters (`_row`, `kept`, `size`) that stay. A cluster that a sample of an index represents has none."""
    row, kept = numbers(members["_row"]), numbers(members["kept"])
    return members.filter(flags((row == kept) & (row >= 0)))


def write_sizes(members: pa.Table, column: str, folder: Path) -> Iterator[tuple[int, Path]]:
    """Write the sizes of clusters of the samples that stay, by shard: `_row`, the number in the shard, and the size.

    members: those of `stay`.
    """
    row, size = numbers(members["_row"]), numbers(members["size"])
    order = np.argsort(row)
    row, size = row[order], size[order]
    shards = row >> SHARD_BITS
    for shard in np.unique(shards).tolist():
        own = shards == shard
        path = folder / f"{shard:05d}.units.parquet"
        table = pa.table({"_row": ints(row[own] & ((1 << SHARD_BITS) - 1)), column: ints(size[own].astype(np.int64))})
        pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
        yield shard, path
