"""Files and folders that parameters name: their contents decide results, their places do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from refinery import kernels
from refinery.common.paths import CONTENTS


def by_contents(params: Mapping[str, Any], specs: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an operator, with digests in place of the files that it reads, and without its other paths."""
    found = {}
    for name, value in params.items():
        kind = specs[name].type if name in specs else ""
        if kind in CONTENTS and isinstance(value, str) and value:
            found[name] = digest_of(value)
        elif kind != "path":
            found[name] = value
    return found


def digest_of(path: str) -> list[tuple[str, str]]:
    """Names and digests of the files in a folder, or the digest of a file; empty for a missing one."""
    place = Path(path).expanduser()
    inside = place.is_dir()
    files: Iterable[Path] = sorted(place.iterdir()) if inside else [place]
    there = (file for file in files if file.is_file())
    return [(file.name if inside else "", kernels.core.digest.digest_of_file(file).hexdigest()) for file in there]
