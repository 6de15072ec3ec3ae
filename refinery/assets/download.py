"""A file to be downloaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Download:
    """A file to load. sha256: that it must have, empty for any."""

    url: str
    target: Path
    sha256: str = ""
