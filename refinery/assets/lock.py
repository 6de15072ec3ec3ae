"""`assets.lock` beside a recipe: sizes and digests of the assets that its runs may use."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from refinery.assets.contents import AssetFile
from refinery.errors import DataError

NAME = "assets.lock"

# Files of assets, by the asset's name.
Locked = Mapping[str, Sequence[AssetFile]]


def place_of(recipe: str | None) -> Path | None:
    """The lock of a recipe's file; None for a recipe that is no file."""
    return Path(recipe).absolute().parent / NAME if recipe else None


def read(place: Path | None) -> Locked:
    """The content of a lock; empty if there is none. Raises DataError if it cannot be read."""
    if place is None or not place.exists():
        return {}
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        return {name: [_file(item) for item in files] for name, files in content["assets"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{place}: is no lock of assets ({type(error).__name__}: {error}); write it anew with refinery assets --lock"
        ) from None


def write(place: Path, new_entries: Locked) -> None:
    """Add assets to a lock, or replace those of the same names. Raises OSError, DataError."""
    entries = {**read(place), **new_entries}
    assets = {name: [plain(file) for file in entries[name]] for name in sorted(entries)}
    aside = place.with_name(f".{place.name}.{os.getpid()}")
    aside.write_text(
        json.dumps({"version": 1, "assets": assets}, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
    )
    os.replace(aside, place)


def difference(files: Iterable[AssetFile], locked: Sequence[AssetFile]) -> str:
    """Differences of an asset's files from the lock, in words; empty if they do not."""
    now, then = {file.name: file for file in files}, {file.name: file for file in locked}
    for name in sorted({*now, *then}):
        what = f"{name} " if name else ""
        if name not in now or name not in then:
            return f"{name or 'the file'} is {'missing' if name in then else 'new'}"
        if now[name] != then[name]:
            return f"{what}has sha256 {now[name].sha256}, not {then[name].sha256}"
    return ""


def name_in(place: Path, name: str, path: str | None) -> str:
    """The name of an asset in a lock. path: of one that the recipe names by its path; below the lock's folder, its rest."""
    if path is None:
        return name
    below = os.path.relpath(path, place.parent)
    return path if below.startswith("..") else below


def plain(file: AssetFile) -> dict[str, str | int]:
    """A file as plain data."""
    own: dict[str, str | int] = {"bytes": file.bytes, "sha256": file.sha256}
    return {"file": file.name, **own} if file.name else own


def _file(item: dict[str, str | int]) -> AssetFile:
    if not re.fullmatch("[0-9a-f]{64}", str(item["sha256"])):
        raise ValueError(f"{item['sha256']!r} is no SHA-256")
    return AssetFile(str(item.get("file", "")), int(item["bytes"]), str(item["sha256"]))
