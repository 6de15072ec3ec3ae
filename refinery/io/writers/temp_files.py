"""Temporary files beside an export while it is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from refinery.storage.run_folder import seal


def aside_of(path: str, owner: str = "") -> str:
    """The temporary name of a file that is being written. owner: of its contents, by default this process.

    The name contains a digest of the path, so no file of a user has such a name by chance.
    """
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{seal(path)}.{owner or os.getpid()}.tmp")


@contextmanager
def scratch_in(folder: str) -> Iterator[str]:
    """A temporary folder, removed at the end of the context."""
    with TemporaryDirectory(prefix=f".refinery.{seal(folder)}.{os.getpid()}.", dir=folder) as name:
        yield name
