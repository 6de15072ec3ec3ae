"""Bodies of HTTP responses without their codings: chunked, gzip, deflate, br, zstd.

Archives of some crawlers hold bodies that are decoded already, under a header that names the coding still. A body that does
not look like the coding is taken as it is.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

_SIZE = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;[^\n]*)?\r?\n")
_GZIP, _ZLIB, _RAW = 31, 15, -15
_ZSTD = b"\x28\xb5\x2f\xfd"


class BadBody(ValueError):
    """A body that its coding does not fit."""


def decoded(body: bytes, transfer: Iterable[str], content: Iterable[str], most: int) -> tuple[bytes, bool]:
    """A body without its codings, and whether it is whole. transfer, content: in the order in which they were applied.

    most: bytes of a decoded body. Raises BadBody.
    """
    whole = True
    for coding in [*reversed([*content, *transfer])]:
        body, complete = _without(coding.strip().lower(), body, most)
        whole &= complete
    return body, whole


def _without(coding: str, body: bytes, most: int) -> tuple[bytes, bool]:
    if not body:
        return body, True
    if coding == "chunked":
        return _chunks(body) if _SIZE.match(body) else (body, True)
    if coding in ("gzip", "x-gzip"):
        return _inflated(body, _GZIP, most) if body.startswith(b"\x1f\x8b") else (body, True)
    if coding == "deflate":
        return _deflated(body, most)
    if coding == "br":
        return _brotli(body, most)
    if coding == "zstd" and body.startswith(_ZSTD):
        return _zstd(body, most)
    return body, True  # identity, and names that are no coding


def _chunks(body: bytes) -> tuple[bytes, bool]:
    """The chunks together; those that are there, if the last one is missing."""
    parts: list[bytes] = []
    at = 0
    while match := _SIZE.match(body, at):
        size, at = int(match[1], 16), match.end()
        if not size:
            return b"".join(parts), True
        parts.append(body[at : at + size])
        at += size
        at += 2 if body[at : at + 2] == b"\r\n" else body[at : at + 1] == b"\n"
    if at < len(body):
        raise BadBody(f"the length of a chunk is {body[at : at + 10]!r}")
    return b"".join(parts), False


def _inflated(body: bytes, kind: int, most: int) -> tuple[bytes, bool]:
    """Members one after another; what is there, if the last one is cut off. Bytes behind them are left out."""
    text, rest, whole = b"", body, True
    while rest:
        inflate = zlib.decompressobj(kind)
        try:
            text += inflate.decompress(rest, most + 1 - len(text))
        except zlib.error as error:
            raise BadBody(f"the body is no valid {'gzip' if kind == _GZIP else 'deflate'} data ({error})") from error
        if len(text) > most:
            raise BadBody(f"the body has more than {most} bytes")
        whole = inflate.eof
        rest = inflate.unused_data if kind == _GZIP and inflate.unused_data.startswith(b"\x1f\x8b") else b""
    return text, whole


def _deflated(body: bytes, most: int) -> tuple[bytes, bool]:
    """As the standard has it, in the frame of zlib, or without it, as some servers send it."""
    try:
        return _inflated(body, _ZLIB, most)
    except BadBody:
        pass
    try:
        return _inflated(body, _RAW, most)
    except BadBody:
        if _is_text(body):
            return body, True
        raise


def _brotli(body: bytes, most: int) -> tuple[bytes, bool]:
    import brotli

    decoder, text = brotli.Decompressor(), b""
    try:
        piece = decoder.process(body, output_buffer_limit=most + 1)
        while piece and len(text) <= most:
            text += piece
            piece = decoder.process(b"", output_buffer_limit=most + 1)
    except brotli.error as error:
        if _is_text(body):
            return body, True
        raise BadBody("the body is no valid br data") from error
    if len(text) > most:
        raise BadBody(f"the body has more than {most} bytes")
    return text, bool(decoder.is_finished())


def _zstd(body: bytes, most: int) -> tuple[bytes, bool]:
    import pyarrow as pa

    text = bytearray()
    try:
        with pa.CompressedInputStream(pa.BufferReader(body), "zstd") as stream:
            while piece := stream.read(1 << 20):
                text += piece
                if len(text) > most:
                    raise BadBody(f"the body has more than {most} bytes")
    except OSError as error:
        if text:
            return bytes(text), False
        raise BadBody(f"the body is no valid zstd data ({error})") from error
    return bytes(text), True


def _is_text(body: bytes) -> bool:
    """Return whether the first bytes are text and no compressed data."""
    head = body[:512]
    return not any(byte < 9 or 13 < byte < 32 for byte in head)
