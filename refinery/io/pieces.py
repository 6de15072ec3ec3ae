"""Pieces of one file: even ranges, ranges between cuts, ranges of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refinery.io.model import Source
from refinery.io.readers.model import CutRequest, ShardFields

# Each process with a part of a row group decodes the group from its start: few groups are cut, into few pieces.
_CUTS_PER_ROW_GROUP = 8
# Groups of rows differ in size: a shard may be larger by this part of the asked size.
_SLACK = 16


def even(source: Source, first: int, last: int, size: int, count: int) -> Iterator[ShardFields]:
    """Bytes or rows [first, last) in `count` equal pieces, at least one."""
    count = max(1, min(count, last - first))
    for k in range(count):
        low, high = first + (last - first) * k // count, first + (last - first) * (k + 1) // count
        yield ShardFields((source,), low, high, size * (k + 1) // count - size * k // count)


def row_ranges(source: Source, groups: Sequence[tuple[int, int]], request: CutRequest) -> Iterator[ShardFields]:
    """Row groups joined up to the size of the request; larger ones whole or in pieces, see `CutRequest.uncut`.

    groups: rows and bytes of each.
    """
    most = request.size + request.size // _SLACK
    total = max(1, sum(size for _, size in groups))

    def share(size: int, before: int) -> int:
        """Bytes of the file for a part of its rows."""
        return source.size * (before + size) // total - source.size * before // total

    first = start = pending = before = 0  # rows and bytes; `before` are those of finished shards
    for rows, size in groups:
        if first > start and pending + size > most:
            yield ShardFields((source,), start, first, share(pending, before))
            start, pending, before = first, 0, before + pending
        if size > max(most, request.uncut(before + pending)):
            count = min(-(-size // most), _CUTS_PER_ROW_GROUP)
            yield from even(source, first, first + rows, share(size, before), count)
            start, before = first + rows, before + size
        else:
            pending += size
        first += rows
    if first > start or first == 0:
        yield ShardFields((source,), start, first, share(pending, before))


def between(source: Source, cuts: list[int], total: int) -> Iterator[ShardFields]:
    """The pieces between cuts of the file's text, which has `whole` bytes."""
    last = -1 if source.compression or len(cuts) == 1 else source.size
    before = 0
    for start, end in zip(cuts, [*cuts[1:], last], strict=True):
        after = source.size * end // max(1, total) if end != last else source.size
        yield ShardFields((source,), start, end, after - before)
        before = after
