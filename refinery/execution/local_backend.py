"""The backend of this machine: threads or worker processes, chosen for each stage."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from refinery.errors import OperatorError
from refinery.execution.export_sink import ExportSink, FileExport, NoExport
from refinery.execution.folder_export import FolderExport
from refinery.io.model import Shard
from refinery.monitoring.log import event
from refinery.monitoring.watch import RunMonitor
from refinery.operators.resources import StageResources, of_steps
from refinery.planning.plan import CompiledStage, Plan
from refinery.planning.sizes import held_bytes
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers import machine
from refinery.workers.backends import BackendChoice
from refinery.workers.executor import ThreadExecutor
from refinery.workers.tasks import Runner
from refinery.workers.threads import WorkerThreads


class LocalBackend:
    """Threads and processes of this machine; see Backend."""

    def __init__(self, prepared: Plan, store: Store) -> None:
        recipe = prepared.recipe
        self._prepared, self._store = prepared, store
        self.spill = recipe.temp_dir or str(store.scratch() / "spill")
        marker = Workplace.of(recipe.work_dir).run_dir.running
        self._choice = BackendChoice(prepared.worker_settings, self.spill, store.scratch, marker)

    def watched(self, monitor: RunMonitor) -> None:
        """Do nothing: the monitor measures this machine by itself."""

    def open(self) -> None:
        """Add a note if the last run by threads has crashed."""
        if note := self._choice.changed:
            self._prepared.notes.append(note)

    def start(self) -> None:
        """Check the resources of all stages; start the fork server early if one will need processes."""
        for stage in self._prepared.stages:
            require(self._asked(stage), machine.gpus(), machine.memory())
        self._warn_of_memory(machine.memory())
        self._choice.start([stage.program for stage in self._prepared.stages], self._prepared.shards)

    def _warn_of_memory(self, there: int) -> None:
        """Add a note if the run may take more memory than there is: a killed process says nothing itself."""
        recipe = self._prepared.recipe
        texts = max(
            (
                held_bytes(stage.chain, self._prepared.sizes.bytes) * self.workers(stage)
                for stage in self._prepared.stages
            ),
            default=0,
        )
        for what, most, cure in (
            ("memory_limit allows", recipe.memory_limit or 0, "lower memory_limit"),
            ("the texts of the batches of all workers may take", texts, "lower np, or set adaptive_batch_size: true"),
        ):
            if most > there:
                note = f"{what} {most / 1e9:,.1f} GB, and there are {there / 1e9:,.1f} GB of memory: {cure}, or the system may kill the run"
                self._prepared.notes.append(note)
                event("memory", note, logging.WARNING)

    def workers(self, stage: CompiledStage) -> int:
        """The workers of the run, or fewer if the steps ask for it, or take more memory or GPUs than are there."""
        asked = self._asked(stage)
        limits = [self._prepared.workers, asked.workers or self._prepared.workers]
        limits += [machine.memory() // asked.memory] if asked.memory else []
        limits += [int(machine.gpus() / asked.gpus + 1e-9)] if asked.gpus else []
        return max(1, min(limits))

    def _asked(self, stage: CompiledStage) -> StageResources:
        return of_steps(stage.all_steps, self._prepared.library.operators)

    def apart(self, stage: CompiledStage, shards: Sequence[Shard]) -> bool:
        """Return whether a stage runs in worker processes."""
        return self._choice.apart(stage.program, shards, self.workers(stage))

    def runner(self, stage: CompiledStage, shards: Sequence[Shard], pool: WorkerThreads) -> Runner:
        """Runner in the threads of the pool, or in processes."""
        return self._choice.runner(stage.program, shards, pool, self.workers(stage))

    @property
    def executor(self) -> ThreadExecutor:
        """Tasks in threads, whose files are on this machine, also where the results of the run are objects."""
        store, recipe = self._store, self._prepared.recipe
        files = store.url if store.on_this_machine else str(store.scratch() / "tasks")
        return ThreadExecutor(files, self._prepared.workers, recipe.memory_limit, self.spill)

    def sink(self) -> ExportSink:
        """Files at export_path."""
        prepared, settings, note = self._prepared, self._prepared.recipe.export, self._prepared.notes.append
        if not settings.is_written:
            return NoExport()
        target = Workplace.of(prepared.recipe.work_dir).file_of_export(settings.path)
        if settings.is_folder:
            return FolderExport(settings, target, prepared.lines, note)
        return FileExport(settings, target, prepared.lines, self._store.scratch(), prepared.shards, note)

    def close(self) -> None:
        """Do nothing: the run ends its processes."""


def require(asked: StageResources, gpus: int, memory: int) -> None:
    """Raise OperatorError if this machine lacks the GPUs or the memory that one worker of a stage asks for."""
    if asked.gpus > gpus:
        there = "has none" if not gpus else f"has {gpus}"
        cure = "Run it where there is one, on a Ray cluster (executor_type: ray), or with num_gpus: 0 if it needs none"
        what = f"{asked.gpu_step} asks for {asked.gpus:g} GPU{'' if asked.gpus <= 1 else 's'}, and this machine {there}"
        raise OperatorError(f"{what}. {cure}")
    if asked.memory > memory:
        what = f"{asked.memory_step} asks for {asked.memory / 1e9:,.1f} GB of memory in a worker"
        raise OperatorError(f"{what}, and this machine has {memory / 1e9:,.1f} GB; lower its memory")
