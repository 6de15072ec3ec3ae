"""The facts of a changed recipe's run: results of the old run up to the stage of the change."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from refinery.common.lazy import duckdb
from refinery.dedup.model import DedupResult
from refinery.execution.run_facts import StageFacts
from refinery.execution.stage_barrier import scratch_of
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.change import RecipeChange, certain
from refinery.inspect.refilter.export_lines import ExportSelection
from refinery.inspect.refilter.exported_texts import exported_texts
from refinery.inspect.refilter.shard_positions import ShardPosition
from refinery.inspect.refilter.stored_fact_source import from_stored
from refinery.inspect.refilter.stored_facts import StoredFacts, StoredFactsQuery
from refinery.inspect.refilter.stored_findings import stored_findings
from refinery.inspect.refilter.table_patch import PatchedTables, amend
from refinery.planning.plan import CompiledStage, Plan
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.workers.tasks import ShardResult
from refinery.workers.worker import computed

# Rows of a batch whose results are mostly stored.
_ROWS = 1 << 17


class StoredRunFacts:
    """Facts of an earlier run; see RunFacts. decided: when the fate of every sample was known, as `perf_counter`.

    tables: those of the run with the changes; None if samples must run or be written again. selection: files to copy
    the export from, where the tables are patched.
    """

    def __init__(self, prepared: Plan, stored: FinishedRun, change: RecipeChange, places: list[ShardPosition]) -> None:
        self._prepared, self._stored, self._change, self._places = prepared, stored, change, places
        self._known: dict[int, StoredFacts] = {}
        self.tables: PatchedTables | None = None
        self.selection: ExportSelection | None = None
        self.decided = 0.0

    def begin(self, store: Store) -> None:
        """Patch the tables if that is enough; else find out which results of which stages are stored."""
        supposed = self._change
        try:
            self.tables = self._amended(store)
        except duckdb.Error:
            self._change = certain(self._stored.con, supposed)
            if self._change == supposed:
                raise
        else:
            if self.tables is None:
                self._change = certain(self._stored.con, supposed)
        if self.tables is None:
            self._look_up(store)

    def _look_up(self, store: Store) -> None:
        texts = self._texts(store)
        query = self._query(texts is not None)
        for planned in self._prepared.stages[: self._change.stage]:
            if not planned.program.copies:
                folder = texts if planned.program.changes else None
                sql = query.sql(planned)
                self._known[planned.stage.number] = StoredFacts(self._stored.con, sql, self._places, folder)

    def of_stage(self, stage: CompiledStage) -> StageFacts | None:
        """Stored facts of the stages up to that of the change."""
        if self.tables is not None:  # workers recompute traced rows alone
            return StageFacts(computed, _ROWS)
        known = self._known.get(stage.stage.number)
        return StageFacts(from_stored(known), _ROWS) if known is not None else None

    def results(self, stage: CompiledStage) -> list[ShardResult] | None:
        """Results in place of those of the shards, with the fields in use, where tables are patched."""
        if self.tables is None:
            return None
        results = [ShardResult(shard, place.rows, place.lines) for shard, place in enumerate(self._places)]
        for result in results[:1]:
            result.kept = self.tables.kept
        return results

    def findings(self, stage: CompiledStage, store: Store) -> DedupResult | None:
        """Findings of a deduplicator before the change."""
        if stage.stage.number >= self._change.stage:
            return None
        folder, units = scratch_of(store, stage), self._of_units(stage.stage.after)
        return stored_findings(self._stored, stage.stage.after, units, self._places, folder)

    def end(self, done: Sequence[StageResult]) -> None:
        """Note the time; the bytes of the input are those that the run has read."""
        self.decided = time.perf_counter()
        for result, place in zip(done[0].results, self._places, strict=True):
            result.bytes, result.passed_over = 0, place.passed_over
            result.rows_of, result.line_offsets = place.rows_of, place.line_offsets
        if done[0].results:
            done[0].results[0].bytes = self._stored.manifest["bytes"]

    def rows_again(self) -> int:
        """Number of samples that ran again, up to the stage of the change."""
        rows_by_shard: dict[int, list[np.ndarray]] = {}
        for known in self._known.values():
            for shard, rows in known.again.items():
                rows_by_shard.setdefault(shard, []).append(rows)
        return sum(len(np.unique(np.concatenate(rows))) for rows in rows_by_shard.values())

    def _query(self, texts: bool = False, writes: bool = True) -> StoredFactsQuery:
        """Writer of the SQL over stored results.

        texts: whether exported texts are available. writes: False if no texts are needed, though samples are exported.
        """
        return StoredFactsQuery(
            stages=self._prepared.stages,
            change=self._change,
            stored=self._stored.columns,
            writes=writes and self._writes,
            traced=self._prepared.recipe.open_tracer,
            texts=texts,
            units=frozenset(p.stage.number for p in self._prepared.stages if self._of_units(p.stage.before)),
        )

    @property
    def _writes(self) -> bool:
        return self._prepared.recipe.exports

    def _of_units(self, step: Any) -> bool:
        return step is not None and self._prepared.library.operators[step.name].matcher.takes_units

    def _texts(self, store: Store) -> Path | None:
        """Folder with the exported texts of the run; None if they are not needed or no longer available."""
        stages = self._prepared.stages[: self._change.stage]
        last = self._change.stage == len(self._prepared.stages)
        if not self._writes or not last or not any(planned.program.changes for planned in stages):
            return None
        if self._prepared.recipe.open_tracer and len(stages) > 1:
            return None  # traces of later stages replay from the texts between stages
        folder = store.scratch() / "texts"
        return folder if exported_texts(self._stored, stages, self._places, folder) else None

    def _amended(self, store: Store) -> PatchedTables | None:
        """The tables of the run with the changes; None if samples must run or be written again."""
        planned, recipe = self._prepared.stages[0], self._prepared.recipe
        if len(self._prepared.stages) > 1 or planned.program.copies:
            return None
        selection = ExportSelection.of(self._stored, recipe) if self._writes else None
        if self._writes and selection is None:
            return None
        query, changes = self._query(writes=False), scratch_of(store, planned) / "changes.parquet"
        rows, columns = sum(place.rows for place in self._places), list(query.columns(planned))
        amended = amend(self._stored, query.sql(planned, all_rows=True), columns, rows, changes)
        if amended is None or (selection is not None and amended.gained):
            return None
        self.selection = selection
        return amended
