"""Objects of a URL: itself, all objects below it, or the matches of its pattern."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refinery.errors import DataError, did_you_mean
from refinery.storage.drivers import driver_errors, located, of_input
from refinery.storage.object_versions import version_of
from refinery.storage.objects import children_of, facts_of, info_of, objects_below
from refinery.storage.retries import repeated


@dataclass(frozen=True)
class FoundObject:
    """An object's URL, its size and its version."""

    url: str
    size: int
    version: str


def found_at(url: str) -> tuple[dict[str, FoundObject], bool | None]:
    """The objects of a URL by their URLs, sorted; True for a folder, False for a pattern, None for one object.

    Raises DataError when there is none, or no access.
    """
    with driver_errors(url, of_input):
        fs, root = located(url)
        fs.invalidate_cache()
        plain = url.rstrip("/")
        prefix = plain[: len(plain) - len(root)] if plain.endswith(root) else f"{url.partition('://')[0]}://"
        if glob.has_magic(root.replace("?", "") if root.startswith("http") else root):
            matches = _matching(fs, root)
            if not matches:
                raise DataError(f"{url}: no object matches the pattern")
            return _named(matches, prefix), False
        info = None if url.endswith("/") else _info(fs, root)
        if info is not None and info.get("type") != "directory":
            return _named([(root, info)], prefix), None
        below = objects_below(fs, root)
        if not below:
            raise DataError(_missing(fs, url, root))
        return _named(list(below.items()), prefix), True


def _info(fs: Any, path: str) -> dict[str, Any] | None:
    try:
        return facts_of(fs, path)
    except FileNotFoundError:
        return None


def _matching(fs: Any, pattern: str) -> list[tuple[str, Any]]:
    """The objects that match, and those below matching folders, as for files of this machine."""
    infos: dict[str, Any] = {}
    for path, info in repeated(fs, lambda: fs.glob(pattern, detail=True)).items():
        if info.get("type") != "directory":
            infos[path] = info
        elif "**" not in pattern:
            infos |= objects_below(fs, path)
    return list(infos.items())


def _named(infos: Sequence[tuple[str, Any]], prefix: str) -> dict[str, FoundObject]:
    """Objects by their URLs, without folders that are empty objects with a name that ends in `/`."""
    listed = {}
    for path, info in sorted(infos, key=_path):
        url = f"{prefix}{path}"
        info = info if info.get("size") is not None else info_of(url)  # pages of a web server list only names
        size = info.get("size")
        if size is None:
            raise DataError(
                f"{url}: the server does not report its size, so it cannot be read in ranges. Download it first"
            )
        if not (path.endswith("/") and size == 0):
            listed[url] = FoundObject(url, int(size), version_of(info, url))
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
        known = names_in(fs, above)
        if known is None:
            return f"{url}: there is no {'bucket' if at == 1 else 'folder'} {above!r}"
        if parts[at] not in known:
            place = "" if at == len(parts) - 1 else f": {above} has no {parts[at]!r}"
            return f"{url}: there is no such object or folder{place}{did_you_mean(parts[at], known)}"
    return f"{url}: there is no such bucket, object or folder, or nothing is in it"


def names_in(fs: Any, folder: str) -> list[str] | None:
    """The names in a folder; None without the folder."""
    children = children_of(fs, folder)
    return None if children is None else [str(info["name"]).rstrip("/").rpartition("/")[2] for info in children]
