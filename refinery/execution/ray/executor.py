"""The executor of a Ray cluster, see `workers.executor`; Ray repeats a call whose process or machine dies."""

from __future__ import annotations

import importlib
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast

from refinery.compiler.program import Program
from refinery.errors import OperatorError
from refinery.execution.ray import tasks
from refinery.execution.ray.answers import OutOfMemory, known, result_of
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.environment import check, described, here
from refinery.execution.ray.handing import DispatcherLost, Handing, handing
from refinery.execution.ray.scheduling import TaskResources
from refinery.operators.processes import using_processes
from refinery.workers.executor import TaskPlace, rows_within
from refinery.workers.tasks import Runner

# Times that Ray repeats a call whose process or machine dies.
_TIMES = 3


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
        self._memory = resources.memory

    @property
    def most(self) -> int:
        """Rows for which a task has room; without a limit of memory, any number."""
        return rows_within(self._memory) if self._memory else sys.maxsize

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


def every(
    cluster: ClusterConnection,
    work: Callable[..., str],
    calls: Sequence[tuple[Any, ...]],
    options: dict[str, Any] | None = None,
    label: str = "",
    shared: Sequence[Any] = (),
) -> list[str]:
    """Answers of a function to many calls, in order. Ray may repeat a call.

    options: resources that each task requests from Ray. label: its name in Ray's dashboard. shared: first arguments of all calls,
    which are sent once. Raises the error of a call, or OperatorError if memory runs out.
    """
    if not calls:
        return []
    name = f"{work.__module__}:{work.__qualname__}"
    options = {"name": label or work.__qualname__, **(options or {"num_cpus": 1})}
    hand = handing(cluster, tasks.call, _TIMES)
    sent = (cluster.ray.put(argument) for argument in (cluster.requirements, *shared))
    requirements, *others = sent
    first = (here(), name, requirements, cluster.board, *others)
    waiting, running = deque(enumerate(calls)), dict[Any, int]()
    answers: dict[int, str] = {}
    lost = 0
    try:
        while waiting or running:
            while waiting and len(running) < cluster.cores() * 2:
                at, arguments = waiting.popleft()
                running[hand.begin((*first, *arguments), options)] = at
            for ticket in hand.ended(running):
                at = running.pop(ticket)
                try:
                    answers[at] = _answer(cluster.ray, hand, ticket)
                except DispatcherLost:
                    lost += 1
                    if lost > _TIMES * len(calls):
                        raise
                    waiting.append((at, calls[at]))
    except BaseException:
        hand.stop(running)
        raise
    return [answers[at] for at in range(len(calls))]


def _answer(ray: Any, hand: Handing, ticket: Any) -> str:
    try:
        return result_of(hand.answer(ticket))
    except OutOfMemory as error:
        raise OperatorError(f"memory ran out on the Ray cluster: {error}. Give the machines more") from error
    except ray.exceptions.RayTaskError as error:
        raise known(error) from error
    except ray.exceptions.RayError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise OperatorError(f"a task of the Ray cluster died {_TIMES + 1} times: {reason}") from error
