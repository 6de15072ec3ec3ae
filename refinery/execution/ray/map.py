"""Many calls of one function on the cluster, other than shards; Ray repeats a call whose process or machine dies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from refinery.errors import OperatorError
from refinery.execution.ray import environment, results, tasks
from refinery.execution.ray.connection import ClusterConnection
from refinery.execution.ray.failures import known
from refinery.execution.ray.handing import DispatcherLost, Handing, handing

_TIMES = 3


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
    first = (environment.here(), name, requirements, cluster.board, *others)
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
        return results.read(hand.answer(ticket))
    except results.OutOfMemory as error:
        raise OperatorError(f"memory ran out on the Ray cluster: {error}. Give the machines more") from error
    except ray.exceptions.RayTaskError as error:
        raise known(error) from error
    except ray.exceptions.RayError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise OperatorError(f"a task of the Ray cluster died {_TIMES + 1} times: {reason}") from error
