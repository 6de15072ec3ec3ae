"""Machines that hold the bytes of a file, where its storage knows them: a run on a cluster sends shards there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refinery.storage.urls import scheme_of

# A function for each scheme of URLs, "" for paths: (path, first byte, last byte or -1) -> names or addresses of machines,
# the best first. It is asked in the driver, for each shard.
Locator = Callable[[str, int, int], Sequence[str]]
LOCATORS: dict[str, Locator] = {}


def machines_of(path: str, start: int = 0, end: int = -1) -> Sequence[str]:
    """Machines that hold bytes of a file, as names or addresses; empty where the storage says nothing."""
    locate = LOCATORS.get(scheme_of(path))
    return locate(path, start, end) if locate is not None else ()
