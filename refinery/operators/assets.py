"""Files and folders that parameters name: their contents decide results, their places do not."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from refinery.assets.names import matches
from refinery.common.paths import CONTENTS, with_paths
from refinery.storage.file_digests import file_digest


def by_contents(params: Mapping[str, Any], specs: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an operator, with digests in place of the files that it reads, and without its other paths."""
    values = {}
    for name, value in params.items():
        kind = specs[name].type if name in specs else ""
        if kind in CONTENTS:
            values[name] = with_paths(value, partial(_contents, pattern=pattern_of(specs[name])))
        elif kind != "path":
            values[name] = value
    return values


def _contents(path: str, pattern: str) -> Any:
    return digest_of(path, pattern) if path else path


def pattern_of(spec: Any) -> str:
    """The pattern of the files that a folder's parameter stands for; empty for all files."""
    asset = str(getattr(spec, "asset", ""))
    return asset if spec.type == "folder" and "*" in asset else ""


def files_at(path: str, pattern: str) -> str:
    """A path, or a glob of those files in it that match a pattern, empty for all."""
    return os.path.join(glob.escape(path), pattern) if pattern else path


def digest_of(path: str, pattern: str = "") -> list[tuple[str, str]]:
    """Names and digests of the files below a folder, or the digest of a file; empty for a missing one.

    pattern: of the files that count, in the folder itself; empty for all.
    """
    place = Path(os.path.expanduser(path))
    inside = place.is_dir()
    files: Iterable[Path] = sorted(place.iterdir() if pattern else place.rglob("*")) if inside else [place]
    there = (file for file in files if file.is_file() and (not inside or matches(file.name, pattern)))
    return [(file.relative_to(place).as_posix() if inside else "", file_digest(str(file))) for file in there]
