"""Chosen samples of several shards as one relation: a statement that replays them costs more to plan than to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refinery.io.readers.read import Batch
from refinery.kernels.core.arrow import ints, numbers

# Bytes of the samples of one statement, as many as a large batch of a pass has.
_MOST = 16 << 20


@dataclass(frozen=True)
class Chosen:
    """Samples of one shard, and the relation that a statement is run over. of: position of the shard among others."""

    of: int
    batch: Batch
    relation: pa.Table


def groups(parts: Iterable[Chosen]) -> Iterator[list[Chosen]]:
    """Parts for one statement, in their order; only columns of the same types go together, so that no value changes."""
    group: list[Chosen] = []
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


def joined(group: Sequence[Chosen]) -> pa.Table:
    """The relation of a group, whose samples are numbered through."""
    ends = np.cumsum([len(part.batch.rows) for part in group])
    tables = [
        _numbered(part.relation, np.arange(end - len(part.batch.rows), end))
        for part, end in zip(group, ends.tolist(), strict=True)
    ]
    return pa.concat_tables(tables) if len(tables) > 1 else tables[0]


def apart(group: Sequence[Chosen], done: pa.Table) -> Iterator[tuple[Chosen, pa.Table]]:
    """The rows of each part, under the numbers that its samples have in it. done: in the order of the numbers."""
    order, first = numbers(done["_i"]), 0
    for part in group:
        start, end = np.searchsorted(order, [first, first + len(part.batch.rows)]).tolist()
        yield part, _numbered(done.slice(start, end - start), order[start:end] - first)
        first += len(part.batch.rows)


def _numbered(table: pa.Table, values: np.ndarray) -> pa.Table:
    return table.set_column(table.schema.get_field_index("_i"), "_i", ints(values.astype(np.int64)))
