"""Open the store at a path or a URL."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache

from refinery.storage.local import LocalStore
from refinery.storage.store import Store
from refinery.storage.urls import is_url, scheme_of


def _remote(url: str) -> Store:
    from refinery.storage.remote import RemoteStore  # loads fsspec, and only for URLs

    return RemoteStore(url)


# Kinds of storage by the scheme of their URLs; "" is a path of this machine. All other schemes are those of fsspec.
STORES: dict[str, Callable[[str], Store]] = {"": LocalStore}


def open_store(url: str) -> Store:
    """The store at a path of this machine, or at a URL such as `s3://bucket/folder`."""
    return _opened(url if is_url(url) else os.path.abspath(url))  # the current folder may change between calls


@lru_cache(maxsize=8)
def _opened(url: str) -> Store:
    return STORES.get(scheme_of(url), _remote)(url)
