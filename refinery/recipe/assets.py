"""The assets of a recipe's steps: looked for when the recipe is read, all that are missing reported together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import dataclass, field
from typing import Any

from refinery.assets.find import find
from refinery.assets.names import Need, need_of, needs
from refinery.assets.places import Place
from refinery.assets.sources import SOURCES, source_of
from refinery.common.paths import CONTENTS, absolute, paths_in, shorter
from refinery.operators.assets import files_at, pattern_of
from refinery.recipe.tree import Problems, SourcePlace

_OF_THE_RUN = [Place("", "the recipe of a run")]


@dataclass(frozen=True)
class Asset:
    """An asset that a step needs.

    path: where it was found, or None. looked: the places up to there; none for a path that the recipe gives. pattern: of
    the files that count in a folder, empty for all.
    """

    step: str
    where: SourcePlace
    need: Need
    path: str | None
    looked: Sequence[Place] = ()
    pattern: str = ""

    @property
    def read_as(self) -> str:
        """The name of what is read: a file, or a glob of the files that count in a folder."""
        return files_at(self.path or "", self.pattern)


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
        seen = self._of_the_run(step, params, specs, where)
        for need in needs(params, specs):
            path, looked = find(need, self.own)
            if path is None and need.given is not None and not _can_be_had(need):
                continue  # a path that leads nowhere: the operator says so
            seen.append(Asset(step, where, need, path, looked, pattern_of(specs[need.param])))
            if path is not None:
                params[need.param] = path
            else:
                problems.add(where, f"{step} needs {shown(need)} ({need.param}), which was not found")
        self.all += [*seen, *_given(step, params, specs, where, {asset.need.param for asset in seen})]

    def _of_the_run(
        self, step: str, params: dict[str, Any], specs: Mapping[str, Any], where: SourcePlace
    ) -> list[Asset]:
        """Assets that an earlier run has found and that are still there; of others, put back the names."""
        there = []
        for name, spec in specs.items():
            path = str(params.get(name))
            if not getattr(spec, "asset", "") or path not in self.before:
                continue
            params[name] = self.before[path] or None
            if os.path.exists(path):
                need = need_of(spec, params) or Need(name, path, spec.type == "folder", path)
                params[name] = path
                there.append(Asset(step, where, need, path, _OF_THE_RUN, pattern_of(spec)))
        return there

    @property
    def found(self) -> dict[str, str]:
        """Names by path of what was found; empty names for those of the operators themselves."""
        return {asset.path: asset.need.given or "" for asset in self.all if asset.path is not None and asset.looked}

    def report(self, recipe: str, problems: Problems) -> None:
        """Say once for all missing assets where they were looked for, and how to get them."""
        missing = {asset.need.name: asset for asset in self.all if asset.path is None}
        if not missing:
            return
        names = ", ".join(shown(asset.need) for asset in missing.values())
        looked = list(dict.fromkeys(place for asset in missing.values() for place in asset.looked))
        folders = ", ".join(f"{shorter(place.folder)} ({place.named_by})" for place in looked)
        what = f"{len(missing)} missing: {names}; looked for in {folders}"
        problems.add(SourcePlace(recipe), what, f"{cure(recipe)} See docs/assets.md.")


def shown(need: Need) -> str:
    """An asset's name in messages."""
    return f"a folder with {need.name}" if need.folder and need.given is None else need.name


def cure(recipe: str) -> str:
    """The command that gets the missing assets of a recipe."""
    return f"`refinery assets {recipe} --fetch` downloads them, after it has shown from where."


def _can_be_had(need: Need) -> bool:
    """Return whether a name in a recipe has a public source. `models/tokenizer.json` is rather a path than a model's name."""
    source = source_of(need.name)
    return source is not None and (source in SOURCES or need.name != need.given)


def _given(
    step: str, params: Mapping[str, Any], specs: Mapping[str, Any], where: SourcePlace, seen: AnySet[str]
) -> list[Asset]:
    """Files and folders that the recipe names by their paths. seen: other parameters."""
    step_assets = []
    for name, spec in specs.items():
        for value in paths_in(params.get(name)) if name not in seen and spec.type in CONTENTS else ():
            need = Need(name, value, spec.type == "folder", value)
            step_assets.append(Asset(step, where, need, absolute(value), (), pattern_of(spec)))
    return step_assets
