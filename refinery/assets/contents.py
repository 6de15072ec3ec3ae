"""The files of an asset, with sizes and digests."""

from __future__ import annotations

import os
from dataclasses import dataclass

from refinery.assets.names import matches
from refinery.storage.file_digests import sha256_of


@dataclass(frozen=True)
class AssetFile:
    """A file of an asset. name: in its folder; empty where the asset is the file itself."""

    name: str
    bytes: int
    sha256: str


def contents(path: str, pattern: str = "") -> list[AssetFile]:
    """The file at a path, or those of a folder that match a pattern, sorted by name. Raises OSError."""
    if not os.path.isdir(path):
        return [_file("", path)]
    files = []
    for folder, folders, names in os.walk(path):
        folders[:] = [] if pattern else sorted(folders)
        files += [os.path.join(folder, name) for name in names if matches(name, pattern)]
    return [_file(os.path.relpath(file, path), file) for file in sorted(files) if os.path.isfile(file)]


def _file(name: str, path: str) -> AssetFile:
    return AssetFile(name, os.stat(path).st_size, sha256_of(path))
