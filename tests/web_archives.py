"""Records of web archives, written for tests."""

from __future__ import annotations

import gzip
from collections.abc import Sequence


def record(
    kind: str, block: bytes, number: int = 1, more: str = "", length: int | None = None, content: str = ""
) -> bytes:
    """A record. more: further lines of its header. length: in place of the block's. content: Content-Type."""
    named = content or {"response": "application/http; msgtype=response", "conversion": "text/plain"}.get(kind, "")
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:{number}>\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
        f"WARC-Target-URI: https://a.example/{number}\r\nWARC-Payload-Digest: sha1:{number}\r\n{more}"
        f"Content-Type: {named}\r\nContent-Length: {len(block) if length is None else length}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def http(body: bytes, headers: str = "Content-Type: text/html", status: str = "HTTP/1.1 200 OK") -> bytes:
    """A response of a server."""
    return f"{status}\r\n{headers}\r\n\r\n".encode() + body


def page(number: int, body: bytes | None = None, **options: str) -> bytes:
    """A record with a page."""
    return record("response", http(f"<html>page {number}".encode() if body is None else body, **options), number)


def members(records: Sequence[bytes]) -> bytes:
    """Records, each compressed by itself."""
    return b"".join(gzip.compress(one, 1) for one in records)
