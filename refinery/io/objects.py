"""Inputs at URLs: small ones fetched concurrently, footers fetched once, whole objects mapped into memory.

A source keeps the version of the object that discovery has found; see `storage.object_stream`.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from refinery.storage import object_stream
from refinery.storage.object_stream import BESIDE, MOST, Stream, beside, fetchers
from refinery.storage.urls import is_url

if TYPE_CHECKING:
    import pyarrow as pa

    from refinery.io.model import Source

# Bytes that the whole objects which are fetched at a time may have together.
_AHEAD = 64 << 20
_COPIES, _FOOTERS = 2, 2000

_held = threading.local()


def open_exactly(source: Source) -> Any:
    """An object as a file that reads exactly the requested bytes. Raises DataError when the object has changed."""
    return object_stream.open_exactly(source.path, source.size, source.version)


def open_stream(source: Source, stop: int = -1) -> Any:
    """An object as a stream that reads ahead. stop: where reading is likely to end; -1: at its end."""
    held = getattr(_held, "whole", None)
    if held is not None and held[0] == source.path:
        return io.BytesIO(held[1])
    return Stream(open_exactly(source), source.path, source.size, stop if stop >= 0 else source.size)


def _whole(source: Source) -> bytes:
    return object_stream.read_exactly(source.path, source.size, source.version)


def one_by_one(sources: Sequence[Source]) -> Generator[Source, None, None]:
    """Small sources in their order; sources at URLs are fetched concurrently and are in memory at their turn."""
    if not sources or not is_url(sources[0].path):
        yield from sources
        return
    ahead: list[Future[bytes]] = []
    first = size = 0
    try:
        for number, source in enumerate(sources):
            while first < len(sources) and (first <= number or (len(ahead) < BESIDE and size < _AHEAD)):
                ahead.append(fetchers().submit(_whole, sources[first]))
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
        while piece := stream.read(MOST):
            file.write(piece)
        file.flush()
        return pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
