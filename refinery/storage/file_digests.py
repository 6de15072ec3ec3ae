"""Digests of whole files, each computed once while the file is unchanged; those of large files are kept on disk.

A digest is known by the file's facts (place, size, times of change, inode), so another process need not read gigabytes.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from refinery.common.cache_folder import cache_root
from refinery.common.digest import ALGORITHM, digest_of_file

# A file that changes twice within a tick of the file system's clock looks as if it had changed once.
_TICK = 2_000_000_000
# From this size on, reading a file takes longer than looking its digest up.
_LARGE = 64_000_000

_whole: dict[tuple[str, str], str] = {}
_busy = threading.Lock()


def can_be_trusted(changed: int) -> bool:
    """Return whether a later change of files that changed at this time (ns) would show, by the present clock."""
    return changed + _TICK < time.time_ns()


def file_digest(path: str) -> str:
    """Digest of a whole file, which many shards may need: read once while unchanged. Raises OSError."""
    return _remembered(path, ALGORITHM, lambda: digest_of_file(path).hexdigest())


def sha256_of(path: str) -> str:
    """SHA-256 of a whole file, read once while unchanged. Raises OSError."""
    return _remembered(path, "sha256", lambda: _sha256(path))


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remembered(path: str, kind: str, compute: Callable[[], str]) -> str:
    stat = os.stat(path)
    facts = (os.path.realpath(path), stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    known = kind, repr(facts)
    with _busy:
        if known in _whole:
            return _whole[known]
        kept = _place_of(known) if stat.st_size >= _LARGE else None
        content_digest = _read(kept) or compute()
        if can_be_trusted(max(stat.st_mtime_ns, stat.st_ctime_ns)):
            _whole[known] = content_digest
            _keep(kept, content_digest)
        return content_digest


def _place_of(known: tuple[str, str]) -> Path:
    name = hashlib.sha256("\0".join(known).encode("utf-8", "surrogateescape")).hexdigest()
    return cache_root() / "digests" / name[:32]


def _read(kept: Path | None) -> str:
    """The digest that is kept; empty if there is none."""
    with suppress(OSError, ValueError):
        content_digest = kept.read_text("ascii") if kept is not None else ""
        return content_digest if len(content_digest) in (32, 64) else ""
    return ""


def _keep(kept: Path | None, content_digest: str) -> None:
    """Keep a digest where that is possible; without it, the file is read again."""
    if kept is None or kept.exists():
        return
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        aside = kept.with_name(f"{kept.name}.{os.getpid()}.{threading.get_ident()}")
        aside.write_text(content_digest, "ascii")
        os.replace(aside, kept)
