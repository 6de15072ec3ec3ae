"""Input formats of users: a Python file with `FORMAT`, `SUFFIXES` and `read(stream)`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from refinery.io.model import Shard
from refinery.io.readers.model import Reader
from refinery.operators.user_process import items_apart

if TYPE_CHECKING:
    from refinery.io.batch import Batch
    from refinery.io.limits import ReadLimits


class UserReader(Reader):
    """A format that a file of the user reads; a file of it is one shard. Its samples are carried as JSON lines."""

    compressed = lines = True
    foreign = False  # the user's format may well be built on one of these

    def __init__(self, name: str, path: str) -> None:
        self.name, self._path = name, path
        self.recipe_names = (name,)
        self.family = self.title = name

    def batches(self, shard: Shard, limits: ReadLimits) -> Iterator[Batch]:
        """The samples that `read` yields."""
        from refinery.io.readers.user_samples import read_samples

        what = f"{self._path}: the function read"
        return items_apart(what, read_samples, shard.source, self._path, limits)

    def code(self) -> str:
        """The file of the user."""
        return self._path
