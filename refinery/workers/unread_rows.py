"""The row that a worker process was reading, or had in its hands, when it died for want of memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from refinery.io.model import Shard
from refinery.io.open import open_source

_STEP = 1 << 20
# Bytes of rows that are read together: the largest row among these is the one that takes the memory.
_TOGETHER = 1 << 20


def described(shard: Shard, row: int) -> str:
    """A row of a shard in words: its line and bytes in its file, where these can be counted; "" for a small one."""
    with suppress(OSError):
        is_all = shard.only is None and shard.share is None
        if shard.lines and len(shard.sources) == 1 and shard.source.compression is None and is_all:
            line, size = _largest(shard, row)
            return f"line {line:,} of the file, which has {size / 1e6:,.1f} MB" if size >= _TOGETHER else ""
    return f"row {row:,} of shard {shard.index}"


def _largest(shard: Shard, row: int) -> tuple[int, int]:
    """Number and bytes of the largest of the lines from a row on that are read together with it."""
    best, total, rows = (0, -1), 0, 0
    for number, start, size, blank in _lines(shard):
        if start < shard.start or blank:
            continue
        if rows >= row:
            best = max(best, (number, size), key=lambda pair: pair[1])
            total += size
            if total >= _TOGETHER:
                break
        rows += 1
    return best if best[0] else (row + 1, 0)


def _lines(shard: Shard) -> Iterator[tuple[int, int, int, bool]]:
    """Number, first byte and bytes of each line of the file, and whether it is blank; in little memory."""
    number, start, at, blank = 1, 0, 0, True
    file = open_source(shard.source, -1)
    try:
        while piece := file.read(_STEP):
            rest = 0
            while (end := piece.find(b"\n", rest)) >= 0:
                blank = blank and not piece[rest:end].strip()
                yield number, start, at + end - start, blank
                number, start, rest, blank = number + 1, at + end + 1, end + 1, True
            blank = blank and not piece[rest:].strip()
            at += len(piece)
        if at > start:
            yield number, start, at - start, blank
    finally:
        file.close()
