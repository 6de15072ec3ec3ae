"""The media type of a payload, and whether it is text."""

from __future__ import annotations

import re

from refinery.io.formats import encoding_without_mark

_MAGIC = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"OggS", "application/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x00\x01\x00\x00", "font/ttf"),
    (b"\x7fELF", "application/x-elf"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"FLV\x01", "video/x-flv"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
)
_MARKED = re.compile(rb"\s*<(!doctype\s+html|html|head|body|title|script|meta)\b", re.IGNORECASE)
_NOT_TEXT = ("image/", "audio/", "video/", "font/")
_BINARY = bytes((*range(9), 11, *range(14, 27), *range(28, 32)))
_LOOK = 1024


def media_type(content_type: str | None) -> str | None:
    """The type of a header, in lower case, without parameters."""
    return (content_type or "").partition(";")[0].strip().lower() or None


def payload_type(payload: bytes, identified: str | None, declared: str | None) -> str | None:
    """The type that the crawler has found, else by the first bytes, else the declared one."""
    if identified or not payload:
        return identified or declared
    for magic, name in _MAGIC:
        if payload.startswith(magic):
            return name
    if payload[:4] == b"RIFF" or payload[4:8] == b"ftyp":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(payload[8:12], "video/mp4")
    return "text/html" if _MARKED.match(payload[:_LOOK]) else declared


def is_text(payload: bytes, declared: str | None) -> bool:
    """Return whether the payload is text in some charset. declared: media type of the HTTP header."""
    head = payload[:_LOOK]
    if any(head.startswith(magic) for magic, _ in _MAGIC) or head[4:8] == b"ftyp" or head[:4] == b"RIFF":
        return False
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or encoding_without_mark(head):
        return True
    if len(head) - len(head.translate(None, _BINARY)) > len(head) // 10:
        return False
    if declared is None or declared == "image/svg+xml" or not declared.startswith(_NOT_TEXT):
        return True
    return _is_utf8(payload)


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
