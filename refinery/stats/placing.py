"""Names and whole-file writing that all folders of statistics files share."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from refinery.errors import OutputError
from refinery.storage.run_folder import aside

PARTIAL = re.compile(r"[0-9]{5}\.json")


@dataclass(frozen=True, order=True)
class StatsFile:
    """A file of a folder, in the order of names: its path below the root, its size, and a version that changes when it is written again."""

    path: str
    size: int
    version: str


@contextmanager
def replacing(path: Path, durable: bool = False) -> Iterator[IO[bytes]]:
    """A file to write, which replaces `path` when it is whole; durable: the file outlives a power cut.

    Raises OutputError when it cannot be written; `path` then stays as it was.
    """
    beside = aside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with beside.open("wb") as file:
                yield file
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        if durable:
            _sync_folder(path.parent)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from None


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
