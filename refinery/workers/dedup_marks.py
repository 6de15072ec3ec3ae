"""Marks: what a deduplicator compares of each sample, as the shards leave it for the set SQL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from refinery.compiler.deduplicators import mark_name
from refinery.kernels.core.arrow import ints, numbers

# A sample's number among all is its shard's number and its own in the shard, put together: in the order of the input,
# and known without counting the shards before.
SHARD_BITS = 32


def marks_table(done: pa.Table, marks: Sequence[str], rows: np.ndarray) -> pa.Table:
    """The marks of the samples in `done`, without those that can be nobody's duplicates.

    A list of bands becomes a column for each band (`band_0` and on), so that one can be read without the others; a list
    of units a row for each unit (`unit`: its place in the text, `key`), but for those of key 0, which take no part.
    """
    columns = {"_row": ints(rows)} | {mark_name(name): done[name].combine_chunks() for name in marks}
    if "marks" in columns:  # a function that gives several at once
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
    """A type among those of marks, or within one, that Parquet has no place for, by DuckDB's name; None: all can be written."""
    kinds = [done.schema.field(name).type for name in marks]
    while kinds:
        kind = kinds.pop()
        if pa.types.is_interval(kind) or pa.types.is_union(kind):
            return "INTERVAL" if pa.types.is_interval(kind) else "UNION"
        kinds += [kind.field(number).type for number in range(kind.num_fields)]
    return None


def write_marks(path: Path, tables: Sequence[pa.Table]) -> Path:
    """Write a shard's marks; keys are as good as random, so packing them is not tried."""
    found = [table for table in tables if table.num_rows] or list(tables[:1])
    pq.write_table(pa.concat_tables(found), path, compression="none", use_dictionary=False, write_statistics=False)
    return path
