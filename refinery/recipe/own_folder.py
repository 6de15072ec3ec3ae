"""Places of a run over a part of the input: a folder of its own, so that its results are not taken for those of all."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace

from refinery.recipe.model import Recipe
from refinery.recipe.override import SKIP, Override
from refinery.storage.urls import is_stdout

# Changes by which a command or call takes a part.
_PARTS = ("limit", "sample", SKIP)


def in_own_folder(recipe: Recipe, overrides: Sequence[Override]) -> Recipe:
    """The recipe with its results in `<work_dir>/first-100` and the like, where an option has taken a part of it.

    Places that are options, too, stay as they are; so do all of a recipe whose own keys take the part.
    """
    changed = {override.path[0] for override in overrides}
    if recipe.portion is None or not changed & {*_PARTS}:
        return recipe
    folder = recipe.work_dir if "work_dir" in changed else posixpath.join(recipe.work_dir, recipe.portion.folder)
    summary = recipe.stat_summary
    if summary.export is not None and not _names_export(overrides):
        summary = replace(summary, export=_below(folder, summary.export))
    keeps_export = "export_path" in changed or is_stdout(recipe.export_path)
    keeps_removed = "removed_path" in changed or recipe.removed_path is None
    return replace(
        recipe,
        work_dir=folder,
        export_path=recipe.export_path if keeps_export else _below(folder, recipe.export_path),
        removed_path=recipe.removed_path if keeps_removed else _below(folder, str(recipe.removed_path)),
        stat_summary=summary,
    )


def _below(folder: str, path: str) -> str:
    """A file or folder of this name in the folder."""
    return posixpath.join(folder, posixpath.basename(path.rstrip("/")))


def _names_export(overrides: Sequence[Override]) -> bool:
    return any(override.path[:2] == ("stat_summary", "export") for override in overrides)
