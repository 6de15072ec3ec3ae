"""Calls of a function on the cluster: handed out by the driver, or in groups by dispatchers.

Ray takes about a millisecond of the process that submits a task, whatever the task does. On a cluster of many processors, dispatchers
submit the tasks: actors without a processor of their own, which receive some calls at a time and return all of their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from refinery.execution.ray.connection import ClusterConnection

# Processors of a cluster from which on dispatchers pay off, and processors for each of them. Calls that one receives at a time: at least,
# and one for so many processors.
MANY, EACH, TOGETHER, CALLS = 128, 64, 32, 16


class DispatcherLost(Exception):
    """The dispatcher of a call has died, and the call's task with it: no fault of either."""


class Handing(Protocol):
    """Calls under way. A ticket stands for one of them."""

    def begin(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Begin a call; returns its ticket."""

    def ended(self, tickets: Iterable[Any]) -> list[Any]:
        """Wait for calls; returns the tickets of those that have ended, at least one."""

    def answer(self, ticket: Any) -> Any:
        """The answer of a call that has ended; or its error is raised, DispatcherLost among others. Once for each call."""

    def stop(self, tickets: Iterable[Any]) -> None:
        """Cancel calls."""


def handing(cluster: ClusterConnection, function: Callable[..., str], retries: int) -> Handing:
    """Hand out calls of a function. retries: of Ray, when the process or machine of a call dies."""
    if cluster.cores() < MANY:
        return ByDriver(cluster.ray, function, retries)
    return ByDispatchers(cluster.ray, dispatchers(cluster), function, retries, together(cluster.cores()))


def together(cores: int) -> int:
    """Calls of a group: with two calls for each processor, at least eight groups are under way, and 32 of a large cluster."""
    return max(TOGETHER, cores // CALLS)


class ByDriver:
    """The driver submits tasks, whose references are the tickets."""

    def __init__(self, ray: Any, function: Callable[..., str], retries: int) -> None:
        self._ray, self._call = ray, ray.remote(max_retries=retries)(function)

    def begin(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Submit a task."""
        return self._call.options(**options).remote(*arguments)

    def ended(self, tickets: Iterable[Any]) -> list[Any]:
        """Wait for one task."""
        ready: list[Any] = self._ray.wait(list(tickets), num_returns=1)[0]
        return ready

    def answer(self, ticket: Any) -> Any:
        """The answer of a task."""
        return self._ray.get(ticket)

    def stop(self, tickets: Iterable[Any]) -> None:
        """Cancel tasks."""
        for reference in tickets:
            self._ray.cancel(reference, force=True)


class ByDispatchers:
    """Dispatchers in turn submit groups of tasks; tickets are numbers."""

    def __init__(
        self, ray: Any, chosen: list[Any], function: Callable[..., str], retries: int, together: int = TOGETHER
    ) -> None:
        """chosen: the dispatchers, which are removed from the list when they are ended. together: calls of a group."""
        self._ray, self._chosen, self._function, self._retries = ray, chosen, function, retries
        self._together = together
        self._waiting: list[tuple[int, tuple[Any, ...], dict[str, Any]]] = []
        self._groups: dict[Any, list[int]] = {}
        self._answers: dict[int, tuple[bool, Any]] = {}
        self._count = self._sent = 0

    def begin(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> int:
        """Put a call into a group; the group is sent when it is complete, or somebody waits."""
        self._count += 1
        self._waiting.append((self._count, arguments, options))
        if len(self._waiting) >= self._together:
            self._send()
        return self._count

    def ended(self, tickets: Iterable[Any]) -> list[Any]:
        """Wait for one group."""
        self._send()
        references, _ = self._ray.wait(list(self._groups), num_returns=1)
        finished = []
        for reference in references:
            group = self._groups.pop(reference)
            self._answers |= dict(zip(group, self._received(reference, len(group)), strict=True))
            finished += group
        return finished

    def answer(self, ticket: Any) -> Any:
        """The answer of a call."""
        well, answer = self._answers.pop(ticket)
        if not well:
            raise answer
        return answer

    def stop(self, tickets: Iterable[Any]) -> None:
        """End the dispatchers, and with them the tasks that they have submitted."""
        for dispatcher in self._chosen:
            self._ray.kill(dispatcher)
        self._chosen.clear()

    def _send(self) -> None:
        if self._waiting:
            calls = [(arguments, options) for _, arguments, options in self._waiting]
            chosen = self._chosen[self._sent % len(self._chosen)]
            self._sent += 1
            reference = chosen.run.remote(self._function, self._retries, calls)
            self._groups[reference] = [ticket for ticket, *_ in self._waiting]
            self._waiting = []

    def _received(self, reference: Any, count: int) -> list[tuple[bool, Any]]:
        """Answers of a group; DispatcherLost for each call if Ray could not start its dispatcher again."""
        try:
            answers: list[tuple[bool, Any]] = self._ray.get(reference)
            return answers
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError as error:
            return [(False, DispatcherLost(str(error)))] * count


class Dispatcher:
    """The actor: submits tasks, and waits for them. Calls of the actor run side by side."""

    def __init__(self) -> None:
        self._submit: dict[tuple[Any, int], Any] = {}  # Ray stores a function each time that a task is made of it

    async def run(
        self, function: Callable[..., str], retries: int, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]
    ) -> list[tuple[bool, Any]]:
        """Answers of a group of calls, each with True, or an error with False."""
        import ray

        if (function, retries) not in self._submit:
            self._submit[function, retries] = ray.remote(max_retries=retries)(function)
        call = self._submit[function, retries]
        references = [call.options(**options).remote(*arguments) for arguments, options in calls]
        return [await _answered(ray, reference) for reference in references]


async def _answered(ray: Any, reference: Any) -> tuple[bool, Any]:
    try:
        return True, await reference
    except ray.exceptions.RayTaskError as error:
        return False, ray.exceptions.RayTaskError(error.function_name, error.traceback_str, error.cause)
    except ray.exceptions.RayError as error:
        return False, error


def dispatchers(cluster: ClusterConnection) -> list[Any]:
    """The dispatchers of a run, which are started with the first calls: on each machine in turn.

    Ray starts one that dies again, and repeats its calls. Tasks that it has submitted die with it.
    """
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    if not cluster.dispatchers:
        made = cluster.ray.remote(max_restarts=-1, max_task_retries=-1, num_cpus=0)(Dispatcher)
        nodes = [node["NodeID"] for node in cluster.ray.nodes() if node["Alive"]]
        for number in range(max(1, cluster.cores() // EACH)):
            near = NodeAffinitySchedulingStrategy(nodes[number % len(nodes)], soft=True)
            cluster.dispatchers.append(made.options(scheduling_strategy=near).remote())
    return cluster.dispatchers
