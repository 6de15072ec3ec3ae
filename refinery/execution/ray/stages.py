"""Stages of a recipe on a Ray cluster: shards and the joins of match keys are tasks, the driver does everything else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from refinery.dedup.barrier import DedupInput, DedupResult
from refinery.execution.ray import export
from refinery.execution.ray.barrier import Barrier
from refinery.execution.ray.connection import joined
from refinery.execution.ray.environment import described
from refinery.execution.ray.export_list import Listing
from refinery.execution.ray.map import every
from refinery.execution.ray.resources import of_stage
from refinery.execution.ray.runner import RayRunner
from refinery.execution.stage_runner import StageRunner
from refinery.io.model import Shard, Written
from refinery.planning.plan import CompiledStage, Plan
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers.runner import Runner
from refinery.workers.serialization import spooled
from refinery.workers.threads import WorkerThreads


class RayStageRunner(StageRunner):
    """Stages on a cluster, which they join when created and leave at exit."""

    def __init__(self, prepared: Plan, store: Store, first_rows: Sequence[int], exports: bool = False) -> None:
        """See StageRunner; shards share no process, so each writes a part. Raises OperatorError if there is no cluster."""
        super().__init__(prepared, store, first_rows)
        recipe = prepared.recipe
        self._listing: Listing | None = None
        if exports and recipe.exports:
            folder = export.folder_of(recipe.export_path)
            self._listing = Listing(Workplace.of(recipe.work_dir), folder)
            export.check_folder(folder, self._listing, store)
        self._membership = ExitStack()
        self.cluster = self._membership.enter_context(joined(recipe.ray_address, recipe.work_dir, prepared.workers))
        self.spill = recipe.temp_dir or str(self.cluster.temporary / "spill")

    def __exit__(self, *error: Any) -> None:
        try:
            super().__exit__(*error)
            if error[0] is not None and self._listing is not None:
                export.correct(export.folder_of(self.prepared.recipe.export_path), self._listing)
        finally:
            self._membership.close()

    def exported(self, last: StageResult) -> list[Written]:
        """Write a folder of parts at export_path, one task per part. Raises OutputError."""
        recipe = self.prepared.recipe
        listing = self._listing
        if listing is None:
            return []
        folder = export.folder_of(recipe.export_path)
        parts = export.names(self.prepared.fingerprint, recipe.export_format, last.results)
        jobs = [
            (self.store.url, result.part, folder, name, recipe.export_format, self.prepared.lines)
            for result, name in parts
        ]
        listing.begin(name for _, name in parts)
        answers = every(self.cluster, export.export_part, jobs)
        written = [Written(**json.loads(answer)) for answer in answers]
        export.publish(folder, listing, written)
        return written

    def _runner(self, planned: CompiledStage, shards: Sequence[Shard], pool: WorkerThreads) -> Runner:
        """Runner that runs shards as tasks of the cluster."""
        recipe = self.prepared.recipe
        steps = [*planned.steps, *([planned.stage.after] if planned.stage.after is not None else [])]
        library = self.prepared.library
        wants = of_stage(steps, library.operators, self._each)
        readers = {source.reader for source in self.prepared.sources if source.reader}
        around = described(planned.program.functions, steps, library, readers)
        options = recipe.row_timeout, self._spool, around
        return RayRunner(self.cluster, planned.program, wants, self._memory, self.spill, *options)

    def _spool(self, table: pa.Table) -> str:
        """A file with a table in memory, one for all shards of the table."""
        path = self.cluster.temporary / f"table_{id(table)}.arrow"
        return str(path) if path.exists() else spooled(table, path)

    def _marks(self, done: StageResult) -> list[str]:
        """Names of the files of match keys in the store, which tasks read."""
        return [result.match_keys for result in done.results if result.match_keys]

    def _find(self, given: DedupInput) -> DedupResult:
        """Find with tasks the samples or units to remove."""
        number = next(p.stage.number for p in self.prepared.stages if p.stage.after is given.step)
        return Barrier(self.cluster, self.store, f"stage_{number}", self._memory, self.spill).find(given)

    @property
    def _each(self) -> int:
        """Bytes that the DuckDB of each task may use; 0: no limit given."""
        recipe = self.prepared.recipe
        return recipe.memory_limit // recipe.np if recipe.memory_limit else 0

    @property
    def _memory(self) -> str | None:
        return f"{max(1, self._each // 1000)}KB" if self._each else None
