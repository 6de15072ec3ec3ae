"""Marks of files that runs have written, as an attribute of the file: runs and tracers in all folders know them.

This is no matter of speed: it lets a run in another folder replace an export that nobody has changed since, without
`--overwrite`. Where the file system has no attributes, a run knows the files of its own folder alone.
"""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path

State = tuple[int, int]

_NAME, _GROWING = "user.refinery", b'"trace"'


def state_of(path: str | Path) -> State | None:
    """Size and time of change (ns) of a file; None when it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def mark(path: str | Path, state: State) -> None:
    """Note the state in which a run has left the file; do nothing where the file system has no attributes.

    A file that has the mark is not touched, so its time of change stays.
    """
    if marked(path) == state:
        return
    with suppress(OSError, AttributeError):
        os.setxattr(path, _NAME, json.dumps(state).encode())


def marked(path: str | Path) -> State | None:
    """Size and time of change of a file that a run has written, from the file's attribute; None without a mark."""
    try:
        size, time = json.loads(os.getxattr(path, _NAME))
        return int(size), int(time)
    except (OSError, AttributeError, ValueError, TypeError):
        return None


def mark_growing(path: str | Path) -> None:
    """Note that tracers append to the file; do nothing where the file system has no attributes."""
    with suppress(OSError, AttributeError):
        os.setxattr(path, _NAME, _GROWING)


def is_growing(path: str | Path) -> bool:
    """True if tracers append to the file, or if the file system has no attributes."""
    try:
        return os.getxattr(path, _NAME) == _GROWING
    except OSError as error:
        return error.errno == errno.ENOTSUP
    except AttributeError:  # not Linux
        return True
