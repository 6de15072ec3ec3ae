"""Packages that are installed in other folders than Python's own, such as those that PYTHONPATH or a `.pth` file names.

A package is installed where its `dist-info` stands beside it: then its version stands for its contents. An editable
installation is code that changes without a new version.
"""

from __future__ import annotations

import importlib.metadata as metadata
import json
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache


def is_distributed(path: str, where: Sequence[str]) -> bool:
    """True if a file belongs to a package that is installed in one of the folders. path: without links."""
    for folder in {os.path.join(os.path.realpath(place), "") for place in where if place}:
        if path.startswith(folder):
            name = path[len(folder) :].partition(os.sep)[0].partition(".")[0]
            if name in _installed_in(folder):
                return True
    return False


@lru_cache(maxsize=256)
def _installed_in(folder: str) -> frozenset[str]:
    """Names of the modules of a folder that installed packages have put there."""
    packages = metadata.distributions(path=[folder])
    return frozenset(name for package in packages for name in _modules(package))


def _modules(package: metadata.Distribution) -> Iterator[str]:
    text = package.read_text("METADATA")  # a folder of sources has `egg-info`, without this file
    if text is None or _is_editable(package):
        return
    listed = (package.read_text("top_level.txt") or package.metadata["Name"].replace("-", "_")).split()
    names = [file.parts[0] for file in package.files or () if file.suffix != ".pth"] or listed
    modules = (name.partition(".")[0] for name in names if not name.endswith(".dist-info"))
    yield from (name for name in modules if name not in ("", "__pycache__"))


def _is_editable(package: metadata.Distribution) -> bool:
    try:
        return bool(json.loads(package.read_text("direct_url.json") or "{}")["dir_info"]["editable"])
    except (ValueError, KeyError, TypeError):
        return False
