"""Interface of executors: they call functions of this package on many parts of some data, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from refinery.compiler.program import Program
from refinery.workers.runner import Runner


class TaskPlace(NamedTuple):
    """Place and limits of a task: the URL of the store of its files, DuckDB's memory, the folder to spill to, threads."""

    store: str
    memory: str | None
    spill: str
    threads: int = 1


class Executor(Protocol):
    """Runs tasks: threads of this process, or processes of a cluster, which share the store and nothing else.

    place: of a task that runs alone. worth: least rows of match keys for which another task pays off.
    """

    @property
    def place(self) -> TaskPlace: ...
    @property
    def worth(self) -> int: ...

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
