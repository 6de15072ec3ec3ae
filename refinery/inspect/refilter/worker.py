"""Worker that reuses stored results of a run and computes only the samples without stored results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.compiler.program import Program
from refinery.inspect.refilter.stored_facts import StoredFacts
from refinery.io.model import Shard
from refinery.io.readers.read import Batch, read
from refinery.kernels.core.arrow import ints, numbers
from refinery.workers.worker import ShardResult, Task, Worker, fetched


class StoredFactsWorker(Worker):
    """Worker with stored results; its output for a shard is that of a plain worker."""

    def __init__(
        self, program: Program, memory_limit: str | None, temporary: str | None, *, knowledge: StoredFacts
    ) -> None:
        super().__init__(program, memory_limit, temporary)
        self._knowledge = knowledge
        self._columns: pa.Schema | None = None
        self._stored, self._rows = pa.table({}), np.zeros(0, np.int64)
        self._again: list[np.ndarray] = []

    def run(self, shard: Shard, task: Task) -> ShardResult:
        """Run one shard; the worker does not read it if all results are stored and nothing is written."""
        self._ask(fetched(shard, task.store))
        given, place = shard.part, self._knowledge.places[shard.index]
        bad = self._knowledge.unreadable(shard.index) if given is None and not task.write else []
        rows = place.rows - len(bad) if given is None else len(given.picked)
        if not task.write and rows == len(self._rows):
            result = self.leave(shard, self._rows, self._stored, bad, task)
            result.lines = place.lines
        else:
            result = super().run(shard, task)
        again = np.concatenate([np.zeros(0, np.int64), *self._again])
        self._knowledge.again[shard.index] = again
        return result

    def _ask(self, shard: Shard) -> None:
        if self._columns is None or self.program.carried:
            self._columns = self._schema(shard)
        facts = self._knowledge.of(shard.index)
        self._rows = numbers(facts["_row"])
        self._stored = _conform(facts.append_column("_i", ints(np.arange(len(facts)))), self._columns)
        self._again = []

    def _schema(self, shard: Shard) -> pa.Schema:
        """Columns of the statement's result; their types depend on what earlier stages store for the shard."""
        carry = (*self.program.carried, *([self.program.removed] if self.program.removed else []))
        first = next(read(shard, 1 << 16, carry=carry))
        return self._query(self.program.pass_sql, first.take(np.zeros(0, np.int64)), 0).schema

    def _batch(self, shard: Shard, batch: Batch, first_row: int, bad: list[dict[str, Any]]) -> pa.Table:
        place = np.searchsorted(self._rows, batch.rows)
        place[place == len(self._rows)] = 0
        known = self._rows[place] == batch.rows if len(self._rows) else np.zeros(len(batch.rows), bool)
        facts = _with_places(self._stored.take(ints(place[known])), np.flatnonzero(known))
        if known.all():
            self._unreadable(shard, batch, bad)
            self._profile_text = "{}"
            return facts
        index = np.flatnonzero(~known)
        part = replace(batch.take(index), bad=batch.bad)
        failed = len(bad)
        done = super()._batch(shard, part, first_row, bad)
        unread = [row["_row"] for row in bad[failed:] if row["step"] == 0]
        self._again.append(part.rows[~np.isin(part.rows, unread)])
        done = _with_places(done, index[numbers(done["_i"])])
        both = pa.concat_tables([_conform(done, facts.schema), facts])
        return both.take(ints(np.argsort(numbers(both["_i"]), kind="stable")))


def _with_places(done: pa.Table, places: np.ndarray) -> pa.Table:
    return done.set_column(done.schema.get_field_index("_i"), "_i", ints(places.astype(np.int64)))


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Give a table the columns of the statement's result; a column without stored values is not used and is NULL."""
    columns = {
        column.name: table[column.name].cast(column.type)
        if column.name in table.column_names
        else pa.nulls(len(table), column.type)
        for column in schema
    }
    return pa.table(columns)
