"""Seconds in which the readers of shards decompress Parquet files.

A shard that is a part of a group of rows decompresses the rows before it, too, and one across two groups decompresses both. So this time
depends on where the shards of a run are cut, and not on the bytes of its rows alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from refinery.common.lazy import pq
from refinery.io.model import Shard, Source
from refinery.storage.urls import is_url

# Groups of rows that are read to measure a row, and their bytes at most.
_GROUPS, _BYTES = 3, 64 << 20
# Shards of which the files are looked at; those of a larger run are like these.
_LOOKED_AT = 256


def reading_seconds(shards: Sequence[Shard], per_row: Callable[[Source], float]) -> float:
    """Processor seconds in which shards of Parquet files on this machine are decompressed; 0.0 for other files. per_row: seconds of a row of a file."""
    some, each = _some(shards)
    some = [shard for shard in some if _is_measured(shard)]
    if not some:
        return 0.0
    groups = cache(_group_rows)
    rows = sum(_decompressed(shard, groups(shard.source.path)) for shard in some)
    return each * rows * per_row(some[len(some) // 2].source)


def _some(shards: Sequence[Shard]) -> tuple[Sequence[Shard], float]:
    """Shards all over the input, and the number of shards for each of them."""
    some = shards[:: max(1, -(-len(shards) // _LOOKED_AT))]
    return some, len(shards) / max(1, len(some))


def uncompressed_bytes(shards: Sequence[Shard]) -> float:
    """Bytes of all rows of shards, those of Parquet files on this machine without compression."""
    sizes = cache(_group_bytes)
    some, each = _some(shards)
    found = 0.0
    for shard in some:
        if not _is_measured(shard) or len(shard.sources) > 1:
            found += shard.size
            continue
        rows, size = sizes(shard.source.path)
        end = rows if shard.end < 0 else min(shard.end, rows)
        found += size * (end - shard.start) / max(1, rows)
    return each * found


def _group_bytes(path: str) -> tuple[int, int]:
    """Rows of a file, and their bytes without compression."""
    metadata = pq.read_metadata(path)
    return metadata.num_rows, sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


def _is_measured(shard: Shard) -> bool:
    source = shard.source
    return source.format == "parquet" and source.table is None and not is_url(source.path) and not shard.lines


def _group_rows(path: str) -> tuple[int, ...]:
    metadata = pq.read_metadata(path)
    return tuple(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))


def _decompressed(shard: Shard, groups: Iterable[int]) -> int:
    """Rows of the groups that a shard touches. A shard of several files has all of their rows."""
    if len(shard.sources) > 1:
        return sum(sum(_group_rows(source.path)) for source in shard.sources)
    first = found = 0
    for rows in groups:
        if first + rows > shard.start and (shard.end < 0 or first < shard.end):
            found += rows
        first += rows
    return found


def seconds_per_row(source: Source) -> float:
    """Processor seconds of a row, by some groups all over a file: each is read twice, and the faster time counts."""
    rows, size, seconds = 0, 0, 0.0
    with pq.ParquetFile(source.path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True) as file:
        count = file.metadata.num_row_groups
        for place in range(min(count, _GROUPS)):
            number = (2 * place + 1) * count // (2 * min(count, _GROUPS))
            size += file.metadata.row_group(number).total_byte_size
            if rows and size > _BYTES:
                break
            rows += file.metadata.row_group(number).num_rows
            seconds += min(_seconds_of(file, number) for _ in range(2))
    return seconds / max(1, rows)


def _seconds_of(file: Any, group: int) -> float:
    started = time.thread_time()
    for _ in file.iter_batches(1024, row_groups=[group], use_threads=False):
        pass
    return time.thread_time() - started
