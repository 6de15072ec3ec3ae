"""Read objects in blocks, only as far as needed, and only in the version that was found.

An object with another version is not read: a run would mix rows of both. Credentials are those of this machine's
environment.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from refinery.errors import DataError
from refinery.storage.drivers import driver_errors, located, of_input
from refinery.storage.object_versions import version_of
from refinery.storage.retries import repeated

# Bytes of one request: few at first, because often only the start is read.
_FIRST, MOST = 256 << 10, 8 << 20
# Number of objects that are fetched at a time.
BESIDE = 32


def open_exactly(url: str, size: int, version: str) -> Any:
    """An object as a file that reads exactly the requested bytes. Raises DataError when the object has changed."""
    with driver_errors(url, of_input):
        fs, path = located(url)
        fs.invalidate_cache()  # the driver caches listings
        file = repeated(fs, lambda: fs.open(path, "rb", cache_type="none"))
        info = getattr(file, "details", None) or {}
        info = info if version_of(info, url) else repeated(fs, lambda: fs.info(path))
        if int(info.get("size") or 0) != size or version_of(info, url) != version:
            file.close()
            raise DataError(f"{url}: has changed since the start of the run. Run it again")
        return file


def read_exactly(url: str, size: int, version: str) -> bytes:
    """All bytes of an object. Raises DataError when the object has changed."""
    file = open_exactly(url, size, version)
    try:
        with driver_errors(url, of_input):
            return _read(file, 0, size) if size else b""
    finally:
        file.close()


def _read(file: Any, start: int, size: int) -> bytes:
    """Bytes of an open object."""

    def read() -> bytes:
        file.seek(start)
        return bytes(file.read(size))

    return repeated(getattr(file, "fs", None), read)


class Stream(io.RawIOBase):
    """A file at a URL, block after block; the next block is fetched while one is used.

    A read gives all requested bytes, up to the end of the file. Every error is a DataError, never an
    OSError, which readers of compressed data would take for damage to it.
    """

    def __init__(self, file: Any, url: str, size: int, stop: int) -> None:
        self._file, self._url, self._size, self._stop = file, url, size, stop
        self._at = self._start = 0  # place of the next byte; start of the block
        self._block = b""
        self._length = _FIRST
        self._next: tuple[int, Future[bytes]] | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read this many bytes, or those up to the end of the file."""
        left = max(0, self._size - self._at)
        return super().read(left if size < 0 else min(size, left)) or b""

    def readinto(self, target: Any) -> int:
        """Fill `target` from its start; fewer bytes at the end of the file only."""
        view, done = memoryview(target).cast("B"), 0
        while done < len(view) and self._at < self._size:
            inside = self._at - self._start
            if not 0 <= inside < len(self._block):
                self._load()
                inside = 0
            piece = memoryview(self._block)[inside : inside + len(view) - done]
            view[done : done + len(piece)] = piece
            done += len(piece)
            self._at += len(piece)
        return done

    def _load(self) -> None:
        """Load the block that begins at the current place, and start fetching the next one."""
        waiting, self._next = self._next, None
        follows = bool(self._block) and self._at == self._start + len(self._block)
        self._length = MOST if follows else _FIRST
        if waiting is not None and waiting[0] == self._at:
            self._block = waiting[1].result()
        else:
            if waiting is not None:
                waiting[1].exception()  # the file has one reader at a time
            self._block = self._fetch(self._at, self._end(self._at))
        self._start = self._at
        after = self._start + len(self._block)
        if follows and after < self._stop:
            self._next = after, fetchers().submit(self._fetch, after, self._end(after))

    def _end(self, at: int) -> int:
        """End of a block that begins at `at`: not far behind the place where reading is likely to end."""
        return min(at + self._length, max(self._stop, at + _FIRST), self._size)

    def _fetch(self, start: int, end: int) -> bytes:
        with driver_errors(self._url, of_input):
            data = _read(self._file, start, end - start)
            if len(data) != end - start:
                raise DataError(f"{self._url}: ends after {start + len(data)} bytes, and should have {self._size}")
            return data

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            if self._next is not None and not self._next[1].cancel():
                self._next[1].exception()
            self._file.close()
        super().close()


@lru_cache(maxsize=1)
def fetchers() -> ThreadPoolExecutor:
    """Threads that fetch from objects."""
    return ThreadPoolExecutor(BESIDE, thread_name_prefix="refinery-fetch")


def beside(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Results of a function for all items, run for many at a time. Raises the error of the first item that fails."""
    return list(fetchers().map(work, items))
