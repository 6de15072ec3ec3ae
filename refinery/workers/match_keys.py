"""Match keys of samples (what a deduplicator compares), as shards leave them for the set SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.digest import Digest
from refinery.common.lazy import pc, pq
from refinery.compiler.deduplicators import key_name
from refinery.dedup.matchers import MatchColumn
from refinery.io.model import RemovedIn
from refinery.kernels.core.arrow import ints, items, numbers, whole
from refinery.storage.store import Store

# The global number of a sample combines the shard's number with the sample's number in the shard: ordered as the input
# is, and known without counting the rows of earlier shards.
SHARD_BITS = 32
_IN_SHARD = (1 << SHARD_BITS) - 1


def keys_table(done: pa.Table, names: Sequence[str], form: Sequence[MatchColumn], rows: np.ndarray) -> pa.Table:
    """Match keys of the samples in `done`, without samples that cannot be duplicates.

    names: columns of `done`. form: of the match keys; a sample that has none of the first column is no duplicate.
    """
    columns = {"_row": ints(rows)} | {key_name(name): whole(done[name]) for name in names}
    if "marks" in columns:  # a function that returns several keys at once
        fields = columns.pop("marks")
        columns |= dict(zip(fields.type.names, fields.flatten(), strict=True)) if fields.type.num_fields else {}
    table = pa.table(columns)
    if table[form[0].name].null_count:
        table = table.filter(pc.is_valid(table[form[0].name]))
    for column in form:
        table = _FORMS[column.form](table, column)
    return table


def _as_columns(table: pa.Table, column: MatchColumn) -> pa.Table:
    """Items of lists as columns, so that each is read without the others."""
    lists = whole(table[column.name])
    keys = numbers(items(lists)).reshape(len(lists), -1) if len(lists) else np.zeros((0, 0))
    columns = {name: table[name] for name in table.column_names if name != column.name}
    return pa.table(columns | {f"{column.each}_{i}": ints(keys[:, i]) for i in range(keys.shape[1])})


def _as_rows(table: pa.Table, column: MatchColumn) -> pa.Table:
    """Items of lists as rows with their places; items that are 0 take no part."""
    lists = whole(table[column.name])
    lengths = numbers(pc.list_value_length(lists)).astype(np.int64)
    keys = numbers(items(lists))
    rows = np.repeat(numbers(table["_row"]), lengths)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    unit = np.arange(len(keys)) - first
    takes_part = keys != 0
    columns = {"_row": rows, "unit": unit, column.each: keys}
    return pa.table({name: ints(values[takes_part]) for name, values in columns.items()})


def _as_tuples(table: pa.Table, column: MatchColumn) -> pa.Table:
    """Items of lists as rows, each of several consecutive items."""
    lists, names = whole(table[column.name]), column.each.split()
    values = numbers(items(lists)).reshape(-1, len(names))
    counts = numbers(pc.list_value_length(lists)).astype(np.int64) // len(names)
    columns = {name: ints(np.ascontiguousarray(values[:, at])) for at, name in enumerate(names)}
    return pa.table({"_row": ints(np.repeat(numbers(table["_row"]), counts)), **columns})


_FORMS: dict[str, Callable[[pa.Table, MatchColumn], pa.Table]] = {
    "value": lambda table, column: table,
    "columns": _as_columns,
    "rows": _as_rows,
    "tuples": _as_tuples,
}


def unwritable(done: pa.Table, names: Sequence[str]) -> str | None:
    """DuckDB's name of a type of match keys, also nested, that Parquet cannot hold; None if all can be written."""
    kinds = [done.schema.field(name).type for name in names]
    while kinds:
        kind = kinds.pop()
        if pa.types.is_interval(kind) or pa.types.is_union(kind):
            return "INTERVAL" if pa.types.is_interval(kind) else "UNION"
        kinds += [kind.field(number).type for number in range(kind.num_fields)]
    return None


def write_removed(path: Path, rows: np.ndarray) -> Iterator[tuple[int, int, int, str]]:
    """Write numbers of removed samples, ascending; gives for each shard its number, first, end and digest of `RemovedIn`."""
    path.write_bytes(np.ascontiguousarray(rows, np.int64).tobytes())
    shards = rows >> SHARD_BITS
    cuts = np.flatnonzero(np.append(True, shards[1:] != shards[:-1])[: len(rows)]).tolist()
    for first, end in zip(cuts, [*cuts[1:], len(rows)], strict=True):
        yield int(shards[first]), first, end, digest_of_numbers(rows[first:end] & _IN_SHARD)


def removed_from(store: Store, where: RemovedIn) -> np.ndarray:
    """Numbers in their shard of removed samples, of a file of `write_removed`."""
    data = store.bytes_at(where.name, where.first * 8, (where.end - where.first) * 8)
    return np.frombuffer(data, np.int64) & _IN_SHARD


def digest_of_numbers(numbers: np.ndarray) -> str:
    """Digest of numbers of samples in their shard."""
    digest = Digest()
    digest.update(np.ascontiguousarray(numbers))
    return digest.hexdigest()


def write_keys(path: Path, tables: Sequence[pa.Table]) -> Path:
    """Write a shard's match keys; keys are as good as random, so only texts are compressed."""
    together = pa.concat_tables([table for table in tables if table.num_rows] or list(tables[:1]))
    compressed = "zstd" if any(pa.types.is_string(kind) for kind in together.schema.types) else "none"
    pq.write_table(together, path, compression=compressed, use_dictionary=False, write_statistics=False)
    return path
