"""Keeps what an operator's Python code does to its process from the run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any


def guarded(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that leaves its process as it was.

    A copy of the process that it has forked ends when it comes back, and would else go on with the run a second time.
    The working folder is what it was: a run's paths can be relative to it.
    """
    owner, here = os.getpid(), _folder()

    def call(*arguments: Any) -> Any:
        try:
            return run(*arguments)
        finally:
            if os.getpid() != owner:
                os._exit(0)
            if here and _folder() != here:
                os.chdir(here)

    return call


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return None
