"""Tasks of a cluster that wait at a gate, so that a machine can be lost while a phase of a run is under way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refinery.execution.ray import executor, runner, tasks
from refinery.workers.serialization import from_json

# A function of the tasks of each phase. A run has two stages, whose shards are two phases.
PHASES = {
    "shards": "stage_1",
    "joining": "refinery.dedup.tasks.joins:equal",
    "links": "refinery.dedup.tasks.clusters:gather",
    "clusters": "refinery.dedup.tasks.clusters:settle",
    "shards after": "stage_2",
    "tables": "refinery.results.block_tables:make_parts",
    "export": "refinery.execution.ray.export:export_part",
}
# As above, of a deduplicator with an index that compares texts.
VERIFYING = {
    "dividing": "refinery.dedup.tasks.joins:divide",
    "buckets": "refinery.dedup.tasks.candidates:buckets",
    "shingles": "stage_1/joined/compared",
    "pairs": "refinery.dedup.tasks.candidates:pairs",
    "comparing": "refinery.dedup.tasks.candidates:compare",
    "new index": "refinery.dedup.tasks.indexed:extend",
}
SECONDS = 300.0  # until a test gives up


class Gate:
    """A folder in which tasks of one phase say where they are, and wait until the gate is open."""

    def __init__(self, folder: Path, phase: str) -> None:
        folder.mkdir()
        self.folder, self.work = folder, (PHASES | VERIFYING)[phase]

    def reached(self, node: str = "") -> str:
        """Wait until a task is held on a node, or on any; return the node."""
        return until(lambda: next((p.name for p in self.folder.iterdir() if node in ("", p.name)), ""))

    def open(self) -> None:
        """Let all tasks go on."""
        (self.folder / "open").touch()


def hold(patch: pytest.MonkeyPatch, *gates: Gate) -> None:
    """Have the tasks of phases wait at their gates."""
    folders = {gate.work: str(gate.folder) for gate in gates}

    def call(here: str, name: str, *arguments: Any) -> str:
        if name in folders:
            wait(folders[name])
        return tasks.call(here, name, *arguments)

    def run_shard(*arguments: Any) -> str:
        stage = from_json(arguments[5]).folder
        if stage in folders:
            wait(folders[stage])
        return tasks.run_shard(*arguments)

    patch.setattr(executor, "tasks", _With(tasks, call=call))
    patch.setattr(runner, "tasks", _With(tasks, run_shard=run_shard))


class _With:
    """A module with other functions in place of its own."""

    def __init__(self, module: Any, **functions: Any) -> None:
        self._module = module
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def wait(folder: str) -> None:
    """Say on which node this task is, and wait until the gate is open."""
    import ray

    place = Path(folder)
    if not (place / "open").exists():
        (place / ray.get_runtime_context().get_node_id()).write_text(str(os.getpid()))
    until((place / "open").exists)


def until(holds: Callable[[], Any]) -> Any:
    """Wait for a condition; return what it returns."""
    end = time.monotonic() + SECONDS
    while not (found := holds()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found
