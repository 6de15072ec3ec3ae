"""Inputs at URLs: objects of a store that fsspec has a driver for, read in blocks and only as far as needed.

A source keeps the version (an ETag, or another field of the store) of the object that discovery has found. An object
with another version is not read: a run would mix rows of both. Credentials are those of this machine's environment.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from refinery.common.redaction import hide
from refinery.errors import DataError, RefineryError
from refinery.storage.urls import filesystem, is_url, said, scheme_of

if TYPE_CHECKING:
    import pyarrow as pa

    from refinery.io.model import Source

# Bytes of one request: few at first, because often only the start is read.
_FIRST, _MOST = 256 << 10, 8 << 20
# Number of whole objects that are fetched at a time, and bytes that these may have together.
BESIDE = 32
_AHEAD = 64 << 20
_COPIES, _FOOTERS = 2, 2000

# Version fields of an object: digests of its contents, wherever it is (S3's tag counts as one); tags of this object
# alone; or else the time of its last change.
_OF_CONTENTS = ("md5Hash", "sha256", "blob_id")
_OF_OBJECT = ("ETag", "etag", "generation")
_OF_TIME = ("LastModified", "Last-Modified", "last_modified", "mtime", "updated", "created")

_held = threading.local()


@lru_cache(maxsize=64)
def _driver(place: str) -> Any:
    return filesystem(place)[0]


def located(url: str) -> tuple[Any, str]:
    """The driver for a URL, one for all threads, and the path in it. Raises DataError when there is none."""
    scheme, _, rest = url.partition("://")
    fs = _driver(f"{scheme}://{rest.partition('/')[0]}")
    return fs, str(fs._strip_protocol(url)).rstrip("/")


def forget() -> None:
    """Drop all drivers, because the environment has changed."""
    _driver.cache_clear()


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Turn any error of a driver into DataError with the URL and the cure."""
    try:
        yield
    except RefineryError:
        raise
    except FileNotFoundError:
        raise DataError(f"{url}: there is no such object or folder") from None
    except PermissionError as error:
        cure = "Credentials are those of the environment, as the driver looks for them"
        raise DataError(f"{url}: no access ({hide(said(error))}). {cure}") from error
    except Exception as error:
        raise DataError(f"{url}: cannot be read: {hide(said(error))}") from error


def version_of(info: dict[str, Any], url: str) -> str:
    """The version of an object by the driver's facts, which changes with the object; "" without any.

    Times begin with `t:`, and tags that are valid for one object only with `o:`.
    """
    s3 = scheme_of(url) in ("s3", "s3a")
    for field in (*_OF_CONTENTS, *_OF_OBJECT):
        if info.get(field):
            plain = str(info[field]).strip('"')
            return plain if s3 or field in _OF_CONTENTS else f"o:{plain}"
    for field in _OF_TIME:
        value = info.get(field)
        if isinstance(value, datetime):
            return f"t:{int(value.timestamp())}"
        if value:
            return f"t:{int(value)}" if isinstance(value, (int, float)) else f"t:{value}"
    return ""


def changed_at(version: str) -> int:
    """Time of the last change (ns) of an object, by its version; 0 if the version follows from contents or a tag."""
    if not version:
        return 1 << 62  # without a version the object may have changed just now
    return int(version[2:]) * 1_000_000_000 if version[:2] == "t:" and version[2:].isdigit() else 0


def info_of(url: str) -> dict[str, Any]:
    """The driver's present facts about a URL. Raises DataError."""
    with storage_errors(url):
        fs, path = located(url)
        fs.invalidate_cache()
        return dict(fs.info(path))


def head_of(url: str, size: int) -> bytes:
    """The first bytes of an object."""
    with storage_errors(url):
        fs, path = located(url)
        return bytes(fs.cat_file(path, start=0, end=size)) if size else b""


def open_exactly(source: Source) -> Any:
    """An object as a file that reads exactly the requested bytes. Raises DataError when the object has changed."""
    with storage_errors(source.path):
        fs, path = located(source.path)
        fs.invalidate_cache()  # the driver caches listings
        file = fs.open(path, "rb", cache_type="none")
        info = getattr(file, "details", None) or {}
        info = info if version_of(info, source.path) else fs.info(path)
        if int(info.get("size") or 0) != source.size or version_of(info, source.path) != source.version:
            file.close()
            raise DataError(f"{source.path}: has changed since the start of the run. Run it again")
        return file


def open_stream(source: Source, stop: int = -1) -> Any:
    """An object as a stream that reads ahead. stop: where reading is likely to end; -1: at its end."""
    whole = getattr(_held, "whole", None)
    if whole is not None and whole[0] == source.path:
        return io.BytesIO(whole[1])
    return Stream(open_exactly(source), source.path, source.size, stop if stop >= 0 else source.size)


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
        self._length = _MOST if follows else _FIRST
        if waiting is not None and waiting[0] == self._at:
            self._block = waiting[1].result()
        else:
            if waiting is not None:
                waiting[1].exception()  # the file has one reader at a time
            self._block = self._fetch(self._at, self._end(self._at))
        self._start = self._at
        after = self._start + len(self._block)
        if follows and after < self._stop:
            self._next = after, _fetchers().submit(self._fetch, after, self._end(after))

    def _end(self, at: int) -> int:
        """End of a block that begins at `at`: not far behind the place where reading is likely to end."""
        return min(at + self._length, max(self._stop, at + _FIRST), self._size)

    def _fetch(self, start: int, end: int) -> bytes:
        with storage_errors(self._url):
            self._file.seek(start)
            found = bytes(self._file.read(end - start))
            if len(found) != end - start:
                raise DataError(f"{self._url}: ends after {start + len(found)} bytes, and should have {self._size}")
            return found

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            if self._next is not None and not self._next[1].cancel():
                self._next[1].exception()
            self._file.close()
        super().close()


@lru_cache(maxsize=1)
def _fetchers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(BESIDE, thread_name_prefix="refinery-fetch")


def beside(work: Any, items: Sequence[Any]) -> list[Any]:
    """Results of a function for all items, run for many at a time. Raises the error of the first item that fails."""
    return list(_fetchers().map(work, items))


def _whole(source: Source) -> bytes:
    file = open_exactly(source)
    try:
        with storage_errors(source.path):
            return bytes(file.read(source.size)) if source.size else b""
    finally:
        file.close()


def one_by_one(sources: Sequence[Source]) -> Iterator[Source]:
    """Small sources in their order; sources at URLs are fetched concurrently and are in memory at their turn."""
    if not sources or not is_url(sources[0].path):
        yield from sources
        return
    ahead: list[Future[bytes]] = []
    first = size = 0
    try:
        for number, source in enumerate(sources):
            while first < len(sources) and (first <= number or (len(ahead) < BESIDE and size < _AHEAD)):
                ahead.append(_fetchers().submit(_whole, sources[first]))
                size += sources[first].size
                first += 1
            content = ahead.pop(0).result()
            size -= source.size
            _held.whole = source.path, content
            yield source
    finally:
        _held.whole = None
        for waiting in ahead:
            waiting.cancel()


@lru_cache(maxsize=_FOOTERS)
def footer(source: Source) -> tuple[Any, pa.Schema]:
    """The metadata and the columns of a Parquet object, which are read again and again. Raises ArrowException."""
    import pyarrow.parquet as pq

    file = open_exactly(source)
    try:
        with pq.ParquetFile(file) as reader:
            return reader.metadata, reader.schema_arrow
    finally:
        file.close()


def look_ahead(sources: Sequence[Source]) -> None:
    """Fetch the footers of many Parquet files at a time, where they are objects, for cutting."""
    wanted = [source for source in sources if is_url(source.path)]
    if len(wanted) > 1:
        beside(_try_footer, wanted[:_FOOTERS])


def _try_footer(source: Source) -> None:
    import pyarrow as pa

    with suppress(pa.ArrowException):  # the caller that needs the footer raises it
        footer(source)


@lru_cache(maxsize=_COPIES)
def mapped(source: Source) -> pa.Buffer:
    """A whole object in an unnamed file of this machine, mapped into memory for random access."""
    import mmap
    import tempfile

    import pyarrow as pa

    with tempfile.TemporaryFile(prefix="refinery-") as file, open_stream(source) as stream:
        while piece := stream.read(_MOST):
            file.write(piece)
        file.flush()
        return pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
