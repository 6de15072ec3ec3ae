"""Open the store at a path or a URL."""

from __future__ import annotations

import os
from functools import lru_cache

from refinery.storage.local import LocalStore
from refinery.storage.store import Store


def open_store(url: str) -> Store:
    """The store at a path of this machine, or at an fsspec URL such as `s3://bucket/folder`."""
    return _opened(url if "://" in url else os.path.abspath(url))  # the current folder may change between calls


@lru_cache(maxsize=8)
def _opened(url: str) -> Store:
    if "://" not in url:
        return LocalStore(url)
    from refinery.storage.remote import RemoteStore  # loads fsspec, and only for URLs

    return RemoteStore(url)
