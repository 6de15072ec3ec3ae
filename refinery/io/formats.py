"""Format of a file: by its name, by its first bytes, and for JSON by the shape of its first values."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from refinery.io.block_decompression import FORMATS, Blocks

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2", ".xz": "xz"}
# Those of them that DuckDB reads, too.
IN_SQL = (None, "gzip", "zstd")
# The first four bytes of each, as far as they are fixed.
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zX": "xz"}
_FOREIGN = {
    b"PAR1": "Parquet",
    b"ARRO": "Arrow",
    b"PK\x03\x04": "zip",
    b"%PDF": "PDF",
}
# Enough to see the first line of nearly every file; a longer first line counts as a line.
_HEAD = 1 << 20
PIECE = 1 << 14  # first bytes of a file that are looked at, and the step when these are not enough


def split_suffix(path: str | Path) -> tuple[str, str | None]:
    """The format's suffix and the compression by a file's name: ('.jsonl', 'gzip') of `a.jsonl.gz`."""
    suffixes = [suffix.lower() for suffix in _suffixes(path)]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        return (suffixes[-2] if len(suffixes) > 1 else ""), COMPRESSIONS[suffixes[-1]]
    return (suffixes[-1] if suffixes else ""), None


def full_suffix(path: str | Path) -> str:
    """The suffix as recipes and `suffix_filter` name it: lower case, '.jsonl.gz' for a compressed file."""
    suffix, compression = split_suffix(path)
    return suffix if compression is None else suffix + _suffixes(path)[-1].lower()


def _suffixes(path: str | Path) -> list[str]:
    """The suffixes of a name, as `Path.suffixes` has them; a Path for each of many files takes longer than to open it."""
    name = os.path.basename(os.fspath(path))
    return [] if name.endswith(".") else [f".{suffix}" for suffix in name.lstrip(".").split(".")[1:]]


def magic(head: bytes) -> str | None:
    """The compression by a file's first bytes, whatever its name; None without one."""
    if (
        len(head) == 4 and head[0] & 0xF0 == 0x50 and head[1:] == b"\x2a\x4d\x18"
    ):  # a skippable frame, which pzstd writes first
        return "zstd"
    return next((name for start, name in _MAGIC.items() if head.startswith(start)), None)


def foreign(head: bytes) -> str | None:
    """The binary format by a file's first bytes, with which no text begins; None for others."""
    return next((name for start, name in _FOREIGN.items() if head.startswith(start)), None)


def open_bytes(path: str, compression: str | None) -> IO[bytes] | Any:
    """Open a file for reading its (decompressed) bytes; the result has `read` and `readinto`."""
    if compression is None:
        return open(path, "rb", buffering=0)
    return open_compressed(path, compression)[1]


def open_compressed(path: str, compression: str, raw: Any = None) -> tuple[Any, Any]:
    """A compressed file, whose `tell` counts the compressed bytes read, and the stream of its decompressed bytes.

    raw: the file, if it is open already.
    """
    import pyarrow as pa

    if compression in FORMATS:
        raw = open(path, "rb", buffering=0) if raw is None else raw
        return raw, Blocks(raw, compression)
    raw = pa.OSFile(path, "rb") if raw is None else pa.PythonFile(raw, "r")
    return raw, pa.CompressedInputStream(raw, compression)


def json_shape(path: str, compression: str | None, trusted: bool) -> str:
    """'jsonl' for one value on each line; 'json' for an array, or for values that stretch over lines.

    trusted: the name means JSON Lines, so one broken first line counts as such. Raises OSError.
    """
    return _shape(_head(lambda: open_bytes(path, compression), compression), trusted)


def shape_of_start(start: bytes, is_all: bool, compression: str | None, trusted: bool) -> str | None:
    """As `json_shape`, of the first bytes of a file; None if more bytes are needed. is_all: there are no more bytes."""

    def opened() -> Any:
        if compression is None:
            return io.BytesIO(start)
        return open_compressed("", compression, io.BytesIO(start))[1]

    head = _head(opened, compression)
    return _shape(head, trusted) if is_all or len(head) >= _HEAD or _sure(head) else None


def _sure(head: bytes) -> bool:
    """Return whether the first bytes of a file tell the shape of its JSON, whatever bytes follow."""
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    first, feed, _ = head.partition(b"\n")
    return head[:1] == b"[" or bool(feed and _whole(first))


def _shape(head: bytes, trusted: bool) -> str:
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    if head[:1] == b"[":
        return "json"
    first, feed, rest = head.partition(b"\n")
    if head[:1] == b"{" and not trusted and _has_array(rest):
        return "json"
    if head[:1] != b"{" or not feed or _whole(first):
        return "jsonl"
    second = rest.lstrip(b" \t\r\n")
    if second[:1] == b"{" or (trusted and not _first_value_ends(head)):
        return "jsonl"
    return "json"


def _has_array(text: bytes) -> bool:
    """Return whether an array of objects starts a line, which in a file of JSON lines is a damaged line."""
    import json

    for start in re.finditer(rb"^[ \t\r]*(?=\[\s*\{)", text, re.MULTILINE):
        try:
            json.JSONDecoder().raw_decode(text[start.end() :].decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        return True
    return False


def _head(opened: Callable[[], Any], compression: str | None) -> bytes:
    """The first decompressed bytes of a file, enough to tell the shape; of damaged data, the bytes before the damage."""
    head, look = bytearray(), PIECE
    try:
        with opened() as file:
            while len(head) < _HEAD and (piece := file.read(PIECE)):
                head += piece
                if len(head) >= look:
                    if _sure(bytes(head)):
                        break
                    look *= 2
    except OSError:
        if compression is None:
            raise
        with opened() as file:
            return bytes(head) + _rest(file, len(head))
    return bytes(head)


def _rest(file: Any, known: int) -> bytes:
    """The bytes between the known ones and the damage, which a read of a larger piece would not return."""
    rest = b""
    try:
        while known > 0 and (piece := file.read(min(known, PIECE))):
            known -= len(piece)
        while len(rest) < PIECE and (byte := file.read(1)):
            rest += byte
    except OSError:
        pass
    return rest


def encoding_mark(head: bytes) -> str | None:
    """The encoding, other than UTF-8, of a byte order mark; None without one."""
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "UTF-32"
    return "UTF-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else None


def encoding_without_mark(head: bytes) -> str | None:
    """UTF-16LE or UTF-16BE if NUL is one half of most of the first characters; else None."""
    pairs = len(head) // 2
    low, high = head[0 : 2 * pairs : 2].count(0), head[1 : 2 * pairs : 2].count(0)
    if pairs < 4 or max(low, high) < pairs // 2 or min(low, high) > pairs // 8:
        return None
    return "UTF-16LE" if high > low else "UTF-16BE"


def _whole(text: bytes) -> bool:
    import json

    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _first_value_ends(text: bytes) -> bool:
    """Return whether the text starts with a whole JSON value, perhaps over several lines."""
    import json

    try:
        json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return True
