"""Cut files into pieces, and join small files to pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from refinery.errors import DataError
from refinery.io.model import Source
from refinery.io.partitions import with_columns
from refinery.io.readers.model import CutRequest, ShardFields
from refinery.io.readers.registry import reader_of
from refinery.storage.object_stream import beside
from refinery.storage.urls import is_url

if TYPE_CHECKING:
    import pyarrow as pa

_FILES_PER_SHARD = 10_000
# Bytes of text for a byte of a compressed file, roughly; cost of opening a file, in bytes of text.
_EXPANDS = 4
_LEAST = 16 << 10


class Cutter:
    """Cuts files one after another. whole: most bytes of a group of rows that is not cut. schemas: of the files that were read for it, by path."""

    def __init__(self, shard_size: int, workers: int, lines: bool, whole: int) -> None:
        self.shard_size, self.workers, self.lines, self.whole = shard_size, workers, lines, whole
        self.schemas: dict[str, pa.Schema] = {}
        self._total = self._left = 0

    def pieces(self, sources: Sequence[Source]) -> Iterator[ShardFields]:
        """The pieces of all files; small files of one kind that follow each other are one piece."""
        small: list[Source] = []
        size = 0
        self._total = self._left = weight_of(sources)
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
            self._left -= weight(source)
        if small:
            yield from self._together(small)

    def _small(self, source: Source) -> bool:
        reader = reader_of(source)
        if reader.one_sample:
            return True
        # Tables whose columns become lines are converted file by file.
        alike = not self.lines or reader.lines
        return alike and source.table is None and 2 * weight(source) <= self.shard_size

    def _together(self, files: list[Source]) -> Iterator[ShardFields]:
        """One piece of whole files."""
        reader = reader_of(files[0])
        if len(files) == 1 and not reader.one_sample:
            yield from self._cut(files[0])
            return
        rows: tuple[int, ...] = (1,) * len(files) if reader.one_sample else ()
        if reader.by_rows:
            from refinery.io.readers.table_files import row_groups

            rows = tuple(sum(count for count, _ in row_groups(source)) for source in files)
        end = sum(rows) if reader.by_rows else -1
        yield ShardFields(tuple(files), 0, end, sum(source.size for source in files), rows)

    def _cut(self, source: Source) -> Iterator[ShardFields]:
        """The pieces of one file."""
        large = weight(source) > self.shard_size
        request = CutRequest(self.shard_size, self.workers, large, self.whole, self._total, self._left)
        cut = reader_of(source).cut(source, request)
        if cut.schema is not None:
            self.schemas[source.path] = with_columns(cut.schema.empty_table(), source.partitions).schema
        return cut.pieces


def _kind_of(source: Source) -> tuple[Any, ...]:
    """The kind of a file; files of one kind can be read together."""
    if reader_of(source).one_sample:  # one batch has many text files, with one value for each partition
        return source.format, source.partitions, source.dataset
    return source.format, source.suffix, source.dataset


def weight_of(sources: Sequence[Source]) -> int:
    """Approximate bytes of text that are read from all files, as `weight`. Footers of objects are fetched many at a time."""
    remote = [source for source in sources if reader_of(source).has_footer and is_url(source.path)]
    if len(remote) > 1:
        beside(_try_weight, remote)
    return sum(map(weight, sources))


def _try_weight(source: Source) -> None:
    with suppress(DataError):  # the caller that needs the footer raises it
        weight(source)


def weight(source: Source) -> int:
    """Approximate bytes of text that are read from a file, with the cost of opening a small one."""
    if reader_of(source).one_sample:
        return source.size
    return max(expanded(source), _LEAST)


def expanded(source: Source) -> int:
    """Approximate bytes of a file's text; those of Parquet without compression. Raises DataError."""
    if reader_of(source).has_footer:
        from refinery.io.readers.table_files import row_groups

        return max(source.size, sum(size for _, size in row_groups(source)))
    return source.size * (_EXPANDS if source.compression else 1)
