"""Keeps what an operator's Python code does to its process from the run.

What can be put right is put right; what no run survives (Misdeed) ends it with a message in place of silence.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from refinery.common import process_end
from refinery.common.process_end import Misdeed as Misdeed
from refinery.common.process_end import leave as leave

_CURE = "With workers: processes it would cost the row alone"

# Exit status of a worker process with a statement that does not come back.
STUCK = 124

_end: Callable[[str], None] | None = None

# What ends each of the statements that run.
statements: set[Callable[[], None]] = set()

# What is called before that, to leave word for the next run.
witnesses: list[Callable[[], None]] = []


# What is said when Ctrl-C has to end the process; each gives a line, or "".
last_words: list[Callable[[], str]] = []


def expendable() -> None:
    """Let functions end this process: somebody else watches over it."""
    process_end.expendable()
    ending(lambda _: leave(STUCK))


def ending(end: Callable[[str], None]) -> None:
    """Say how this process is ended when nothing else helps; end: is given the reason."""
    global _end
    _end = end


def interrupt() -> None:
    """End the statements that run, because of Ctrl-C."""
    for stop in list(statements):
        stop()


def end_process(reason: str) -> None:
    """End the process, where somebody has said how; a library does not end the program that uses it."""
    if _end is not None:
        for witness in list(witnesses):
            witness()
        _end(reason)


def guarded(run: Callable[..., Any]) -> Callable[..., Any]:
    """A function that leaves its process as it was. Raises Misdeed where that cannot be.

    The working folder is what it was: a run's paths can be relative to it.
    """
    here = _folder()
    alarm = _Sentinel()

    def call(*arguments: Any) -> Any:
        try:
            with process_end.held():
                return run(*arguments)
        finally:
            if here and _folder() != here:
                os.chdir(here)
            if not alarm.is_open():
                raise Misdeed(f"closed file descriptors that are not its own. {_CURE}")

    return call


class _Sentinel:
    """A file of ours that nobody reads; when it is closed, others are as well."""

    def __init__(self) -> None:
        self._file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self._known = self._state()

    def _state(self) -> tuple[int, int, int] | None:
        try:
            found = os.fstat(self._file)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_rdev

    def is_open(self) -> bool:
        """Whether it is the file that it was."""
        return self._state() == self._known

    def __del__(self) -> None:
        if self.is_open():
            os.close(self._file)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it has been removed
        return None
