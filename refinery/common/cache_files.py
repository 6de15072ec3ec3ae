"""Files of the user's cache folder: each appears whole, holds a digest of itself, and gives way to later ones."""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path


def read_cached(place: Path) -> bytes | None:
    """The content that `write_cached` stored; None if there is none, or it is damaged."""
    try:
        digest, _, content = place.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if digest == _digest(content) else None


def write_cached(place: Path, content: bytes, most: int) -> None:
    """Store content, and remove the oldest files of its folder beyond `most`; do nothing where that is not possible."""
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_suffix(f".{os.getpid()}.{threading.get_ident()}.tmp")
        draft.write_bytes(_digest(content) + b"\n" + content)
        draft.replace(place)
        stored = sorted((entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(place.parent))
        for _, path in stored[:-most]:
            os.unlink(path)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
