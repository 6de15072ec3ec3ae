"""Folders in which assets are looked for: those of the recipe and the environment, then the caches of this user.

They are those of Data-Juicer and of the Hugging Face libraries, so that a machine on which these have run has all files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from refinery.common.cache_folder import cache_root, named_folder


@dataclass(frozen=True)
class Place:
    """A folder, and what names it: a key of the recipe, a variable, or the cache that it is. hub: laid out as the Hub's."""

    folder: str
    named_by: str
    hub: bool = False


def places(folder: bool, own: Sequence[str] = ()) -> list[Place]:
    """Places of files, or of folders of word lists, in the order of the search. own: folders of the recipe's key `assets`."""
    listed = [*(Place(path, "assets") for path in own), *_named("REFINERY_ASSETS")]
    if folder:
        listed.append(_juicer("DATA_JUICER_ASSETS_CACHE", "assets"))
    else:
        listed += [*_named("DATA_JUICER_EXTERNAL_MODELS_HOME"), _juicer("DATA_JUICER_MODELS_CACHE", "models"), hub()]
    return list(
        {place.folder: place for place in reversed([*listed, Place(store(), "the cache of refinery")])}.values()
    )[::-1]


def store() -> str:
    """The folder into which `refinery assets --fetch` downloads: `assets` in the user's cache folder of refinery.

    Also in a folder that several users share: nothing in it is run, and results are of its contents.
    """
    return str((named_folder() or cache_root()) / "assets")


def hub() -> Place:
    """The cache of the Hugging Face libraries."""
    if named := os.environ.get("HF_HUB_CACHE"):
        return Place(_expanded(named), "HF_HUB_CACHE", hub=True)
    home = os.environ.get("HF_HOME")
    base = Path(_expanded(home)) if home else _cache_home("XDG_CACHE_HOME") / "huggingface"
    return Place(str(base / "hub"), "HF_HOME" if home else "the cache of Hugging Face", hub=True)


def _named(variable: str) -> Iterator[Place]:
    """The folders of a variable, which are separated as those of PATH."""
    for folder in os.environ.get(variable, "").split(os.pathsep):
        if folder.strip():
            yield Place(_expanded(folder.strip()), variable)


def _juicer(variable: str, name: str) -> Place:
    """A cache folder of Data-Juicer, which has a variable for each of them, and for the folders above."""
    if named := os.environ.get(variable):
        return Place(_expanded(named), variable)
    home = os.environ.get("DATA_JUICER_CACHE_HOME")
    base = Path(_expanded(home)) if home else _cache_home("CACHE_HOME") / "data_juicer"
    return Place(str(base / name), "the cache of Data-Juicer")


def _cache_home(variable: str) -> Path:
    return Path(_expanded(os.environ.get(variable) or "~/.cache"))


def _expanded(folder: str) -> str:
    return os.path.abspath(os.path.expanduser(folder))
