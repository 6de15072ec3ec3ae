"""Looks for an asset by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from refinery.assets.names import Need, matches
from refinery.assets.places import Place, places
from refinery.assets.sources import hub_files


def find(need: Need, own: Sequence[str] = ()) -> tuple[str | None, list[Place]]:
    """Path of the first match, or None, and the places that were looked at. own: folders of the recipe."""
    looked = places(need.folder, own)
    for number, place in enumerate(looked, 1):
        for path in _on_hub(Path(place.folder), need.name) if place.hub else _in(place.folder, need):
            return path, looked[:number]
    return None, looked


def _in(folder: str, need: Need) -> Iterator[str]:
    """The match in a plain folder: a file or folder of that name, or itself where it holds files of the pattern."""
    if need.folder and need.given is None:
        if _holds_match(folder, need.name):
            yield folder
        return
    path = os.path.join(folder, need.name)
    if os.path.isdir(path) if need.folder else os.path.exists(path):
        yield path


def _holds_match(folder: str, pattern: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(matches(entry.name, pattern) and entry.is_file() for entry in entries)
    except OSError:
        return False


def _on_hub(cache: Path, name: str) -> Iterator[str]:
    """Matches in the cache of the Hub: the revision that `main` stood for when it was loaded, else a single one."""
    for repository, file in hub_files(name):
        there = cache / f"models--{repository.replace('/', '--')}"
        revision = revision_of(there)
        if revision is not None and (path := revision / file).is_file():
            yield str(path)


def revision_of(repository: Path) -> Path | None:
    """The folder of a repository's files, None if it has none, or several and no `main`."""
    try:
        return repository / "snapshots" / (repository / "refs" / "main").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        pass
    try:
        revisions = [path for path in (repository / "snapshots").iterdir() if path.is_dir()]
    except OSError:
        return None
    return revisions[0] if len(revisions) == 1 else None
