"""Present facts of objects and listings of folders, by the driver's paths."""

from __future__ import annotations

from typing import Any

from refinery.storage.drivers import driver_errors, located, of_input
from refinery.storage.retries import repeated


def facts_of(fs: Any, path: str) -> dict[str, Any]:
    """The driver's present facts about an object, not those that the driver has cached."""
    fs.invalidate_cache()
    options = {"refresh": True} if "s3" in fs.protocol else {}
    return dict(repeated(fs, lambda: fs.info(path, **options)))


def children_of(fs: Any, folder: str) -> list[dict[str, Any]] | None:
    """Facts of what lies directly in a folder; None without the folder."""
    try:
        return list(repeated(fs, lambda: fs.ls(folder, detail=True)))
    except FileNotFoundError:
        return None


def objects_below(fs: Any, folder: str) -> dict[str, dict[str, Any]]:
    """Facts of all objects below a folder, by path; empty without the folder."""
    try:
        return dict(repeated(fs, lambda: fs.find(folder, detail=True)))
    except FileNotFoundError:
        return {}


def info_of(url: str) -> dict[str, Any]:
    """The driver's present facts about a URL. Raises DataError."""
    with driver_errors(url, of_input):
        return facts_of(*located(url))


def head_of(url: str, size: int) -> bytes:
    """The first bytes of an object. Raises DataError."""
    with driver_errors(url, of_input):
        fs, path = located(url)
        return bytes(repeated(fs, lambda: fs.cat_file(path, start=0, end=size))) if size else b""
