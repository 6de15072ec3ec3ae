"""The backend of a Ray cluster: shards, deduplicators, tables and parts of the export are tasks, which the driver hands out."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from refinery.compiler.program import Program
from refinery.errors import OperatorError
from refinery.execution.export_sink import ExportSink, NoExport
from refinery.execution.folder_export import FolderExport
from refinery.execution.ray.board import BoardClient
from refinery.execution.ray.connection import ClusterConnection, joined
from refinery.execution.ray.environment import described, here, shared_folder, shared_place
from refinery.execution.ray.executor import RayExecutor
from refinery.execution.ray.export import folder_of as folder_of_export
from refinery.execution.ray.export_sink import ClusterExport, ExportForm
from refinery.execution.ray.machines import check_machines
from refinery.execution.ray.runner import AHEAD, RayRunner
from refinery.execution.ray.scheduling import ShardPlaces, TaskResources, of_stage
from refinery.io.model import Shard
from refinery.monitoring.watch import RunMonitor
from refinery.planning.plan import CompiledStage, Plan
from refinery.storage.store import Store
from refinery.storage.urls import is_url
from refinery.storage.workplace import Workplace
from refinery.workers.executor import TaskPlace
from refinery.workers.serialization import spooled
from refinery.workers.tasks import Runner
from refinery.workers.threads import WorkerThreads


class RayBackend:
    """A cluster, which the run joins when the backend is opened; see Backend."""

    def __init__(self, prepared: Plan, store: Store) -> None:
        self._prepared, self._store = prepared, store
        self._membership = ExitStack()
        self._joined: ClusterConnection | None = None
        self._monitor: RunMonitor | None = None
        self._board: BoardClient | None = None

    def watched(self, monitor: RunMonitor) -> None:
        """Let workers report to the monitor."""
        self._monitor = monitor

    def open(self) -> None:
        """Join the cluster. Raises OperatorError if there is none."""
        recipe = self._prepared.recipe
        self._joined = self._membership.enter_context(
            joined(recipe.ray_address, recipe.work_dir, self._prepared.workers)
        )

    @property
    def cluster(self) -> ClusterConnection:
        """The cluster that the run has joined."""
        if self._joined is None:
            raise OperatorError("the run has not joined its Ray cluster")
        return self._joined

    @property
    def spill(self) -> str:
        """Folder for DuckDB to spill to, on every machine."""
        return self._prepared.recipe.temp_dir or str(self.cluster.temporary / "spill")

    def start(self) -> None:
        """Check that the cluster has the resources of all stages, before the first one."""
        if self._monitor is not None:
            if self.cluster.watch is not None:
                self.cluster.watch.hears.append(self._monitor.given_up)
            self._board = BoardClient(self.cluster.ray)
            self._monitor.remote = self._board.take
            self.cluster.report_to(self._board.actor)
        for stage in self._prepared.stages:
            of_stage(stage.all_steps, self._prepared.library.operators, self._each).check(self.cluster.machines())
        self._check_machines()

    def _check_machines(self) -> None:
        """See that all machines have the same software and files, and share the folders of the run."""
        prepared, recipe, nonce = self._prepared, self._prepared.recipe, uuid.uuid4().hex
        steps = [step for stage in prepared.stages for step in stage.all_steps]
        functions = [function for stage in prepared.stages for function in stage.program.functions]
        readers = {source.reader for source in prepared.sources if source.reader}
        run_folder = self._membership.enter_context(shared_place("work_dir", self._store.url, nonce))
        required = described(functions, steps, prepared.library, readers, prepared.beside, [run_folder])
        self.cluster.require(required)
        with ExitStack() as held:
            places = [run_folder]
            if recipe.exports and not is_url(recipe.export_path):
                places.append(
                    held.enter_context(shared_folder("export_path", folder_of_export(recipe.export_path), nonce))
                )
            check_machines(self.cluster.ray, required, places, here())

    def workers(self, stage: CompiledStage) -> int:
        """Workers of the run, which make traces on this machine."""
        return self._prepared.workers

    def apart(self, stage: CompiledStage, shards: Sequence[Shard]) -> bool:
        """True: shards share no process."""
        return True

    def runner(self, stage: CompiledStage, shards: Sequence[Shard], pool: WorkerThreads) -> Runner:
        """Runner that runs shards as tasks of the cluster."""
        names = list(dict.fromkeys(step.name for step in stage.all_steps)) or ["shards"]
        return self._runs(stage.program, stage.all_steps, f"stage {stage.stage.number}: {', '.join(names)}")

    def _runs(self, program: Program, steps: Sequence[Any], name: str) -> Runner:
        """Runner of a program of some steps. name: of the tasks in Ray's dashboard."""
        recipe, library = self._prepared.recipe, self._prepared.library
        wants = of_stage(steps, library.operators, self._each)
        spool = None if is_url(recipe.work_dir) else self._spool  # other machines do not see a file of this one
        options = recipe.row_timeout, spool, name
        places = ShardPlaces(self.cluster.ray.nodes(), recipe.work_dir, wants.cores, AHEAD)
        board = self._board.actor if self._board is not None else None
        retried = self._monitor.retried if self._monitor is not None else None
        return RayRunner(self.cluster, program, wants, self._memory, self.spill, *options, places, board, retried)

    @property
    def executor(self) -> RayExecutor:
        """Tasks of the cluster, whose files are in the store of the run."""
        place = TaskPlace(self._store.url, self._memory, self.spill)
        return RayExecutor(self.cluster, place, TaskResources(1, self._each), self._shingles)

    def _shingles(self, step: Any, program: Program) -> Runner:
        """Runner of the program that computes the shingles for a deduplicator."""
        return self._runs(program, [step], f"{step.name}: shingles")

    def sink(self) -> ExportSink:
        """A folder of parts at export_path."""
        prepared, settings = self._prepared, self._prepared.recipe.export
        place, note = Workplace.of(prepared.recipe.work_dir), prepared.notes.append
        if not settings.is_written:
            return NoExport()
        if settings.is_folder:
            return FolderExport(settings, place.file_of_export(settings.path), prepared.lines, note)
        form = ExportForm(settings.kind, prepared.lines, prepared.fingerprint)
        return ClusterExport(settings.path, form, place, self._store, lambda: self.executor, note)

    def close(self) -> None:
        """End the reports, and leave the cluster."""
        if self._monitor is not None:
            self._monitor.remote = None
        if self._board is not None:
            self._board.close()
        self._membership.close()

    def _spool(self, table: pa.Table) -> str:
        """A file with a table in memory, one for all shards of the table."""
        path = self.cluster.temporary / f"table_{id(table)}.arrow"
        return str(path) if path.exists() else spooled(table, path)

    @property
    def _each(self) -> int:
        """Bytes that the DuckDB of each task may use; 0: no limit given."""
        recipe = self._prepared.recipe
        return recipe.memory_limit // recipe.np if recipe.memory_limit else 0

    @property
    def _memory(self) -> str | None:
        return f"{max(1, self._each // 1000)}KB" if self._each else None
