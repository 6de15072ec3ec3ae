"""Findings of a deduplicator as the tables of a run have them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pq
from refinery.compiler.deduplicators import size_column
from refinery.dedup.cluster_sizes import stay, write_sizes
from refinery.dedup.matchers.params import size_field
from refinery.dedup.model import DedupResult
from refinery.dedup.units import by_shard
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.shard_positions import ShardPosition
from refinery.kernels.core.arrow import ints
from refinery.workers.match_keys import SHARD_BITS

# Runs of earlier versions lack `length` and `copy_at`.
_DUPLICATES = """
SELECT * EXCLUDE (step, operator, kept_in_index) FROM duplicates WHERE step = $step ORDER BY _row, unit
"""
_CLUSTERS = """
SELECT one._row, survivor._row AS kept, one.size FROM clusters AS one
JOIN clusters AS survivor ON survivor.step = one.step AND survivor.cluster = one.cluster AND survivor.survivor
WHERE one.step = $step ORDER BY kept, one._row
"""


def stored_findings(
    stored: FinishedRun, step: Any, units: bool, places: Sequence[ShardPosition], folder: Path
) -> DedupResult:
    """Findings of a step, with files in `folder`. units: the step removes units from texts, not samples."""
    findings = DedupResult(step.index)
    duplicates = _rows_of(stored, _DUPLICATES, step.index, ("_row", "kept", "via"), places)
    if not len(duplicates):
        return findings
    written = folder / "duplicates.parquet"
    pq.write_table(duplicates, written)
    findings.duplicates = (str(written),)
    if units:
        findings.units = by_shard(duplicates, f"_removed_{step.index}", folder)
        return findings
    members = folder / "clusters.parquet"
    table = _rows_of(stored, _CLUSTERS, step.index, ("_row", "kept"), places)
    pq.write_table(table, members)
    if size_field(step.params):
        findings.units = {shard: str(path) for shard, path in write_sizes(stay(table), size_column(step.index), folder)}
    findings.clusters = (str(members),)
    findings.removed = np.sort(duplicates["_row"].to_numpy())
    return findings


def _rows_of(
    stored: FinishedRun, query: str, step: int, names: Sequence[str], places: Sequence[ShardPosition]
) -> pa.Table:
    """Rows of a table, with sample numbers as the shards count them."""
    table = stored.con.sql(query, params={"step": step}).to_arrow_table()
    firsts = np.array([place.first for place in places], np.int64)
    for name in names:
        column = table[name].combine_chunks()
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        rows = column.fill_null(0).to_numpy()
        shard = np.searchsorted(firsts, rows, "right") - 1
        coded = ints((shard.astype(np.int64) << SHARD_BITS) + rows - firsts[shard], valid)
        table = table.set_column(table.schema.get_field_index(name), name, coded)
    return table
