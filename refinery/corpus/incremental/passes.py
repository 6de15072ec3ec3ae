"""Runs the statement of a stage over some rows, with the workers of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from refinery.common.arrays import read_array
from refinery.common.lazy import pc, pq
from refinery.corpus.engine import QUARANTINED
from refinery.corpus.incremental.rows import NONE
from refinery.corpus.incremental.shards import LINE, Samples, lines_of
from refinery.execution.backend import Backend
from refinery.io.model import Shard
from refinery.kernels.core.arrow import ints, numbers
from refinery.planning.plan import CompiledStage, Plan
from refinery.storage.local import LocalStore
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.tasks import ShardResult, Task
from refinery.workers.threads import WorkerThreads
from refinery.workers.worker import Worker


@dataclass(frozen=True)
class Passed:
    """Result of a stage over some rows.

    samples: those that its steps keep. gone: numbers of the others. step: of these, the number of the step that removed
    each, or QUARANTINED. keys: match keys of the kept samples, by `_row`; None without any.
    """

    samples: Samples
    gone: np.ndarray
    step: np.ndarray
    keys: pa.Table | None


class StagePass:
    """Runs stages of a plan. store: of the workers' files."""

    def __init__(self, plan: Plan, store: LocalStore, backend: Backend) -> None:
        self._plan, self._store, self._backend = plan, store, backend

    def run(self, planned: CompiledStage, shards: Sequence[Shard]) -> list[ShardResult]:
        """Results of shards."""
        if not shards:
            return []
        recipe, last = self._plan.recipe, planned is self._plan.stages[-1]
        task = Task(
            f"stage_{planned.stage.number}",
            self._plan.sizes.bytes,
            last=False,  # numbers of the kept rows are left
            store=self._store.url,
            batch_rows=self._plan.sizes.rows,
            fields=recipe.export_fields if last else (),
        )
        memory = f"{max(1, recipe.memory_limit // self._plan.workers // 1000)}KB" if recipe.memory_limit else None
        threads = 1 if planned.program.files else recipe.threads or 1
        make, workers = partial(Worker, threads=threads), self._backend.workers(planned)
        with WorkerThreads(planned.program, workers, memory, self._backend.spill, make) as pool:
            runner = self._backend.runner(planned, shards, pool)
            try:
                return runner.run(shards, lambda _: task)
            finally:
                runner.close()

    def gathered(
        self,
        planned: CompiledStage,
        results: Sequence[ShardResult],
        rows: Sequence[np.ndarray],
        carried: pa.Table | None,
    ) -> Passed:
        """Files of the workers. rows: numbers in the corpus of each shard's rows. carried: the input of the workers."""
        lines, names = self._plan.lines, self.carried_after(planned)
        kept, values, facts, gone, step, keys = [], [], [], [], [], []
        for result, own in zip(results, rows, strict=True):
            at = read_array(self._store.fetch(result.rows_left))[0]
            kept.append(own[at])
            values += [self._samples(result, lines)] if len(at) else []
            known = self._facts(result, names)
            if known is not None:
                known = known.set_column(0, "_row", ints(own[numbers(known["_row"])]))
                dropped = known.filter(pc.is_valid(known["_dropped"]))
                gone.append(numbers(dropped["_row"]))
                step.append(numbers(dropped["_dropped"]).astype(np.int32))
                facts.append(known.filter(pc.is_null(known["_dropped"])).drop_columns(["_dropped"]))
            bad = self._quarantined(result)
            gone.append(own[bad])
            step.append(np.full(len(bad), QUARANTINED, np.int32))
            keys += [self._keys(result, own)] if result.match_keys else []
        numbered = np.concatenate([NONE, *kept])
        there = [table for table in keys if len(table)]
        return Passed(
            Samples(numbered, _together(values, lines), _carried(numbered, carried, facts, names), lines),
            np.concatenate([NONE, *gone]),
            np.concatenate([np.zeros(0, np.int32), *step]),
            pa.concat_tables(there) if there else None,
        )

    def carried_after(self, planned: CompiledStage) -> list[str]:
        """Columns of facts that stages after this one read."""
        later = [one for one in self._plan.stages if one.stage.number > planned.stage.number]
        return sorted({name for one in later for name in one.program.carried})

    def _samples(self, result: ShardResult, lines: bool) -> pa.Table:
        path = self._store.fetch(result.part)
        return pa.table({LINE: lines_of(path.read_bytes())}) if lines else pq.ParquetFile(path).read()

    def _facts(self, result: ShardResult, names: Sequence[str]) -> pa.Table | None:
        if not result.facts:
            return None
        path = self._store.fetch(result.facts)
        there = set(pq.read_schema(path).names)
        return pq.ParquetFile(path).read(["_row", "_dropped", *(name for name in names if name in there)])

    def _quarantined(self, result: ShardResult) -> np.ndarray:
        if not result.quarantine:
            return NONE
        return numbers(pq.ParquetFile(self._store.fetch(result.quarantine)).read(["_row"])["_row"]).astype(np.int64)

    def _keys(self, result: ShardResult, own: np.ndarray) -> pa.Table:
        table = pq.ParquetFile(self._store.fetch(result.match_keys)).read()
        inside = numbers(table["_row"]) & ((1 << SHARD_BITS) - 1)
        return table.set_column(table.column_names.index("_row"), "_row", ints(own[inside]))


def _together(tables: Sequence[pa.Table], lines: bool) -> pa.Table:
    """Samples of several shards."""
    if tables:
        return pa.concat_tables(tables, promote_options="permissive")
    return pa.table({LINE: pa.array([], pa.large_binary())}) if lines else pa.table({})


def _carried(rows: np.ndarray, before: pa.Table | None, facts: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    """Columns of facts for rows: those that their shards were given, and those that the stage has computed."""
    columns: dict[str, pa.Array | pa.ChunkedArray] = {"_row": ints(rows)}
    for table in [*([before] if before is not None else []), *([pa.concat_tables(facts)] if facts else [])]:
        at = ints(np.searchsorted(numbers(table["_row"]), rows))
        columns |= {name: table[name].take(at) for name in table.column_names if name in names}
    return pa.table(columns)
