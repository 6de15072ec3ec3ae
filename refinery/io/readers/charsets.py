"""The charset of a web page, and its text: what the page and the server say, held against the bytes.

In this order: a byte order mark; UTF-8, if the bytes have more whole sequences of it than broken ones; the charset of the HTTP
header; that of the page's `<meta>` or XML declaration; the detected one. A charset counts if it decodes every byte; without
such a one the first that is known decodes, and each broken sequence becomes U+FFFD.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from refinery.io.formats import encoding_without_mark

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
# Python's decoders of the same family that know all characters which browsers accept under the name.
_WIDER = {
    "shift_jis": "cp932",
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    "iso8859-11": "cp874",
}
_ASCII_ONLY = ("iso2022", "hz", "utf-7")
_LOOK = 4096  # bytes in which a page declares its charset
_DETECT = 32 << 10
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([A-Za-z0-9_:.\-]+)", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']\s*([A-Za-z0-9_:.\-]+)")
_HIGH = bytes(range(128, 256))


class Page(NamedTuple):
    """The text of a page. charset: that it was decoded with. replaced: number of U+FFFD for broken sequences."""

    text: str
    charset: str
    declared: str | None
    detected: str
    replaced: int


def page_of(data: bytes, header: str | None) -> Page:
    """The text of a page. header: the charset of its HTTP header."""
    declared = _label(header) or declared_in(data)
    for mark, charset in _MARKS:
        if data.startswith(mark):
            text, replaced = _replacing(data[len(mark) :], charset)
            return Page(text, charset, declared, charset, replaced)
    if b"\0" in data[:4] and (wide := encoding_without_mark(data[:_LOOK])):
        charset = "utf-16-le" if wide.endswith("LE") else "utf-16-be"
        text, replaced = _replacing(data, charset)
        return Page(text, charset, declared, charset, replaced)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _of_bytes(data, header, declared)
    charset = "utf-8" if len(text) < len(data) else _of_ascii(data, header, declared)
    return Page(text if charset == "utf-8" else data.decode(charset), charset, declared, charset, 0)


def _of_ascii(data: bytes, header: str | None, declared: str | None) -> str:
    """The charset of bytes below 128: a declared one that writes all letters with them, if its escapes are there."""
    for label in (header, declared):
        charset = known(label)
        if charset and charset.startswith(_ASCII_ONLY) and b"\x1b" in data and _decodes(data, charset) is not None:
            return charset
    return "utf-8"


def _of_bytes(data: bytes, header: str | None, declared: str | None) -> Page:
    """The page of bytes that are not UTF-8 throughout."""
    text, replaced = _replacing(data, "utf-8")
    whole = len(text) - len(data.translate(None, _HIGH)) - replaced  # sequences of UTF-8
    if whole > replaced:
        return Page(text, "utf-8", declared, "utf-8", replaced)
    detected = detect(data)
    candidates = list(_candidates(data, header, detected))
    for charset in candidates:
        exact = _decodes(data, charset)
        if exact is not None:
            return Page(exact, charset, declared, detected, 0)
    text, replaced = _replacing(data, candidates[0])
    return Page(text, candidates[0], declared, detected, replaced)


def _candidates(data: bytes, header: str | None, detected: str) -> Iterator[str]:
    for label in (header, declared_in(data), detected):
        charset = known(label)
        if charset is not None and charset != "utf-8":
            yield charset
    yield "utf-8"


def declared_in(data: bytes) -> str | None:
    """The charset that a page declares in its first bytes, in lower case."""
    head = data[:_LOOK]
    match = _XML.match(head) or _META.search(_COMMENT.sub(b"", head))
    return _label(match[1].decode("ascii")) if match else None


def _label(name: str | None) -> str | None:
    return (name or "").strip().strip("\"'").lower() or None


def known(label: str | None) -> str | None:
    """Python's name of a charset by its label on the web; None for unknown labels."""
    from resiliparse.parse.encoding import map_encoding_to_html5

    name = map_encoding_to_html5(label, fallback_utf8=False) if label else None
    if name is None or name.startswith(("utf-16", "utf-32")):  # without a mark: the label of a page that is not UTF-16
        return "hz" if label == "hz-gb-2312" else None
    return str(name)


def detect(data: bytes) -> str:
    """The charset that resiliparse (uchardet) finds in the bytes."""
    from resiliparse.parse.encoding import detect_encoding

    return str(detect_encoding(data, max_len=_DETECT))


def _decodes(data: bytes, charset: str) -> str | None:
    """The text, if the charset decodes every byte."""
    try:
        return data.decode(_WIDER.get(charset, charset))
    except UnicodeDecodeError:
        pass
    except LookupError:
        return None
    if charset == "cp1252":  # browsers read its five unused bytes as control characters
        return codecs.charmap_decode(data, "strict", _CP1252)[0]
    return None


def _replacing(data: bytes, charset: str) -> tuple[str, int]:
    """The text with U+FFFD for broken sequences, and their number."""
    text = data.decode(_WIDER.get(charset, charset), "replace")
    genuine = "\ufffd".encode(charset) if charset.startswith("utf") else b""
    return text, max(0, text.count("\ufffd") - (data.count(genuine) if genuine else 0))


_CP1252 = "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(256))
