"""Open the file of a source, on this machine or at a URL."""

from __future__ import annotations

from typing import Any

from refinery.io.model import Source
from refinery.storage.urls import is_url


def open_source(source: Source, stop: int = -1, buffering: int = 0) -> Any:
    """The file's bytes, with random access. stop: where reading is likely to end. Raises OSError, DataError."""
    if is_url(source.path):
        from refinery.io.objects import open_stream  # loads fsspec, and only for URLs

        return open_stream(source, stop)
    return open(source.path, "rb", buffering=buffering)
