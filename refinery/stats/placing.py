"""What all folders of statistics files share: names, and files that are there whole or not at all."""

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


@dataclass(frozen=True)
class File:
    """A file of a folder: its path below the root, its size, and a mark that changes when it is written again."""

    path: str
    size: int
    mark: str


@contextmanager
def replacing(path: Path, durable: bool = False) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of `path` when it is whole; durable: it outlives a power cut.

    Raises OutputError when it cannot be written; `path` is then what it was.
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
