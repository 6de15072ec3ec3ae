"""Host names of addresses and their public suffixes, by the list in the package tldextract."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

# Size of the cache of hosts; many samples share one.
_HOSTS = 1 << 17
_making = threading.Lock()


def authority(url: str) -> str:
    """The beginning of an address that determines its host: up to the third slash, a question mark or a hash."""
    return "/".join(url.split("/", 3)[:3]).partition("?")[0].partition("#")[0]


@lru_cache(maxsize=_HOSTS)
def host_parts(beginning: str) -> tuple[str, str]:
    """Host name, if it has a public suffix and a name before it, and public suffix of an address, as tldextract finds them."""
    parts = _extractor().extract_str(beginning)
    return parts.fqdn, parts.suffix


def registered_domain(fqdn: str, suffix: str) -> str:
    """The public suffix of a host name and the label before it; empty without them."""
    return ".".join(fqdn.split(".")[-2 - suffix.count(".") :]) if fqdn else ""


def _extractor() -> Any:
    with _making:
        return _made()


@lru_cache(maxsize=1)
def _made() -> Any:
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, fallback_to_snapshot=True)
