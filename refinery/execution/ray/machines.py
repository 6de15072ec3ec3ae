"""Check of every machine before a run: the same software and files as the driver's, and the folders that all machines share."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import Any

from refinery import errors
from refinery.execution.ray import tasks
from refinery.execution.ray.answers import message_of, result_of
from refinery.execution.ray.environment import SharedPlace, has_arrived, lost, require_shared, write_here

# Seconds for the answers of all machines; one that is silent for longer is checked by its first task.
_PATIENCE = 60.0
# Machines that a message names.
_NAMED = 5


def check_here(places: Sequence[Sequence[str]], node: str) -> str:
    """Check that this machine shares all places, and leave its file there; returns its host name. Runs on the cluster."""
    for place in (SharedPlace(*each) for each in places):
        require_shared(place)
        write_here(place, node)
    return socket.gethostname()


def check_machines(ray: Any, requirements: str, places: Sequence[SharedPlace], folder: str) -> None:
    """Have each machine check itself. Raises the error of the machines that are unfit, and names them. folder: the current one."""
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    answers = _ask(ray, nodes, (folder, f"{__name__}:check_here", requirements, None, list(map(list, places))))
    problems: list[Exception] = []
    for node, answer in answers:
        try:
            host = result_of(answer) if isinstance(answer, str) else _raise(node, answer)
        except errors.RefineryError as error:
            problems.append(error)
            continue
        if not host:  # gone meanwhile
            continue
        problems += [lost(place, host) for place in places if not has_arrived(place, node["NodeID"])]
    if problems:
        raise _together(problems)


def _ask(ray: Any, nodes: Sequence[Mapping[str, Any]], call: tuple[Any, ...]) -> list[tuple[Mapping[str, Any], Any]]:
    """Answers of machines, or the errors that Ray raises for them; none of machines that are gone or silent."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    check = ray.remote(num_cpus=0, max_retries=0)(tasks.call)
    asked = {}
    for node in nodes:
        here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        options = {"scheduling_strategy": here, "name": "check of the machine"}
        asked[check.options(**options).remote(*call, node["NodeID"])] = node
    ended, silent = ray.wait(list(asked), num_returns=len(asked), timeout=_PATIENCE) if asked else ([], [])
    for reference in silent:
        ray.cancel(reference, force=True)
    return [(asked[reference], _answer(ray, reference)) for reference in ended]


def _answer(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        return error


def _raise(node: Mapping[str, Any], error: Exception) -> str:
    """Raise the error of a machine as one for people; return "" where Ray has only lost the machine."""
    if (text := message_of(error)) is not None:
        name = str(node.get("NodeManagerHostname") or node.get("NodeManagerAddress") or node["NodeID"])
        raise errors.OperatorError(f"the machine {name} {text}")
    if hasattr(error, "traceback_str"):  # a fault of refinery, and no loss of a machine
        raise error
    return ""


def _together(problems: Sequence[Exception]) -> Exception:
    """One error for all unfit machines, of the kind of the first."""
    lines = list(dict.fromkeys(map(str, problems)))
    more = [f"and {len(lines) - _NAMED} machines more"] if len(lines) > _NAMED else []
    first: Any = type(problems[0])
    error: Exception = first("\n".join([*lines[:_NAMED], *more]))
    return error
