"""Files in the folders of a run that were not there when its digests were recorded: a reader of the folder reads them, too."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from refinery.errors import DataError
from refinery.io.folders import is_never_data
from refinery.io.path_lists import is_list
from refinery.io.sources import find
from refinery.io.writers.export_files import numbered
from refinery.recipe import Recipe
from refinery.recipe.export import ExportSettings
from refinery.results.digests.places import is_folder, moved_input, name_below
from refinery.storage.urls import is_url

# Part, name below the part's folder, and path of a file.
NewFile = tuple[str, str, str]


def new_files(
    recipe: Recipe | None,
    root: str,
    folders: Mapping[str, str],
    moved: Mapping[str, str],
    known: Mapping[str, Collection[str]],
    parts: Sequence[str],
) -> tuple[list[NewFile], list[tuple[str, str]]]:
    """New files of inputs and outputs, and the parts in which none could be looked for, with the reason.

    root: of the run folder now. folders: of the parts, as recorded. moved: where they are now, if elsewhere. known: paths of
    the recorded files now.
    """
    additional: list[NewFile] = []
    not_searched: list[tuple[str, str]] = []
    for part, listed in (("inputs", _inputs), ("outputs", _outputs)):
        if part not in parts or not known[part]:
            continue
        if recipe is None:
            not_searched.append((part, "the run's recipe cannot be opened here"))
            continue
        try:
            then, now = _then_and_now(recipe, root, folders.get(part, ""), moved.get(part))
            there = {os.path.realpath(path) for path in known[part]}
            paths = [path for path in listed(recipe, then, now) if os.path.realpath(path) not in there]
            additional += [(part, name_below(now or then, path), path) for path in sorted(paths)]
        except (DataError, OSError) as error:
            not_searched.append((part, str(error).splitlines()[0]))
    return additional, not_searched


def _then_and_now(recipe: Recipe, root: str, folder: str, moved: str | None) -> tuple[str, str | None]:
    """The folder of a part when the run ended, and where it is now if that is elsewhere: also a run folder may be moved."""
    if is_url(folder) or not folder:
        return folder, moved
    then, now = (os.path.normpath(os.path.join(top, folder)) for top in (recipe.work_dir, os.path.abspath(root)))
    return then, moved or (now if now != then else None)


def _inputs(recipe: Recipe, folder: str, to: str | None) -> Iterable[str]:
    """The files that the recipe would read now."""
    inputs = [item for item in recipe.inputs if item.format != "sql" and not is_list(item.path)]
    if to is not None:
        inputs = [item if is_url(item.path) else moved_input(item, folder, to) for item in inputs]
    folders = [item for item in inputs if not os.path.isfile(os.path.expanduser(item.path))]
    return [source.path for source in find(folders, recipe.suffixes)[0]] if folders else []


def _outputs(recipe: Recipe, folder: str, to: str | None) -> Iterable[str]:
    """The files that a reader of the export would read now."""
    export = recipe.export
    if not export.is_local:
        return []
    path = os.path.abspath(export.path)
    if to is not None:
        below = name_below(folder, path)
        path = os.path.abspath(os.path.join(to, below))
    return _exported(replace(export, path=path))


def _exported(export: ExportSettings) -> Iterable[str]:
    if is_folder(export):
        names = glob.glob(os.path.join(glob.escape(export.path), "**"), recursive=True)
        below = [(path, os.path.relpath(path, export.path)) for path in names if os.path.isfile(path)]
        return [path for path, name in below if not is_never_data(tuple(name.split(os.sep)))]
    return glob.glob(numbered(export.path, export.kind)) if export.shard_size else []
