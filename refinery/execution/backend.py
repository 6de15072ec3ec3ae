"""Interface of backends, which run the shards of stages: here in threads or processes, or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from refinery.execution.export_sink import ExportSink
from refinery.io.model import Shard
from refinery.monitoring.watch import RunMonitor
from refinery.planning.plan import CompiledStage, Plan
from refinery.recipe.executors import EXECUTORS
from refinery.storage.store import Store
from refinery.workers.executor import Executor
from refinery.workers.tasks import Runner
from refinery.workers.threads import WorkerThreads


class Backend(Protocol):
    """Backend of a run, made with the plan and the store. `open` comes before the first stage, `close` after all."""

    @property
    def spill(self) -> str:
        """Folder for DuckDB to spill to; known once the backend is open."""

    def watched(self, monitor: RunMonitor) -> None:
        """Tell the monitor of a run what happens on other machines; called before `start`, or never."""

    def open(self) -> None:
        """Get ready. Raises OperatorError where that is impossible."""

    def start(self) -> None:
        """Prepare for all stages of the plan, just before the first. Raises OperatorError if one lacks resources."""

    def workers(self, stage: CompiledStage) -> int:
        """Most workers of a stage in this process or its children."""

    def apart(self, stage: CompiledStage, shards: Sequence[Shard]) -> bool:
        """Return whether a stage's shards run in other processes, which share no open file with this one."""

    def runner(self, stage: CompiledStage, shards: Sequence[Shard], pool: WorkerThreads) -> Runner:
        """Runner of a stage's shards. pool: threads of this process, which run everything else."""

    @property
    def executor(self) -> Executor:
        """Runs the tasks of deduplicators, tables and audits; known once the backend is open."""

    def sink(self) -> ExportSink:
        """The export of a run on this backend. Raises OutputError for a place that cannot be written to."""

    def close(self) -> None:
        """End processes, leave the cluster."""


def backend_of(prepared: Plan, store: Store) -> Backend:
    """The backend of a recipe's `executor_type`, from the registry of executors."""
    module, _, name = EXECUTORS[prepared.recipe.executor_type].backend.partition(":")
    backend: Backend = getattr(import_module(module), name)(prepared, store)
    return backend
