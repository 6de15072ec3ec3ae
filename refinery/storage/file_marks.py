"""Marks of files that runs have written, as an attribute of the file: known to runs and tracers in all folders."""

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
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def mark(path: str | Path, state: State) -> None:
    """Note that a run has left the file so; nothing where a file system has no attributes."""
    with suppress(OSError, AttributeError):
        os.setxattr(path, _NAME, json.dumps(state).encode())


def marked(path: str | Path) -> State | None:
    """Size and time of change of a file when a run has written it, as the file itself says."""
    try:
        size, time = json.loads(os.getxattr(path, _NAME))
        return int(size), int(time)
    except (OSError, AttributeError, ValueError, TypeError):
        return None


def mark_growing(path: str | Path) -> None:
    """Note that tracers append to the file; nothing where a file system has no attributes."""
    with suppress(OSError, AttributeError):
        os.setxattr(path, _NAME, _GROWING)


def is_growing(path: str | Path) -> bool:
    """Whether tracers append to the file; also where the file system cannot say so."""
    try:
        return os.getxattr(path, _NAME) == _GROWING
    except OSError as error:
        return error.errno == errno.ENOTSUP
    except AttributeError:  # not Linux
        return True
