"""Facts of a shard's input files, by which a machine sees that it has the same files as the machine of the driver.

Facts are size, time of change and a digest of some blocks: a copy of the input on a machine's own disk can have the size and time of
another file. Blocks are of the bytes that a shard reads, so that reading them costs little more than finding the file.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from refinery.errors import DataError
from refinery.io.model import Shard, Source
from refinery.io.readers.registry import reader_of
from refinery.storage.urls import is_url

CURE = "Give all machines the same files under the same paths, on a shared file system"
# Tolerance for times of change, which file systems round differently.
_SECONDS = 1.0
# Bytes that are digested whole; bytes of the blocks at the start, in the middle and at the end of more.
_WHOLE, _BLOCK = 1 << 20, 1 << 16
# Threads that look at files, since they wait for the storage; files of a shard from which on they do.
LOOKING, _MANY = 8, 8

# Path, first byte and end (-1: of the file), size (-1: there is no file), time of change, digest ("": cannot be read).
FileFacts = tuple[str, int, int, int, float, str]


def facts_of(shard: Shard) -> list[FileFacts]:
    """Facts of the files that a shard reads, as this machine sees them; none of objects, tables and results of stages."""
    if shard.part is not None and shard.part.source is not None:
        return []
    sources = [source for source in shard.sources if source.table is None and not is_url(source.path)]
    ranges = [(source.path, *_bytes_of(source, shard)) for source in sources]
    return _each(ranges)


def facts_of_files(paths: Sequence[str]) -> list[FileFacts]:
    """Facts of whole files, as this machine sees them."""
    return _each([(path, 0, -1) for path in paths])


def check_files(known: Sequence[FileFacts]) -> None:
    """Check that files here are as the driver has seen them. Raises DataError for the first that differs."""
    here = _each([(path, start, end) for path, start, end, *_ in known])
    for there, own in zip(known, here, strict=True):
        if difference := _difference(there, own):
            raise DataError(
                f"{own[0]}: the machine {socket.gethostname()} has {difference}. {CURE}; it must not change during the run"
            )


def _difference(there: FileFacts, here: FileFacts) -> str:
    """Text of the difference between a file of the driver's machine and one here; "" if they are the same."""
    *_, size, modified, digest = there
    *_, own_size, own_modified, own_digest = here
    if own_size != size or abs(own_modified - modified) > _SECONDS:
        actual = f"{own_size:,} bytes" if own_size >= 0 else "nothing"
        return f"{actual} of another time there, where the run was started it is {size:,} bytes"
    if digest and own_digest and own_digest != digest:
        return "a file of this size and time there, but with other bytes than where the run was started"
    return ""


def _bytes_of(source: Source, shard: Shard) -> tuple[int, int]:
    """The bytes of a file that a shard reads, as far as they are known before it is read; else the whole file."""
    return (shard.start, shard.end) if reader_of(source).cut_anywhere and len(shard.sources) == 1 else (0, -1)


def _each(ranges: Sequence[tuple[str, int, int]]) -> list[FileFacts]:
    """Facts of ranges of files; threads wait for the storage where there are many."""
    look: Callable[[tuple[str, int, int]], FileFacts] = lambda one: _facts(*one)  # noqa: E731
    if len(ranges) < _MANY:
        return list(map(look, ranges))
    with ThreadPoolExecutor(LOOKING) as pool:
        return list(pool.map(look, ranges))


def _facts(path: str, start: int, end: int) -> FileFacts:
    try:
        now = os.stat(path)
    except OSError:
        return path, start, end, -1, 0.0, ""
    state = now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns
    return path, start, end, now.st_size, now.st_mtime, _digest(path, start, end, state)


@lru_cache(maxsize=4096)
def _digest(path: str, start: int, end: int, state: tuple[int, ...]) -> str:
    """Digest of the blocks of a range of a file; "" if it cannot be read. state: identity, size and times of the file."""
    try:
        with open(path, "rb", buffering=0) as file:
            last = os.fstat(file.fileno()).st_size if end < 0 else end
            digest = hashlib.blake2b(digest_size=16)
            for first, size in _blocks(start, last):
                digest.update(os.pread(file.fileno(), size, first))
            return digest.hexdigest()
    except OSError:
        return ""


def _blocks(start: int, end: int) -> Iterator[tuple[int, int]]:
    """First byte and size of the blocks of a range."""
    if end - start <= _WHOLE:
        yield start, max(0, end - start)
        return
    for first in (start, (start + end - _BLOCK) // 2, end - _BLOCK):
        yield first, _BLOCK
