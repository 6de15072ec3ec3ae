"""The backend of this machine: threads or worker processes, chosen for each stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from refinery.dedup.barrier import DedupInput, DedupResult, find_duplicates
from refinery.execution.export_sink import ExportSink, FileExport, NoExport
from refinery.io.model import Shard
from refinery.planning.plan import CompiledStage, Plan
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers.backends import BackendChoice
from refinery.workers.runner import Runner
from refinery.workers.threads import WorkerThreads


class LocalBackend:
    """Threads and processes of this machine; see Backend."""

    def __init__(self, prepared: Plan, store: Store) -> None:
        recipe = prepared.recipe
        self._prepared, self._store = prepared, store
        self.spill = recipe.temp_dir or str(store.scratch() / "spill")
        marker = Workplace.of(recipe.work_dir).run_dir.running
        self._choice = BackendChoice(recipe, prepared.workers, self.spill, store.scratch, marker)

    def open(self) -> None:
        """Add a note if the last run by threads has crashed."""
        if note := self._choice.changed:
            self._prepared.notes.append(note)

    def start(self) -> None:
        """Start the fork server early if a stage will need processes."""
        self._choice.start([stage.program for stage in self._prepared.stages], self._prepared.shards)

    def apart(self, stage: CompiledStage, shards: Sequence[Shard]) -> bool:
        """Return whether a stage runs in worker processes."""
        return self._choice.apart(stage.program, shards)

    def runner(self, stage: CompiledStage, shards: Sequence[Shard], pool: WorkerThreads) -> Runner:
        """Runner in the threads of the pool, or in processes."""
        return self._choice.runner(stage.program, shards, pool)

    def find(self, given: DedupInput, done: StageResult) -> DedupResult:
        """Find duplicates in this process."""
        return find_duplicates(replace(given, files=done.files("match_keys")))

    def sink(self) -> ExportSink:
        """Files at export_path."""
        recipe = self._prepared.recipe
        if not recipe.exports:
            return NoExport()
        return FileExport(recipe, self._prepared.lines, self._store.scratch())

    def close(self) -> None:
        """End all processes."""
        self._choice.close()
