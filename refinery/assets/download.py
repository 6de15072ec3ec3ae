"""A file to be downloaded."""

from __future__ import annotations

from pathlib import Path

from refinery.common.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Download:
    """A file to load. sha256: that it must have, empty for any."""

    url: str
    target: Path
    sha256: str = ""
