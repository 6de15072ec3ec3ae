"""Deduplicators of units (lines, paragraphs, spans of sentences): the units that each sample loses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.compiler.deduplicators import sql_of
from refinery.kernels.core.arrow import ints, numbers
from refinery.operators import Operator
from refinery.workers.match_keys import SHARD_BITS


def statement_of(operator: Operator, params: Mapping[str, Any]) -> str:
    """SQL for the units to remove (`_row`, `unit`, `kept`, `matched`), by sample and unit."""
    [query] = operator.matcher.queries(operator, params)
    return sql_of(query)


def by_shard(duplicates: pa.Table, column: str, folder: Path) -> dict[int, str]:
    """Write a file of removed units for each shard that loses any, as lists in `column`; return the files.

    duplicates: in the order of samples (`_row`) and units (`unit`). A unit with a `length` is a passage, whose start and end are in the
    list.
    """
    rows, units = numbers(duplicates["_row"]), numbers(duplicates["unit"])
    if "length" in duplicates.column_names and not duplicates["length"].null_count:
        units = np.stack([units, units + numbers(duplicates["length"])], axis=1).reshape(-1)
        rows = np.repeat(rows, 2)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    samples = rows[starts]
    lists = pa.ListArray.from_arrays(ints(np.append(starts, len(rows)).astype(np.int32)), ints(units))
    shards = samples >> SHARD_BITS
    files = {}
    for shard in np.unique(shards).tolist():
        at = np.flatnonzero(shards == shard)
        inside = ints(samples[at] & ((1 << SHARD_BITS) - 1))
        path = folder / f"{shard:05d}.units.parquet"
        lists_of_shard = pa.table({"_row": inside, column: lists.slice(int(at[0]), len(at))})
        pq.write_table(lists_of_shard, path, compression="none", use_dictionary=False, write_statistics=False)
        files[shard] = str(path)
    return files
