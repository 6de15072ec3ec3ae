"""Sizes of clusters (`save_cluster_size`), which the next stage writes to a field of the samples that stay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.kernels.core.arrow import ints, numbers
from refinery.workers.match_keys import SHARD_BITS


def write_sizes(members: pa.Table, column: str, folder: Path) -> Iterator[tuple[int, Path]]:
    """Write the sizes of clusters of the samples that stay, by shard: `_row`, the number in the shard, and the size.

    members: `_row`, `kept` and `size`. A cluster that a sample of an index represents has no sample that stays.
    """
    row, kept, size = (numbers(members[name]) for name in ("_row", "kept", "size"))
    stays = (row == kept) & (row >= 0)
    order = np.argsort(row[stays])
    row, size = row[stays][order], size[stays][order]
    shards = row >> SHARD_BITS
    for shard in np.unique(shards).tolist():
        own = shards == shard
        path = folder / f"{shard:05d}.units.parquet"
        table = pa.table({"_row": ints(row[own] & ((1 << SHARD_BITS) - 1)), column: ints(size[own].astype(np.int64))})
        pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
        yield shard, path
