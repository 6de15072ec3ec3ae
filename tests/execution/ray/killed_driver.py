"""A driver that is killed in a phase of its run: `python -m tests.execution.ray.killed_driver PHASE run recipe.yaml`.

It ends as soon as the first task of the phase has answered, while others run. PHASE "none": it is not killed. Tables are made in
parts and clusters by partitions, as for many samples.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from importlib import import_module
from typing import Any

import pytest

from refinery.__main__ import start
from refinery.execution.ray import executor
from refinery.execution.ray.runner import RayRunner, _Job
from tests.execution.ray.gates import PHASES
from tests.execution.ray.runs import in_partitions, in_parts


def kill_in(phase: str) -> None:
    """Have this process killed when the first task of a phase has answered."""
    work, current = PHASES[phase], threading.local()  # the export runs beside the tables
    result, every, answer = RayRunner._result, executor.every, executor._answer

    def begin(cluster: Any, called: Any, *arguments: Any, **named: Any) -> list[str]:
        current.work = f"{called.__module__}:{called.__qualname__}"
        return every(cluster, called, *arguments, **named)

    def _answer(*arguments: Any) -> str:
        found = answer(*arguments)
        die(current.work == work)
        return found

    def _result(self: RayRunner, job: _Job, *arguments: Any) -> Any:
        found = result(self, job, *arguments)
        die(self.name.startswith(work.replace("_", " ") + ":"))
        return found

    executor._answer, RayRunner._result = _answer, _result  # type: ignore[assignment,method-assign]
    for module in list(sys.modules.values()):
        if getattr(module, "every", None) is every:
            module.every = begin  # type: ignore[attr-defined]


def die(now: bool) -> None:
    """Kill this process."""
    if now:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    import_module("refinery.execution.ray.backend")  # loads all modules that call tasks
    phase = sys.argv.pop(1)
    patch = pytest.MonkeyPatch()
    in_parts(patch)
    in_partitions(patch)
    if phase != "none":
        kill_in(phase)
    start()
