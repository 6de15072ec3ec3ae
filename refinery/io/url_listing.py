"""Objects of a URL: itself, all objects below it, or the matches of its pattern; with their formats."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from refinery.errors import DataError, did_you_mean
from refinery.io.formats import shape_of_start
from refinery.io.objects import beside, head_of, info_of, located, storage_errors, version_of
from refinery.io.table_folders import roots

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
        found = shape_of_start(self.start, self.size <= len(self.start), compression, trusted)
        if found is None:
            found = shape_of_start(head_of(self.url, _MORE), True, compression, trusted)
        assert found is not None
        return found

    def look(self) -> None:
        """Fetch the first bytes."""
        self.start = head_of(self.url, min(self.size, _START))


def look_into(objects: Sequence[ListedObject]) -> None:
    """Fetch the first bytes of objects."""
    beside(ListedObject.look, objects)


def objects_of(url: str) -> tuple[dict[str, ListedObject], bool | None]:
    """The objects of a URL by their URLs, sorted; True for a folder, False for a pattern, None for one object.

    Raises DataError when there is none, or no access.
    """
    with storage_errors(url):
        fs, root = located(url)
        fs.invalidate_cache()
        plain = url.rstrip("/")
        prefix = plain[: len(plain) - len(root)] if plain.endswith(root) else f"{url.partition('://')[0]}://"
        if glob.has_magic(root.replace("?", "") if root.startswith("http") else root):
            found = _matching(fs, root)
            if not found:
                raise DataError(f"{url}: no object matches the pattern")
            return _named(found, prefix), False
        info = None if url.endswith("/") else _info(fs, root)
        if info is not None and info.get("type") != "directory":
            return _named([(root, info)], prefix), None
        below = _below(fs, root)
        if not below:
            raise DataError(_missing(fs, url, root))
        return _named(list(below.items()), prefix), True


def logs_beside(folders: Iterable[str]) -> list[str]:
    """Objects in the logs of the tables that folders at URLs can belong to."""
    found: list[str] = []
    for root in sorted({root for folder in folders for root in roots(folder)}):
        with storage_errors(root):
            fs, path = located(root)
            for name in ("_delta_log", ".hoodie", "metadata"):
                found += [f"{root}/{name}/{child}" for child in _names(fs, f"{path}/{name}") or []]
    return found


def _below(fs: Any, folder: str) -> dict[str, Any]:
    try:
        return dict(fs.find(folder, detail=True))
    except FileNotFoundError:
        return {}


def _info(fs: Any, path: str) -> dict[str, Any] | None:
    try:
        return dict(fs.info(path))
    except FileNotFoundError:
        return None


def _matching(fs: Any, pattern: str) -> list[tuple[str, Any]]:
    """The objects that match, and those below matching folders, as for files of this machine."""
    found: dict[str, Any] = {}
    for path, info in fs.glob(pattern, detail=True).items():
        if info.get("type") != "directory":
            found[path] = info
        elif "**" not in pattern:
            found |= fs.find(path, detail=True)
    return list(found.items())


def _named(found: Sequence[tuple[str, Any]], prefix: str) -> dict[str, ListedObject]:
    """Objects by their URLs, without folders that are empty objects with a name that ends in `/`."""
    listed = {}
    for path, info in sorted(found, key=_path):
        url = f"{prefix}{path}"
        info = info if info.get("size") is not None else info_of(url)  # pages of a web server list only names
        size = info.get("size")
        if size is None:
            raise DataError(
                f"{url}: the server does not report its size, so it cannot be read in ranges. Download it first"
            )
        if not (path.endswith("/") and size == 0):
            listed[url] = ListedObject(url, int(size), version_of(info, url))
    return listed


def _path(item: tuple[str, Any]) -> str:
    return item[0]


def _missing(fs: Any, url: str, root: str) -> str:
    """Message about a missing URL: the first part that does not exist, and its likely spelling."""
    if "://" in root:  # a web server has no folders to search
        return f"{url}: there is no such file"
    parts = root.strip("/").split("/")
    lead = "/" if root.startswith("/") else ""
    for at in range(1, len(parts)):
        above = lead + "/".join(parts[:at])
        known = _names(fs, above)
        if known is None:
            return f"{url}: there is no {'bucket' if at == 1 else 'folder'} {above!r}"
        if parts[at] not in known:
            place = "" if at == len(parts) - 1 else f": {above} has no {parts[at]!r}"
            return f"{url}: there is no such object or folder{place}{did_you_mean(parts[at], known)}"
    return f"{url}: there is no such bucket, object or folder, or nothing is in it"


def _names(fs: Any, folder: str) -> list[str] | None:
    """The names in a folder; None without the folder."""
    try:
        return [str(path).rstrip("/").rpartition("/")[2] for path in fs.ls(folder, detail=False)]
    except FileNotFoundError:
        return None
