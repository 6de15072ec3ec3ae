"""Digests of whole files, each computed once while the file is unchanged."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from refinery import kernels

# A file that changes twice within a tick of the file system's clock looks as if it had changed once.
_TICK = 2_000_000_000

_whole: dict[tuple[Any, ...], str] = {}
_busy = threading.Lock()


def can_be_trusted(changed: int) -> bool:
    """Return whether a later change of files that changed at this time (ns) would show, by the present clock."""
    return changed + _TICK < time.time_ns()


def file_digest(path: str) -> str:
    """Digest of a whole file, which many shards may need: read once while unchanged. Raises OSError."""
    stat = os.stat(path)
    known = (os.path.realpath(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    with _busy:
        if known in _whole:
            return _whole[known]
        found = kernels.core.digest.digest_of_file(path).hexdigest()
        if can_be_trusted(max(stat.st_mtime_ns, stat.st_ctime_ns)):
            _whole[known] = found
        return found
