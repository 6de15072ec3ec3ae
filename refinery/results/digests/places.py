"""Folders of the parts of a run, below which files have their names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from refinery.io.path_lists import is_list
from refinery.io.side_files import base_of, is_glob
from refinery.recipe.export import ExportSettings
from refinery.recipe.input_config import InputConfig
from refinery.storage.urls import is_url

# Parts of a run, in the order in which they are shown, with a word for a file of each.
PARTS = {
    "inputs": "input",
    "models": "model or word list",
    "side_files": "file that a step reads, or code of an operator",
    "recipe": "recipe",
    "outputs": "output",
}


def input_folder(inputs: Sequence[InputConfig], files: Sequence[str]) -> str:
    """The folder of the inputs: of the files, and of the folders and patterns in which the recipe looks for them."""
    looked = [item.path for item in inputs if item.path and item.format != "sql" and not is_list(item.path)]
    return common([*(_folder_of_input(path, files) for path in looked), *map(folder_above, files)])


def _folder_of_input(path: str, files: Sequence[str]) -> str:
    """The folder in which an input of a recipe is looked for."""
    path = path.rstrip("/") if is_url(path) else os.path.abspath(os.path.expanduser(path))
    if is_glob(path):
        return base_of(path)
    is_folder = any(file.startswith(f"{path}/") for file in files) if is_url(path) else os.path.isdir(path)
    return path if is_folder else folder_above(path)


def output_folder(export: ExportSettings, files: Sequence[str]) -> str:
    """The folder of the outputs."""
    own = [export.path if is_url(export.path) else os.path.abspath(export.path)] if is_folder(export) else []
    return common([*own, *map(folder_above, files)])


def is_folder(export: ExportSettings) -> bool:
    """Return whether an export is a folder of files."""
    return export.is_written and (export.is_folder or export.in_parts)


def common(folders: Iterable[str]) -> str:
    """The folder above all folders; "" if there is none, as of a folder here and another one at a URL."""
    folders = sorted(set(folders))
    schemes = {folder.partition("://")[0] if is_url(folder) else "" for folder in folders}
    if len(schemes) != 1:
        return ""
    [scheme] = schemes
    if not scheme:
        return os.path.commonpath(folders)
    return f"{scheme}://{os.path.commonpath([folder.partition('://')[2] for folder in folders])}"


def name_below(folder: str, path: str) -> str:
    """The name of a file below the folder of its part, with slashes; the whole path elsewhere."""
    if is_url(path):
        return path.removeprefix(f"{folder}/") if folder else path
    below = os.path.relpath(path, folder) if folder else ".."
    return path if below.startswith("..") else below.replace(os.sep, "/")


def moved_input(item: InputConfig, folder: str, to: str) -> InputConfig:
    """An input of a recipe whose files were moved with the folder of all inputs."""
    path = item.path if is_url(item.path) else os.path.abspath(os.path.expanduser(item.path))
    name = name_below(folder, path)
    return replace(item, path=to if name == "." or path == folder else os.path.join(to, name))


def folder_above(path: str) -> str:
    """The folder of a file or object."""
    return path.rpartition("/")[0] if is_url(path) else os.path.dirname(os.path.abspath(path))
