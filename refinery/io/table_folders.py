"""Folders of table formats (Delta, Iceberg, Hudi), whose log decides which of their files and rows still count."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from refinery.errors import DataError
from refinery.io.partitions import pair_of
from refinery.storage.urls import is_url

Names = Callable[[str], frozenset[str]]

_CURES = {
    "Delta": "COPY (FROM delta_scan('{}')) TO 'table.parquet'",
    "Iceberg": "COPY (FROM iceberg_scan('{}')) TO 'table.parquet'",
}


def refuse_tables(base: str, paths: Sequence[str], listed: Sequence[str] = ()) -> None:
    """Raise DataError when files belong to a table whose log may list them as removed.

    base: the folder below which the files were found. listed: all known objects of a URL, whose folders cannot
    be listed one by one.
    """
    names = _listing(listed) if is_url(base) else _names_in
    above = {base}
    tops: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in paths}:
        tops.update(roots(folder))
        while len(folder) > len(base) and folder not in above:
            above.add(folder)
            folder = folder.rpartition("/")[0]
    for root in sorted(above | tops):
        kind = _kind(root, names)
        if kind is not None:
            raise DataError(_refusal(root, kind))


def _refusal(root: str, kind: str) -> str:
    cure = (
        f"Export it first, in DuckDB: {_CURES[kind].format(root)}" if kind in _CURES else "Export it to Parquet first"
    )
    return (
        f"{root}: is a {kind} table. Its log lists the valid files and rows; others are removed or "
        f"replaced. {cure}. Or name single files, to read them whole"
    )


def roots(folder: str) -> Iterable[str]:
    """Folders that can be the table of files in this one: itself, and those above its partitions and `data`."""
    while pair_of(folder.rpartition("/")[2]) is not None:
        folder = folder.rpartition("/")[0]
    yield folder
    if folder.rpartition("/")[2] == "data":
        yield folder.rpartition("/")[0]


def _kind(root: str, names: Names) -> str | None:
    entries = names(root)
    if "_delta_log" in entries:
        return "Delta"
    if ".hoodie" in entries:
        return "Hudi"
    if "metadata" in entries and any(name.endswith(".metadata.json") for name in names(f"{root}/metadata")):
        return "Iceberg"
    return None


def _names_in(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder or "."))
    except OSError:
        return frozenset()


def _listing(listed: Sequence[str]) -> Names:
    """Names in folders, of objects that have been listed."""
    known: dict[str, set[str]] = {}
    for path in listed:
        folder, _, name = path.rpartition("/")
        while "://" in folder and name not in known.setdefault(folder, set()):
            known[folder].add(name)
            folder, _, name = folder.rpartition("/")
    return lambda folder: frozenset(known.get(folder, ()))
