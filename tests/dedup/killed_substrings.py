"""A run that is killed in a phase of `substring_deduplicator`: `python -m tests.dedup.killed_substrings PHASE run recipe.yaml`.

It ends as soon as the first task of the phase has done its work. PHASE "none": it is not killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from refinery.__main__ import start
from refinery.dedup.tasks import substrings as tasks
from refinery.workers.worker import Worker
from tests.dedup.test_substrings import in_small_parts

# Tasks of the barrier, in their order; then shards that are read again for excerpts; then those of the second stage.
PHASES = ("groups", "excerpts", "cells", "settle", "second stage")


def dying(work: Callable[..., Any], when: Callable[..., bool]) -> Callable[..., Any]:
    """A function that kills this process when it has done its work."""

    def call(*arguments: Any, **named: Any) -> Any:
        found = work(*arguments, **named)
        if when(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    call.__name__ = work.__name__
    return call


def kill_in(phase: str) -> None:
    """Have this process killed in a phase."""
    if hasattr(tasks, phase):
        setattr(tasks, phase, dying(getattr(tasks, phase), lambda *_: True))
    again = phase == "excerpts"
    if again or phase == "second stage":
        Worker.run = dying(  # type: ignore[method-assign]
            Worker.run, lambda worker, shard, task: bool(worker.program.removed) and task.write is not again
        )


if __name__ == "__main__":
    asked = sys.argv.pop(1)
    in_small_parts(pytest.MonkeyPatch())
    if asked != "none":
        kill_in(asked)
    start()
