"""SHA-256 of files and objects. The bytes are read each time: a remembered digest would not show a forged file."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from refinery.errors import DataError
from refinery.storage.object_stream import open_exactly
from refinery.storage.object_versions import version_of
from refinery.storage.objects import info_of
from refinery.storage.urls import is_url

Item = TypeVar("Item")
Result = TypeVar("Result")

_BLOCK = 8 << 20
# More threads than this wait for the disk.
_MOST = 16


def size_and_sha256(path: str) -> tuple[int, str]:
    """Size and SHA-256 of a file or object. Raises OSError, DataError."""
    if is_url(path):
        return _of_object(path)
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest


def _of_object(url: str) -> tuple[int, str]:
    try:
        info = info_of(url)
    except DataError as error:
        if isinstance(error.__cause__ or error.__context__, FileNotFoundError):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url) from error
        raise
    size, digest = int(info.get("size") or 0), hashlib.sha256()
    with open_exactly(url, size, version_of(info, url)) as file:
        for start in range(0, size, _BLOCK):
            file.seek(start)
            digest.update(file.read(min(_BLOCK, size - start)))
    return size, digest.hexdigest()


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """The results of `work` for all items, in order. hashlib works without Python's lock."""
    workers = min(os.cpu_count() or 1, _MOST, len(items))
    if workers < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
