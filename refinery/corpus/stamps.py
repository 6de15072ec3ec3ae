"""Stamps of files, which show that a file has not been written to since."""

from __future__ import annotations

import os

from refinery.storage.urls import is_url


def stamp_of(path: str) -> str:
    """Inode, size and times of a file, which show that it is as it was; "" at a URL. Raises OSError."""
    if is_url(path):
        return ""
    stat = os.stat(path)
    return f"{stat.st_dev} {stat.st_ino} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"
