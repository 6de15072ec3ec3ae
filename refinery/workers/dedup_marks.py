"""Match keys of samples (what a deduplicator compares), as shards leave them for the set SQL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from refinery.compiler.deduplicators import mark_name
from refinery.kernels.core.arrow import ints, numbers

# The global number of a sample combines the shard's number with the sample's number in the shard: ordered as the input
# is, and known without counting the rows of earlier shards.
SHARD_BITS = 32


def marks_table(done: pa.Table, marks: Sequence[str], rows: np.ndarray) -> pa.Table:
    """Match keys of the samples in `done`, without samples that cannot be duplicates.

    A list of bands becomes one column per band (`band_0` and on), so that a band can be read without the others. A list
    of units becomes one row per unit (`unit`: its place in the text, `key`); units of key 0 take no part.
    """
    columns = {"_row": ints(rows)} | {mark_name(name): done[name].combine_chunks() for name in marks}
    if "marks" in columns:  # a function that returns several keys at once
        fields = columns.pop("marks")
        columns |= dict(zip(fields.type.names, fields.flatten(), strict=True)) if fields.type.num_fields else {}
    table = pa.table(columns)
    first = next(name for name in ("key", "bands", "simhash", "units", "shingles") if name in table.column_names)
    if table[first].null_count:
        table = table.filter(pc.is_valid(table[first]))
    if first == "bands":
        return _bands(table)
    return _units(table) if first == "units" else table


def _bands(table: pa.Table) -> pa.Table:
    lists = table["bands"].combine_chunks()
    keys = numbers(lists.flatten()).reshape(len(lists), -1) if len(lists) else np.zeros((0, 0))
    columns = {name: table[name] for name in table.column_names if name != "bands"}
    return pa.table(columns | {f"band_{i}": ints(keys[:, i]) for i in range(keys.shape[1])})


def _units(table: pa.Table) -> pa.Table:
    lists = table["units"].combine_chunks()
    lengths = numbers(pc.list_value_length(lists)).astype(np.int64)
    keys = numbers(lists.flatten())
    rows = np.repeat(numbers(table["_row"]), lengths)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    unit = np.arange(len(keys)) - first
    takes_part = keys != 0
    return pa.table({"_row": ints(rows[takes_part]), "unit": ints(unit[takes_part]), "key": ints(keys[takes_part])})


def unwritable(done: pa.Table, marks: Sequence[str]) -> str | None:
    """DuckDB's name of a type of match keys, also nested, that Parquet cannot hold; None if all can be written."""
    kinds = [done.schema.field(name).type for name in marks]
    while kinds:
        kind = kinds.pop()
        if pa.types.is_interval(kind) or pa.types.is_union(kind):
            return "INTERVAL" if pa.types.is_interval(kind) else "UNION"
        kinds += [kind.field(number).type for number in range(kind.num_fields)]
    return None


def write_marks(path: Path, tables: Sequence[pa.Table]) -> Path:
    """Write a shard's match keys; keys are as good as random, so they are not compressed."""
    found = [table for table in tables if table.num_rows] or list(tables[:1])
    pq.write_table(pa.concat_tables(found), path, compression="none", use_dictionary=False, write_statistics=False)
    return path
