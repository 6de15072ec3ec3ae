"""Cut files into pieces, and join small files to pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from refinery.io.model import Source
from refinery.io.partitions import with_columns

if TYPE_CHECKING:
    import pyarrow as pa

_FILES_PER_SHARD = 10_000
# Each shard with a part of a row group decodes the group from its start: few groups are cut, into few pieces.
_CUTS_PER_ROW_GROUP = 8
_ROW_GROUPS_ENOUGH = 16
_LARGE_ROW_GROUP = 64 << 20

# Bytes of text for a byte of a compressed file, roughly; cost of opening a file, in bytes of text.
_EXPANDS = 4
_LEAST = 16 << 10


class ShardFields(NamedTuple):
    """Fields of a shard, of the same names."""

    sources: tuple[Source, ...]
    start: int
    end: int
    size: int
    rows_of: tuple[int, ...] = ()


class Cutter:
    """Cuts files one after another. schemas: of the files that were read for it, by path."""

    def __init__(self, shard_size: int, workers: int, lines: bool) -> None:
        self.shard_size, self.workers, self.lines = shard_size, workers, lines
        self.schemas: dict[str, pa.Schema] = {}

    def pieces(self, sources: Sequence[Source]) -> Iterator[ShardFields]:
        """The pieces of all files; small files of one kind that follow each other are one piece."""
        small: list[Source] = []
        size = 0
        for source in sources:
            full = len(small) == _FILES_PER_SHARD or size + weight(source) > self.shard_size
            if small and (full or _kind_of(source) != _kind_of(small[0]) or not self._small(source)):
                yield from self._together(small)
                small, size = [], 0
            if self._small(source):
                small.append(source)
                size += weight(source)
            else:
                yield from self._cut(source)
        if small:
            yield from self._together(small)

    def _small(self, source: Source) -> bool:
        if source.format == "text":
            return True
        # Tables whose columns become lines are converted file by file.
        alike = not self.lines or source.format in ("jsonl", "json")
        return alike and source.table is None and 2 * weight(source) <= self.shard_size

    def _together(self, files: list[Source]) -> Iterator[ShardFields]:
        """One piece of whole files."""
        if len(files) == 1 and files[0].format != "text":
            yield from self._cut(files[0])
            return
        rows: tuple[int, ...] = ()
        if files[0].format in ("parquet", "arrow"):
            from refinery.io.schema import row_groups

            rows = tuple(sum(count for count, _ in row_groups(source)) for source in files)
        yield ShardFields(tuple(files), 0, sum(rows) if rows else -1, sum(source.size for source in files), rows)

    def _cut(self, source: Source) -> Iterator[ShardFields]:
        """The pieces of one file."""
        large = weight(source) > self.shard_size
        if source.format in ("parquet", "arrow"):
            return _row_ranges(source, self.shard_size)
        if source.format == "jsonl" and source.compression is None:
            return _even(source, 0, source.size, source.size, -(-source.size // self.shard_size))
        if large and source.format == "jsonl":
            return self._packed_lines(source)
        if large and source.format == "json":
            from refinery.io.readers.json_lines import ReadLimits, value_cuts

            return self._between(source, *value_cuts(source, self.shard_size, ReadLimits()))
        if large and source.format in ("csv", "tsv"):
            from refinery.io.readers.delimited import survey

            found, cuts, whole = survey(source, self.shard_size, self.workers)
            self.schemas[source.path] = with_columns(found.empty_table(), source.partitions).schema
            return self._between(source, cuts, whole)
        return iter([ShardFields((source,), 0, -1, source.size)])

    def _packed_lines(self, source: Source) -> Iterator[ShardFields]:
        """Even parts of the compressed bytes, for which the file need not be read."""
        from refinery.io.readers.shared_decompression import expansion

        count = int(-(-source.size * expansion(source) // self.shard_size))
        pieces = list(_even(source, 0, source.size, source.size, count))
        last = pieces[-1]
        yield from pieces[:-1]
        yield last._replace(end=-1)  # with any bytes after the compressed data

    def _between(self, source: Source, cuts: list[int], whole: int) -> Iterator[ShardFields]:
        """The pieces between cuts of the file's text, which has `whole` bytes."""
        last = -1 if source.compression or len(cuts) == 1 else source.size
        before = 0
        for start, end in zip(cuts, [*cuts[1:], last], strict=True):
            after = source.size * end // max(1, whole) if end != last else source.size
            yield ShardFields((source,), start, end, after - before)
            before = after


def _kind_of(source: Source) -> tuple[Any, ...]:
    """The kind of a file; files of one kind can be read together."""
    if source.format == "text":  # one batch has many text files, with one value for each partition
        return source.format, source.partitions, source.dataset
    return source.format, source.suffix, source.dataset


def _even(source: Source, first: int, last: int, size: int, count: int) -> Iterator[ShardFields]:
    """Bytes or rows [first, last) in `count` equal pieces, at least one."""
    count = max(1, min(count, last - first))
    for k in range(count):
        low, high = first + (last - first) * k // count, first + (last - first) * (k + 1) // count
        yield ShardFields((source,), low, high, size * (k + 1) // count - size * k // count)


def _row_ranges(source: Source, shard_size: int) -> Iterator[ShardFields]:
    """Row groups joined up to the shard size; a larger one in pieces, if it is very large or groups are few."""
    from refinery.io.schema import row_groups

    groups = row_groups(source)
    longest = shard_size if len(groups) < _ROW_GROUPS_ENOUGH else max(shard_size, _LARGE_ROW_GROUP)
    whole = max(1, sum(size for _, size in groups))

    def share(size: int, before: int) -> int:
        """Bytes of the file for a part of its rows."""
        return source.size * (before + size) // whole - source.size * before // whole

    first = start = pending = before = 0  # rows and bytes; `before` are those of finished shards
    for rows, size in groups:
        if first > start and pending + size > shard_size:
            yield ShardFields((source,), start, first, share(pending, before))
            start, pending, before = first, 0, before + pending
        if size > longest:
            count = min(-(-size // longest), _CUTS_PER_ROW_GROUP)
            yield from _even(source, first, first + rows, share(size, before), count)
            start, before = first + rows, before + size
        else:
            pending += size
        first += rows
    if first > start or first == 0:
        yield ShardFields((source,), start, first, share(pending, before))


def weight(source: Source) -> int:
    """Approximate bytes of text that are read from a file, with the cost of opening a small one."""
    if source.format == "text":
        return source.size
    return max(source.size * (_EXPANDS if source.compression else 1), _LEAST)
