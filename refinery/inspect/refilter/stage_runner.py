"""Stage runner for a changed recipe: uses stored results of an earlier run in place of new computation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from refinery.dedup import units
from refinery.dedup.barrier import DedupResult
from refinery.execution.stage_runner import StageRunner, folder_of
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.change import RecipeChange, certain
from refinery.inspect.refilter.export_lines import ExportSelection
from refinery.inspect.refilter.exported_texts import exported_texts
from refinery.inspect.refilter.stored_fact_source import from_stored
from refinery.inspect.refilter.stored_facts import ShardPosition, StoredFacts, StoredFactsQuery
from refinery.inspect.refilter.table_patch import PatchedTables, amend
from refinery.io.model import Shard, Written
from refinery.kernels.core.arrow import ints
from refinery.planning.plan import CompiledStage, Plan
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.runner import Runner
from refinery.workers.threads import Workers, WorkerThreads
from refinery.workers.worker import ShardResult, Task, Worker

_DUPLICATES = "SELECT _row, kept, via, unit, matched, distance, estimated_jaccard, jaccard FROM duplicates WHERE step = $step ORDER BY _row, unit"
_CLUSTERS = """
SELECT one._row, survivor._row AS kept, one.size FROM clusters AS one
JOIN clusters AS survivor ON survivor.step = one.step AND survivor.cluster = one.cluster AND survivor.survivor
WHERE one.step = $step ORDER BY kept, one._row
"""


# Rows of a batch whose results are mostly stored.
_ROWS = 1 << 17


class RefilterStageRunner(StageRunner):
    """Stage runner that reads stored results up to the stage of the change, and runs the later stages."""

    def __init__(
        self,
        prepared: Plan,
        store: Store,
        first_rows: Sequence[int],
        *,
        stored: FinishedRun,
        change: RecipeChange,
        places: list[ShardPosition],
        **options: Any,
    ) -> None:
        super().__init__(prepared, store, first_rows, **options)
        self.stored, self.change, self.places = stored, change, places
        self.knowledge: dict[int, StoredFacts] = {}
        self.decided = 0.0
        self._selection: ExportSelection | None = None
        self._stats: Written | None = None

    def keep(self) -> None:
        """Store no checkpoints: the results come from the stored run."""

    def run(self, report: Callable[[ShardResult], None] | None) -> list[StageResult]:
        """Run all stages."""
        supposed = self.change
        try:
            self.tables = self._amended()
        except duckdb.Error:
            self.change = certain(self.stored.con, supposed)
            if self.change == supposed:
                raise
        else:
            if self.tables is None:
                self.change = certain(self.stored.con, supposed)
        texts = self._texts() if self.tables is None else None
        query = self.facts_query(texts is not None)
        for planned in self.prepared.stages[: self.change.stage]:
            if not planned.program.copies:
                folder = texts if planned.program.changes else None
                self.knowledge[planned.stage.number] = StoredFacts(
                    self.stored.con, query.sql(planned), self.places, folder
                )
        done = super().run(report)
        self.decided = time.perf_counter()
        for result in done[0].results:
            result.bytes = 0
        if done[0].results:
            done[0].results[0].bytes = self.stored.manifest["bytes"]
        return done

    def facts_query(self, texts: bool = False, writes: bool = True) -> StoredFactsQuery:
        """Return a writer of the SQL over stored results.

        texts: whether exported texts are available. writes: False if no texts are needed, though samples are exported.
        """
        return StoredFactsQuery(
            stages=self.prepared.stages,
            change=self.change,
            stored=self.stored.columns,
            writes=writes and self._writes,
            traced=self.prepared.recipe.open_tracer,
            texts=texts,
            units=frozenset(p.stage.number for p in self.prepared.stages if self._of_units(p.stage.before)),
        )

    def rows_again(self) -> int:
        """Number of samples that ran again, up to the stage of the change."""
        found: dict[int, list[np.ndarray]] = {}
        for knowledge in self.knowledge.values():
            for shard, rows in knowledge.again.items():
                found.setdefault(shard, []).append(rows)
        return sum(len(np.unique(np.concatenate(rows))) for rows in found.values())

    @property
    def _writes(self) -> bool:
        return self.prepared.recipe.exports

    def _of_units(self, step: Any) -> bool:
        return step is not None and self.prepared.library.operators[step.name].matcher.takes_units

    def _texts(self) -> Path | None:
        """Folder with the exported texts of the run; None if they are not needed or no longer available."""
        stages = self.prepared.stages[: self.change.stage]
        last = self.change.stage == len(self.prepared.stages)
        if not self._writes or not last or not any(planned.program.changes for planned in stages):
            return None
        if self.prepared.recipe.open_tracer and len(stages) > 1:
            return None  # traces of later stages replay from the texts between stages
        folder = self.store.scratch() / "texts"
        return folder if exported_texts(self.stored, stages, self.places, folder) else None

    def _stage(
        self, planned: CompiledStage, shards: list[Shard], report: Callable[[ShardResult], None] | None
    ) -> StageResult:
        if isinstance(self.tables, PatchedTables):
            pool = self._pools.enter_context(super()._pool(planned, self.prepared.workers, None))
            results = self._stored_results(self.tables.kept)
            return StageResult(planned, pool, shards, results, partial(self._task, planned, True), store=self.store)
        return super()._stage(planned, shards, report)

    def _amended(self) -> PatchedTables | None:
        """The tables of the run with the changes; None if samples must run or be written again."""
        planned, recipe = self.prepared.stages[0], self.prepared.recipe
        if len(self.prepared.stages) > 1 or planned.program.copies:
            return None
        selection = ExportSelection.of(self.stored, recipe) if self._writes else None
        if self._writes and selection is None:
            return None
        query, changes = self.facts_query(writes=False), self._folder(planned) / "changes.parquet"
        rows, columns = sum(place.rows for place in self.places), list(query.columns(planned))
        amended = amend(self.stored, query.sql(planned, whole=True), columns, rows, changes)
        if amended is None or (selection is not None and amended.gained):
            return None
        self._selection = selection
        return amended

    def exported(self, last: StageResult) -> list[Written] | None:
        """The files of the export; copied from the old run's export if that has all of the samples."""
        if self._selection is None or not isinstance(self.tables, PatchedTables):
            return super().exported(last)
        files, self._stats = self._selection.write(self.tables.changes, self._target)
        return files

    @property
    def _target(self) -> str:
        recipe = self.prepared.recipe
        return Workplace.of(recipe.work_dir).file_of_export(recipe.export_path)

    def exported_stats(self) -> Written | None:
        """The file of the samples' statistics, if it was copied with the export."""
        return self._stats

    def _stored_results(self, kept: int) -> list[ShardResult]:
        """Results in place of those of the shards, with the fields in use. kept: samples kept in all shards."""
        results = [ShardResult(shard, place.rows, place.lines) for shard, place in enumerate(self.places)]
        for result in results[:1]:
            result.kept = kept
        return results

    def _pool(self, planned: CompiledStage, workers: int, memory: str | None) -> WorkerThreads:
        knowledge = self.knowledge.get(planned.stage.number)
        if knowledge is None:
            return super()._pool(planned, workers, memory)
        make = partial(Worker, facts=from_stored(knowledge))
        return WorkerThreads(planned.program, workers, memory, self.spill, make)

    def _task(self, planned: CompiledStage, last: bool, shard: Shard) -> Task:
        """A task with large batches: DuckDB plans a statement for each batch, and few rows of it must be computed."""
        task = super()._task(planned, last, shard)
        known = planned.stage.number in self.knowledge
        return replace(task, batch_rows=max(task.batch_rows, _ROWS)) if known else task

    def _apart(self, planned: CompiledStage, shards: Sequence[Shard]) -> bool:
        return planned.stage.number not in self.knowledge and super()._apart(planned, shards)

    def _runner(self, planned: CompiledStage, shards: Sequence[Shard], pool: WorkerThreads) -> Runner:
        known = planned.stage.number in self.knowledge
        return Workers(pool) if known else super()._runner(planned, shards, pool)

    def _barrier(self, done: Sequence[StageResult]) -> DedupResult:
        planned = done[-1].planned
        if planned.stage.number >= self.change.stage:
            return super()._barrier(done)
        step, folder = planned.stage.after, self._folder(planned)
        assert step is not None
        findings = DedupResult(step.index)
        duplicates = self._rows_of(_DUPLICATES, step.index, ("_row", "kept", "via"))
        if not len(duplicates):
            return findings
        findings.duplicates = str(folder / "duplicates.parquet")
        pq.write_table(duplicates, findings.duplicates)
        if self._of_units(step):
            findings.units = units.by_shard(Path(findings.duplicates), f"_removed_{step.index}", folder)
            return self._published(planned, findings)
        findings.clusters = str(folder / "clusters.parquet")
        pq.write_table(self._rows_of(_CLUSTERS, step.index, ("_row", "kept")), findings.clusters)
        findings.removed = np.sort(duplicates["_row"].to_numpy())
        return self._published(planned, findings)

    def _folder(self, planned: CompiledStage) -> Path:
        """Folder for the files of a stage."""
        folder = self.store.scratch() / folder_of(planned)
        folder.mkdir(exist_ok=True)
        return folder

    def _rows_of(self, query: str, step: int, names: Sequence[str]) -> pa.Table:
        """Rows of a table, with sample numbers as the shards count them."""
        table = self.stored.con.sql(query, params={"step": step}).to_arrow_table()
        firsts = np.array([place.first for place in self.places], np.int64)
        for name in names:
            column = table[name].combine_chunks()
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            rows = column.fill_null(0).to_numpy()
            shard = np.searchsorted(firsts, rows, "right") - 1
            coded = ints((shard.astype(np.int64) << SHARD_BITS) + rows - firsts[shard], valid)
            table = table.set_column(table.schema.get_field_index(name), name, coded)
        return table
