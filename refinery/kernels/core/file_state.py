"""The state of a file, by which loaded models and word lists are known in memory."""

from __future__ import annotations

import os


def state_of(path: str | os.PathLike[str]) -> tuple[int, ...]:
    """Times of change, size, inode and device of a file. Raises OSError.

    The time of the last change of the inode is among them, because programs set the other one: `cp -p` writes a file anew
    that has the old time, and often the old size.
    """
    status = os.stat(path)
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev
