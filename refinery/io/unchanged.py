"""Check that the files that a run reads stay the same from its beginning."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from refinery.errors import DataError
from refinery.io.model import Source
from refinery.storage.urls import is_url

# By path: device, inode, size in bytes, time of change in ns.
Stamps = dict[str, tuple[int, int, int, int]]


def stamps(sources: Iterable[Source]) -> Stamps:
    """Identity, size and time of change of the files. Objects at URLs have a version, which readers check."""
    by_path: Stamps = {}
    for source in sources:
        if source.table is None and not is_url(source.path):
            with suppress(OSError):  # reading the file reports the error
                now = os.stat(source.path)
                by_path[source.path] = now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns
    return by_path


@contextmanager
def same_files(before: Stamps, notes: list[str]) -> Iterator[None]:
    """Check the files after the work within this context. Adds a note for each file that was written to meanwhile.

    Raises DataError, also in place of the work's error, when a file is gone, shorter, or another file by now.
    """
    try:
        yield
    except (OSError, DataError) as error:
        _look(before, [], error)
        raise
    _look(before, notes)


def _look(before: Stamps, notes: list[str], cause: Exception | None = None) -> None:
    for path, (device, inode, size, modified) in before.items():
        try:
            now = os.stat(path)
        except OSError as error:
            raise DataError(f"{path}: is gone, it was there when the run began") from cause or error
        if (now.st_dev, now.st_ino) != (device, inode) or now.st_size < size:
            what = "shorter than it was" if now.st_size < size else "another file"
            raise DataError(f"{path}: is {what} when the run began; it must not change meanwhile. Run again") from cause
        if now.st_mtime_ns != modified:
            notes.append(f"{path} was written to while the run read it; what was added may be missing")
