"""Inputs of a URL, with their first bytes, and the logs of the tables that they can belong to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from refinery.io.formats import shape_of_start
from refinery.io.table_folders import roots
from refinery.storage.drivers import driver_errors, located, of_input
from refinery.storage.object_listing import found_at, names_in
from refinery.storage.object_stream import beside
from refinery.storage.objects import head_of

# First bytes of an object that are read; and the number if these do not show the format.
_START, _MORE = 64 << 10, 1 << 20


@dataclass
class ListedObject:
    """An object, with its first bytes once they are fetched."""

    url: str
    size: int
    version: str
    start: bytes = b""

    def head(self) -> bytes:
        """The first four bytes."""
        return self.start[:4]

    def shape(self, compression: str | None, trusted: bool) -> str:
        """Shape of the JSON, see `formats.json_shape`."""
        shape = shape_of_start(self.start, self.size <= len(self.start), compression, trusted)
        if shape is None:
            shape = shape_of_start(head_of(self.url, _MORE), True, compression, trusted)
        assert shape is not None
        return shape

    def look(self) -> None:
        """Fetch the first bytes."""
        self.start = head_of(self.url, min(self.size, _START))


def look_into(objects: Sequence[ListedObject]) -> None:
    """Fetch the first bytes of objects."""
    beside(ListedObject.look, objects)


def objects_of(url: str) -> tuple[dict[str, ListedObject], bool | None]:
    """The objects of a URL by their URLs; see `object_listing.found_at`."""
    objects, folder = found_at(url)
    return {url: ListedObject(url, of.size, of.version) for url, of in objects.items()}, folder


def logs_beside(folders: Iterable[str]) -> list[str]:
    """Objects in the logs of the tables that folders at URLs can belong to."""
    logs: list[str] = []
    for root in sorted({root for folder in folders for root in roots(folder)}):
        with driver_errors(root, of_input):
            fs, path = located(root)
            for name in ("_delta_log", ".hoodie", "metadata"):
                logs += [f"{root}/{name}/{child}" for child in names_in(fs, f"{path}/{name}") or []]
    return logs
