"""The assets of a recipe's steps: looked for when the recipe is read, all that are missing reported together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from refinery.assets.find import find
from refinery.assets.names import Need, needs
from refinery.assets.places import Place
from refinery.assets.sources import source_of
from refinery.common.paths import shorter
from refinery.recipe.tree import Problems, SourcePlace


@dataclass(frozen=True)
class Asset:
    """An asset that a step needs. path: where it was found, or None. looked: the places up to there."""

    step: str
    where: SourcePlace
    need: Need
    path: str | None
    looked: Sequence[Place] = ()


@dataclass
class Assets:
    """Looks for the assets of all steps.

    own: folders that the recipe names. before: names by path of what an earlier run of the recipe has found: it is looked
    for again by its name where the path is gone.
    """

    own: Sequence[str] = ()
    before: Mapping[str, str] = field(default_factory=dict)
    all: list[Asset] = field(default_factory=list)

    def fill(
        self, step: str, params: dict[str, Any], specs: Mapping[str, Any], where: SourcePlace, problems: Problems
    ) -> None:
        """Put the paths of assets into the parameters of a step; a missing one is a problem."""
        known = self._by_name(params, specs)
        for need in needs(params, specs):
            path, looked = (known[need.param], []) if need.param in known else find(need, self.own)
            if path is None and need.given is not None and source_of(need.name) is None:
                continue  # a path that leads nowhere: the operator says so
            self.all.append(Asset(step, where, need, path, looked))
            if path is not None:
                params[need.param] = path
            else:
                problems.add(where, f"{step} needs {shown(need)} ({need.param}), which was not found")

    def _by_name(self, params: dict[str, Any], specs: Mapping[str, Any]) -> dict[str, str]:
        """Put back the names of assets that an earlier run has found; returns those paths that still exist."""
        known = {name: str(params.get(name)) for name, spec in specs.items() if getattr(spec, "asset", "")}
        known = {name: path for name, path in known.items() if path in self.before}
        params.update((name, self.before[path] or None) for name, path in known.items())
        return {name: path for name, path in known.items() if os.path.exists(path)}

    @property
    def found(self) -> dict[str, str]:
        """Names by path of what was found; empty names for those of the operators themselves."""
        return {asset.path: asset.need.given or "" for asset in self.all if asset.path is not None}

    def report(self, recipe: str, problems: Problems) -> None:
        """Say once for all missing assets where they were looked for, and how to get them."""
        missing = {asset.need.name: asset for asset in self.all if asset.path is None}
        if not missing:
            return
        names = ", ".join(shown(asset.need) for asset in missing.values())
        looked = list(dict.fromkeys(place for asset in missing.values() for place in asset.looked))
        folders = ", ".join(f"{shorter(place.folder)} ({place.named_by})" for place in looked)
        what = f"{len(missing)} missing: {names}; looked for in {folders}"
        problems.add(SourcePlace(recipe), what, f"{cure(recipe)} docs/assets.md tells more.")


def shown(need: Need) -> str:
    """An asset's name in messages."""
    return f"a folder with {need.name}" if need.folder and need.given is None else need.name


def cure(recipe: str) -> str:
    """The command that gets the missing assets of a recipe."""
    return f"`refinery assets {recipe} --fetch` downloads them, after it has shown from where."
