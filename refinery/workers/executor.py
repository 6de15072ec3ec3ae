"""Executors call functions of this package on many parts of some data: in threads, or on a cluster (`execution.ray.executor`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from refinery.common.free_memory import release
from refinery.compiler.program import Program
from refinery.workers.machine import share_of_memory
from refinery.workers.tasks import Runner
from refinery.workers.threads import Workers, WorkerThreads

# Bytes that a task holds for each row of match keys or of links, beside DuckDB, and the least number of rows that a task may hold.
_ROW, _LEAST = 256, 1 << 19


def rows_within(memory: int) -> int:
    """Rows of match keys or of links for which a task has room in some bytes of memory."""
    return max(_LEAST, memory // _ROW)


class TaskPlace(NamedTuple):
    """Place and limits of a task: the URL of the store of its files, DuckDB's memory, the folder to spill to, threads."""

    store: str
    memory: str | None
    spill: str
    threads: int = 1


class Executor(Protocol):
    """Runs tasks: threads of this process, or processes of a cluster, which share the store and nothing else.

    place: of a task that runs alone. worth: least rows of match keys for which another task pays off. most: rows of match keys or of
    links for which each of several tasks has room.
    """

    @property
    def place(self) -> TaskPlace: ...
    @property
    def worth(self) -> int: ...
    @property
    def most(self) -> int: ...

    def capacity(self) -> int:
        """Number of tasks that run at once."""

    def map(
        self,
        work: Callable[..., str],
        calls: Sequence[tuple[Any, ...]],
        shared: Sequence[Any] = (),
        label: str = "",
        files: Sequence[str] = (),
    ) -> list[str]:
        """Call a function with a TaskPlace, the shared arguments and each call's own; answers in order.

        A call may be repeated. shared: sent once. label: name of the tasks in Ray's dashboard. files: code of users that the
        calls import. Raises the error of a call, OperatorError if memory runs out or a machine has other code.
        """

    def runner(self, step: Any, program: Program) -> Runner:
        """Runner of shards with a program that a step of the recipe needs."""


class ThreadExecutor:
    """Tasks in threads; see Executor. memory: of all tasks together, None without a limit. spill: folder for DuckDB."""

    worth = 1 << 24  # tasks for fewer rows would copy what one task reads where it is

    def __init__(self, store: str, workers: int, memory: int | None, spill: str) -> None:
        self._store, self._workers, self._memory, self._spill = store, workers, memory, spill

    @property
    def place(self) -> TaskPlace:
        """Place of a task that runs alone, with all threads and all memory."""
        return self._place(1)

    @property
    def most(self) -> int:
        """Rows for which each task has room if all threads have one: beside DuckDB, tasks take as much as it may."""
        return rows_within(self._memory // self._workers if self._memory else share_of_memory(self._workers))

    def _place(self, tasks: int) -> TaskPlace:
        """Place of each of some tasks at once."""
        each = self._memory // tasks if self._memory else share_of_memory(tasks) if tasks > 1 else 0
        memory = f"{max(1, each // 1000)}KB" if each else None
        return TaskPlace(self._store, memory, self._spill, max(1, self._workers // tasks))

    def capacity(self) -> int:
        """Number of threads."""
        return self._workers

    def map(
        self,
        work: Callable[..., str],
        calls: Sequence[tuple[Any, ...]],
        shared: Sequence[Any] = (),
        label: str = "",
        files: Sequence[str] = (),
    ) -> list[str]:
        """Call a function in threads; one call in this one. With a limit, memory that they have freed goes back to the system."""
        try:
            tasks = min(self._workers, len(calls))
            if tasks < 2:
                return [work(self.place, *shared, *call) for call in calls]
            place = self._place(tasks)
            with ThreadPoolExecutor(tasks) as pool:
                return list(pool.map(lambda call: work(place, *shared, *call), calls))
        finally:
            if self._memory:
                release()

    def runner(self, step: Any, program: Program) -> Runner:
        """Runner of shards in threads."""
        place = self._place(self._workers)
        return _OwnThreads(WorkerThreads(program, self._workers, place.memory, self._spill))


class _OwnThreads(Workers):
    """Runner with a pool of its own."""

    def close(self) -> None:
        """Close the pool."""
        self._pool.close()
