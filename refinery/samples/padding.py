"""Zeros after compressed data, as tapes and tar leave them: gzip(1) passes over them."""

from __future__ import annotations

import zlib
from typing import Any

from refinery.samples.sources import Source

_STEP = 1 << 20


def ends_in_zeros(source: Source) -> bool:
    """Whether a gzip file is whole, and has nothing but zeros after it; found by reading it to the end."""
    if source.compression != "gzip":
        return False
    with source.open(buffering=-1) as file:
        file.seek(max(0, source.size - 1))
        if file.read(1) != b"\0":
            return False
        file.seek(0)
        try:
            return _members(file)
        except zlib.error:
            return False


def _members(file: Any) -> bool:
    """Pass over all members of a gzip file; whether only zeros follow. Raises zlib.error."""
    rest = file.read(_STEP)
    while rest.startswith(b"\x1f\x8b"):
        member = zlib.decompressobj(31)
        while not member.eof:
            if not rest and not (rest := file.read(_STEP)):
                return False
            member.decompress(rest, _STEP)  # no more at once: a small piece can hold very much
            rest = member.unconsumed_tail
        rest = member.unused_data
        while len(rest) < 2 and (more := file.read(_STEP)):
            rest += more
    while rest and not rest.strip(b"\0"):
        rest = file.read(_STEP)
    return not rest
