"""The executor of a Ray cluster; see `workers.executor`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, cast

from refinery.compiler.program import Program
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.environment import check, described
from refinery.execution.ray.map import every
from refinery.execution.ray.resources import TaskResources
from refinery.operators.processes import using_processes
from refinery.workers.executor import TaskPlace
from refinery.workers.runner import Runner


class RayExecutor:
    """Tasks of a cluster; see Executor. place, resources: of each task. make: returns the runner of a program."""

    worth = 100_000

    def __init__(
        self,
        cluster: ClusterConnection,
        place: TaskPlace,
        resources: TaskResources,
        make: Callable[[Any, Program], Runner],
    ) -> None:
        self.place = place
        self._cluster, self._options, self._make = cluster, resources.options(), make

    def capacity(self) -> int:
        """Number of processors of the cluster now."""
        return self._cluster.cores()

    def map(
        self,
        work: Callable[..., str],
        calls: Sequence[tuple[Any, ...]],
        shared: Sequence[Any] = (),
        label: str = "",
        files: Sequence[str] = (),
    ) -> list[str]:
        """Call a function by tasks."""
        first: tuple[Any, ...] = (self.place, *shared)
        if files:
            required = described((), (), cast(Any, None), files)  # without steps, no library is asked
            work, first = with_files, (required, f"{work.__module__}:{work.__qualname__}", *first)
        return every(self._cluster, work, calls, self._options, label, first)

    def runner(self, step: Any, program: Program) -> Runner:
        """Runner of shards with a program."""
        return self._make(step, program)


def with_files(required: str, name: str, *arguments: Any) -> str:
    """Call `module:name` on a machine that has the same files of users. Raises OperatorError if it has others."""
    check(required)
    module, _, function = name.partition(":")
    task: Callable[..., str] = getattr(importlib.import_module(module), function)
    with using_processes():  # an earlier run may have left its code in others
        return task(*arguments)
