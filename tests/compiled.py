"""Runs steps over a few samples, through everything but files; programs and workers of the last tests are used again."""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from refinery.compiler.model import Schema
from refinery.compiler.program import Program
from refinery.inspect.examples.samples import CompiledSteps, as_lines, compiled, outcomes
from refinery.workers.worker import Worker

# Workers of the last programs: most tests run one program over other samples, or shared and not, which is often the same.
_OPEN: list[Worker] = []
_MOST = 3


@atexit.register
def _close() -> None:
    """Close the workers before the interpreter takes their functions away."""
    while _OPEN:
        _OPEN.pop().close()


def _worker(program: Program) -> Worker:
    """A worker for a program, opened unless it is one of the last."""
    for worker in _OPEN:
        if worker.program == program:
            return worker
    _OPEN.append(Worker(program))
    if len(_OPEN) > _MOST:
        _OPEN.pop(0).close()
    return _OPEN[-1]


@lru_cache(maxsize=8)
def _compiled(given: str, share: bool, folder: str, operators: tuple[str, ...] = ()) -> CompiledSteps:
    """The compiled steps. given: steps and columns as JSON. folder: the current one, which paths are relative to."""
    steps, columns = json.loads(given)
    return compiled(steps, Schema(True, columns), share, operators, (folder,))


def program_of(steps: list[Any]) -> Program:
    """The compiled steps, for samples of a text."""
    return _compiled(json.dumps([steps, {}]), True, os.getcwd()).program


def run_samples(
    samples: Sequence[dict[str, Any]],
    steps: list[Any],
    share: bool = True,
    columns: dict[str, str] | None = None,
    operators: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """One dict per sample, see `outcomes`."""
    made = _compiled(json.dumps([steps, columns or {}]), share, os.getcwd(), tuple(operators))
    return outcomes(made, _worker(made.program), as_lines(samples), [sample["text"] for sample in samples])
