"""Guards the run's process against the Python code of operators.

Repairable changes are repaired; those that no run survives (ExitAttempt) end the run with a message in place of silence.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from refinery.common import process_end
from refinery.common.process_end import ExitAttempt as ExitAttempt
from refinery.common.process_end import leave as leave

_CURE = "With workers: processes it would cost the row alone"

# Exit status of a worker process whose statement cannot be interrupted.
STUCK = 124

_end: Callable[[str], None] | None = None

# Callables that interrupt the running statements.
statements: set[Callable[[], None]] = set()

# Called before the process is ended, to leave a message for the next run.
witnesses: list[Callable[[], None]] = []


# Messages for when Ctrl-C has to end the process; each callable returns a line, or "".
last_words: list[Callable[[], str]] = []


def expendable() -> None:
    """Allow functions to end this process: another process watches over it."""
    process_end.expendable()
    ending(lambda _: leave(STUCK))


def ending(end: Callable[[str], None]) -> None:
    """Set the function that ends this process as the last resort. end: receives the reason."""
    global _end
    _end = end


def interrupt() -> None:
    """Interrupt the running statements, because of Ctrl-C."""
    for stop in list(statements):
        stop()


def end_process(reason: str) -> None:
    """End the process, if `ending` has set a function for it; a library does not end the program that uses it."""
    if _end is not None:
        for witness in list(witnesses):
            witness()
        _end(reason)


def give_up(reason: str) -> None:
    """As `end_process`, for a reason that no statement has; what is done is said, too."""
    if _end is not None:
        _end("\n".join([reason, *filter(None, (say() for say in last_words))]))


def guarded(run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it leaves its process unchanged. The wrapper raises ExitAttempt where that is impossible.

    The working folder is restored: a run's paths can be relative to it.
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
                raise ExitAttempt(f"closed file descriptors that are not its own. {_CURE}")

    return call


class _Sentinel:
    """An open file that nobody reads; a function that closes it closes others as well."""

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
        """Return whether the descriptor still is the same open file."""
        return self._state() == self._known

    def __del__(self) -> None:
        if self.is_open():
            os.close(self._file)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # the folder has been removed
        return None
