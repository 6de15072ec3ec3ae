"""Chosen samples of several shards as one relation: a replay statement costs more to plan than to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refinery.io.readers.read import Batch
from refinery.kernels.core.arrow import ints, numbers

# Bytes of the samples of one statement, about a large batch of a pass.
_MOST = 16 << 20


@dataclass(frozen=True)
class ChosenRows:
    """Chosen samples of one shard, and their relation for a statement. of: position of the shard among the shards."""

    of: int
    batch: Batch
    relation: pa.Table


def groups(parts: Iterable[ChosenRows]) -> Iterator[list[ChosenRows]]:
    """Group parts into statements, in order. Only parts with equal column types are joined: no value changes."""
    group: list[ChosenRows] = []
    size = 0
    for part in parts:
        more = part.relation.nbytes
        if group and (size + more > _MOST or not part.relation.schema.equals(group[0].relation.schema)):
            yield group
            group, size = [], 0
        group.append(part)
        size += more
    if group:
        yield group


def joined(group: Sequence[ChosenRows]) -> pa.Table:
    """The relation of a group, with samples numbered consecutively."""
    ends = np.cumsum([len(part.batch.rows) for part in group])
    tables = [
        numbered(part.relation, np.arange(end - len(part.batch.rows), end))
        for part, end in zip(group, ends.tolist(), strict=True)
    ]
    return pa.concat_tables(tables) if len(tables) > 1 else tables[0]


def apart(group: Sequence[ChosenRows], done: pa.Table) -> Iterator[tuple[ChosenRows, pa.Table]]:
    """Split the result of a group by part, with the sample numbers of each part. done: ordered by number."""
    order, first = numbers(done["_i"]), 0
    for part in group:
        start, end = np.searchsorted(order, [first, first + len(part.batch.rows)]).tolist()
        yield part, numbered(done.slice(start, end - start), order[start:end] - first)
        first += len(part.batch.rows)


def numbered(table: pa.Table, values: np.ndarray) -> pa.Table:
    """A result with other numbers of samples."""
    return table.set_column(table.schema.get_field_index("_i"), "_i", ints(values.astype(np.int64)))
