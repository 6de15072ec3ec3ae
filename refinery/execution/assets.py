"""The assets of a recipe: listed, downloaded, locked, compared with their lock before a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from refinery.assets import lock
from refinery.assets.contents import AssetFile, contents
from refinery.assets.download import Download
from refinery.assets.places import Place
from refinery.assets.sources import Source, source_of
from refinery.errors import DataError, RecipeError
from refinery.io.side_files import digest, files, require_unchanged
from refinery.operators import Library
from refinery.recipe import load
from refinery.recipe.assets import Asset, Assets, shown
from refinery.recipe.override import Override
from refinery.recipe.tree import Problems


@dataclass(frozen=True)
class NeededAsset:
    """An asset, with the steps that need it."""

    asset: Asset
    steps: tuple[str, ...]

    @property
    def path(self) -> str | None:
        """Path of the asset; None if it was not found."""
        path = self.asset.path
        return path if path is not None and os.path.exists(path) else None

    @property
    def found_by(self) -> str:
        """The name of the place where it is: a variable, a cache, the recipe."""
        return self.asset.looked[-1].named_by if self.asset.looked else "the recipe"

    @property
    def looked(self) -> Sequence[Place]:
        """Places of the search."""
        return self.asset.looked

    @property
    def name(self) -> str:
        """Its name in messages."""
        return shown(self.asset.need)

    @cached_property
    def files(self) -> list[AssetFile]:
        """Its files, with digests; none for a missing one. Raises DataError."""
        try:
            return contents(self.path, self.asset.pattern) if self.path is not None else []
        except OSError as error:
            raise DataError(f"{error.filename or self.path}: {error.strerror or error}") from None

    @property
    def source(self) -> Source | None:
        """The public source; None if none is known."""
        return source_of(self.asset.need.name)

    def locked_name(self, place: Path) -> str:
        """Its name in a lock."""
        return lock.name_in(place, self.asset.need.name, None if self.asset.looked else self.asset.path)

    def download(self, folder: Path, mirror: str, locked: lock.Locked) -> Download | None:
        """The download into a folder; None if no source is known. mirror: a URL below which files have their names."""
        need, source = self.asset.need, self.source
        file = source.file if source is not None and source.file else need.name
        if not mirror and source is None or "*" in file:
            return None
        url = f"{mirror.rstrip('/')}/{file}" if mirror else source.address(need.name) if source is not None else ""
        known = {f"{item.name or file}": item.sha256 for item in locked.get(need.name, ())}
        return Download(url, folder / file, known.get(file, ""))


def assets_of(
    recipe: str, changes: Sequence[Override], variables: dict[str, Any] | None, operators: Sequence[str]
) -> tuple[list[NeededAsset], int]:
    """The needs of a recipe's steps, and the number of its other problems. Raises RecipeError if it cannot be read."""

    def library(folders: tuple[str, ...]) -> Library:
        return Library(tuple(dict.fromkeys((*operators, *folders))))

    try:
        loaded = load(recipe, changes, variables, library=library, need_inputs=False)
    except RecipeError as error:
        if error.partial is None:
            raise
        partial_assets: Assets = error.partial.assets
        missing = sum(asset.path is None for asset in partial_assets.all)
        return together(partial_assets.all), len(error.problems) - missing - bool(missing)
    return together(loaded.assets_of_steps), 0


def together(assets: Iterable[Asset]) -> list[NeededAsset]:
    """Assets of all steps, those that are one and the same once, with the steps that need it."""
    by_need: dict[tuple[str, str | None], list[Asset]] = {}
    for asset in assets:
        by_need.setdefault((asset.need.name, asset.path), []).append(asset)
    return [NeededAsset(same[0], tuple(map(_described_step, same))) for same in by_need.values()]


def _described_step(asset: Asset) -> str:
    where = asset.where
    return f"{asset.step} (line {where.line})" if where.line else f"{asset.step} ({where})"


def require_locked(file: str | None, assets: Iterable[Asset]) -> None:
    """Check that assets have the bytes that `assets.lock` beside the recipe's file names. Raises RecipeError, DataError."""
    place = lock.place_of(file)
    locked, problems = lock.read(place), Problems()
    for needed in together(assets) if place is not None and locked else ():
        name = needed.locked_name(place) if place is not None else ""
        if name in locked and needed.path and (how := lock.difference(needed.files, locked[name])):
            what = f"{needed.path}: {how}, so it is not the {name} that {place} locks"
            problems.add(
                needed.asset.where, what, "Put the locked file back, or lock this one: refinery assets --lock."
            )
    if problems.found:
        raise RecipeError(problems.sorted())


def described(assets: Iterable[Asset]) -> list[dict[str, Any]]:
    """The assets of a recipe as plain data, for the manifest and the table `runs`. Raises DataError."""
    return [
        {
            "name": needed.asset.need.name,
            "path": needed.path,
            "steps": list(needed.steps),
            "files": [lock.plain(file) for file in needed.files],
        }
        for needed in together(assets)
        if needed.path is not None
    ]


def require_same_side_files(manifest: Mapping[str, Any], assets: Iterable[Asset]) -> None:
    """Check that the files beside the input of a finished run are unchanged. assets: of its recipe. Raises DataError.

    An asset that is found at another place than by the run, as on another machine, is the same if its bytes are.
    """
    known = manifest.get("side_files", {})
    gone = {name: then for name, then in known.items() if not files(name)}
    now = {digest(asset.read_as) for asset in assets if gone and asset.path is not None}
    require_unchanged({name: then for name, then in known.items() if name not in gone or then not in now})
