"""The last resort against what cannot be interrupted: the process ends, with a message.

A command and a worker process say how; a library does not end the program that uses it.
"""

from __future__ import annotations

from collections.abc import Callable

# Exit status of a worker process whose statement cannot be interrupted.
STUCK = 124

_end: Callable[[str], None] | None = None

# Callables that interrupt the running statements.
statements: set[Callable[[], None]] = set()

# Called before the process is ended, to leave a message for the next run.
witnesses: list[Callable[[], None]] = []


# Messages for when Ctrl-C has to end the process; each callable returns a line, or "".
last_words: list[Callable[[], str]] = []


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
