"""The fact source that takes stored facts of a run, and has only the samples computed for which none are stored."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from refinery.inspect.refilter.stored_facts import StoredFacts
from refinery.io.model import Shard
from refinery.io.readers.read import Batch, read
from refinery.kernels.core.arrow import ints, numbers
from refinery.workers import quarantined_rows
from refinery.workers.facts import BatchFacts, ComputedFacts, WholeShardFacts
from refinery.workers.joined_shards import numbered
from refinery.workers.worker import Task, carried, fetched


class StoredFactSource:
    """Facts of a stage's samples; see FactSource. computed: computes facts that are not stored."""

    def __init__(self, stored: StoredFacts, computed: ComputedFacts) -> None:
        self._known, self._computed = stored, computed
        self._columns: pa.Schema | None = None
        self._stored, self._rows = pa.table({}), np.zeros(0, np.int64)

    def begin(self, shard: Shard, task: Task) -> None:
        """Read what is stored of the shard."""
        self._computed.begin(shard, task)
        if self._columns is None or self._computed.program.carried:
            self._columns = self._schema(fetched(shard, task.store))
        facts = self._known.of(shard.index)
        self._rows = numbers(facts["_row"])
        self._stored = _conform(facts.append_column("_i", ints(np.arange(len(facts)))), self._columns)
        self._known.again[shard.index] = np.zeros(0, np.int64)

    def whole(self, shard: Shard, task: Task) -> WholeShardFacts | None:
        """Facts of the whole shard, if all are stored and no sample is written."""
        part, place = shard.part, self._known.places[shard.index]
        bad = self._known.unreadable(shard.index) if part is None and not task.write else []
        rows = place.rows - len(bad) if part is None else _samples_of(fetched(shard, task.store))
        if task.write or rows != len(self._rows):
            return None
        return WholeShardFacts(self._rows, self._stored, bad, place.lines)

    def of(self, shard: Shard, batch: Batch, first_row: int) -> BatchFacts:
        """Facts of a batch: stored ones, and computed ones for the samples without."""
        place = np.searchsorted(self._rows, batch.rows)
        place[place == len(self._rows)] = 0
        known = self._rows[place] == batch.rows if len(self._rows) else np.zeros(len(batch.rows), bool)
        facts = numbered(self._stored.take(ints(place[known])), np.flatnonzero(known))
        if known.all():
            return BatchFacts(facts, list(quarantined_rows.unreadable(shard, batch)))
        index = np.flatnonzero(~known)
        part = replace(batch.take(index), bad=batch.bad)
        computed = self._computed.of(shard, part, first_row)
        self._note(shard, part, computed)
        done = numbered(computed.rows, index[numbers(computed.rows["_i"])])
        both = pa.concat_tables([_conform(done, facts.schema), facts])
        return replace(computed, rows=both.take(ints(np.argsort(numbers(both["_i"]), kind="stable"))))

    def _note(self, shard: Shard, part: Batch, facts: BatchFacts) -> None:
        """Count the samples that were computed again."""
        unread = [row["_row"] for row in facts.bad if row["step"] == 0]
        again = self._known.again
        again[shard.index] = np.concatenate((again[shard.index], part.rows[~np.isin(part.rows, unread)]))

    def _schema(self, shard: Shard) -> pa.Schema:
        """Columns of the statement's result; their types depend on what earlier stages store for the shard."""
        program, connection = self._computed.program, self._computed.connection
        first = next(read(shard, 1 << 16, carry=carried(program)))
        return connection.query(program.pass_sql, first.take(np.zeros(0, np.int64)), 0).schema


def from_stored(stored: StoredFacts) -> partial[StoredFactSource]:
    """Maker of the fact source of a worker."""
    return partial(StoredFactSource, stored)


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give a table the columns of the statement's result; a column without stored values is not used and is NULL."""
    columns = {
        column.name: table[column.name].cast(column.type)
        if column.name in table.column_names
        else pa.nulls(len(table), column.type)
        for column in schema
    }
    return pa.table(columns)


def _samples_of(shard: Shard) -> int:
    """Number of samples that earlier stages have left of a shard."""
    assert shard.part is not None and shard.part.picked is not None
    return len(shard.part.picked)
