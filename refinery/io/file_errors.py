"""The likely reason why no row of a file can be read, from its first bytes."""

from __future__ import annotations

from contextlib import closing

from refinery.errors import DataError
from refinery.io.formats import encoding_without_mark
from refinery.io.model import Source
from refinery.io.readers.read_buffer import stream
from refinery.io.readers.registry import reader_of

_HEAD = 4096
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"PK\x03\x04": "zip", b"PAR1": "parquet"}


def likely_reason(source: Source) -> str | None:
    """The reason with its cure; None where the first bytes show none."""
    if source.table is not None or not reader_of(source).hints:
        return None
    try:
        return _reason(_head(source), source)
    except (DataError, OSError, ValueError):
        return None


def _head(source: Source) -> bytes:
    """The first bytes, decompressed."""
    data = bytearray(_HEAD)
    with closing(stream(source, 0, -1, True)) as file:
        return bytes(data[: file.readinto(memoryview(data)) or 0])


def _reason(head: bytes, source: Source) -> str | None:
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            where = f"the {source.compression} data holds {name} data" if source.compression else f"this is {name} data"
            return f"{where}. Unpack it once, or give the file the name of its format"
    if wide := encoding_without_mark(head):
        return f"every second byte is NUL, so the file is {wide}. Convert it: iconv -f {wide} -t UTF-8"
    if not reader_of(source).cut_anywhere:
        return None
    if b"\r" in head.rstrip(b"\r") and b"\n" not in head:
        return "lines end in CR without LF, so all are one line. Convert it: tr '\\r' '\\n'"
    first = head.split(b"\n", 1)[0]
    separator = next((byte for byte in (b"\t", b",", b";") if byte in first), None)
    if separator and not first.lstrip(b" \xef\xbb\xbf").startswith((b"{", b"[", b'"{')):
        suffix = ".tsv" if separator == b"\t" else ".csv"
        return f"the first line has no brace, but columns. If the file is a table, name it {suffix}"
    return None
