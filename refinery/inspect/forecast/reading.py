"""Seconds in which groups of rows of Parquet files are decompressed again: those that are cut into several shards.

Each worker that reads a part of a group decompresses it, once; the first of them is a part of the costs of the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from refinery.common.lazy import pq
from refinery.io.model import Shard, Source
from refinery.io.readers.table_files import row_groups
from refinery.storage.urls import is_url

Item = TypeVar("Item")

# Groups of rows that are read to measure a byte, and their bytes at most.
_GROUPS, _BYTES = 3, 64 << 20
# Bytes of a page at most: of DuckDB, and of other writers.
_DUCKDB_PAGE, _PAGE = 100_000_000, 1 << 20
# Seconds of a byte of other files that are searched for some of their rows.
_PER_BYTE = 2e-9
# Shards, or files, that are looked at; those of a larger run are like these.
_LOOKED_AT = 256


def reading_again(shards: Sequence[Shard], workers: int, per_byte: Callable[[Source], float]) -> float:
    """Processor seconds in which one stage decompresses rows again. workers: each has its own reader of a group. per_byte: seconds of a byte of a file."""
    files: dict[str, list[Shard]] = {}
    for shard in filter(_is_measured, shards):
        files.setdefault(shard.source.path, []).append(shard)
    some, each = _some(list(files.values()))
    size = sum(_again(own, workers) for own in some)
    return each * size * per_byte(some[len(some) // 2][0].source) if size else 0.0


def reading_alone(shards: Sequence[Shard], per_byte: Callable[[Source], float]) -> float:
    """Processor seconds in which tasks read all shards, each with a reader of its own, which decompresses every group of rows that it reads from."""
    some, each = _some(shards)
    measured = [shard for shard in some if _is_measured(shard)]
    size = sum(_touched(shard) for shard in measured)
    seconds = size * per_byte(measured[len(measured) // 2].source) if size else 0.0
    return each * (seconds + _PER_BYTE * sum(shard.size for shard in some if not _is_measured(shard)))


def _touched(shard: Shard) -> float:
    """Bytes of the groups of rows of which a shard has a part."""
    found, first = 0.0, 0
    for rows, size in row_groups(shard.source):
        if first + rows > shard.start and (shard.end < 0 or first < shard.end):
            found += size
        first += rows
    return found


def is_measured(shards: Sequence[Shard]) -> bool:
    """Return whether the bytes of each shard are known without compression: those of Parquet files on this machine are."""
    return all(map(_is_measured, shards))


def largest_bytes(shards: Sequence[Shard]) -> float:
    """Bytes of the rows of the largest shard, without compression; of a mean one where they are not known."""
    some, _ = _some(shards)
    if is_measured(some):
        return max(map(_bytes_of, some), default=0.0)
    return sum(_bytes_of(shard) if _is_measured(shard) else shard.size for shard in some) / max(1, len(some))


def whole_bytes(shards: Sequence[Shard]) -> float:
    """Bytes of the rows of all shards, as `largest_bytes` counts them."""
    some, each = _some(shards)
    return each * sum(_bytes_of(shard) if _is_measured(shard) else shard.size for shard in some)


def page_bytes(shards: Sequence[Shard], like: Sequence[Shard] = ()) -> float:
    """Bytes of the largest page of Parquet that a reader decompresses at once. like: shards whose files have pages of the same sizes."""
    some, _ = _some([shard for shard in shards if _is_measured(shard)])
    others, _ = _some([shard for shard in like if _is_measured(shard)])
    most = max(
        (page_limit(pq.read_metadata(path)) for path in {shard.source.path for shard in others or some}), default=0
    )
    return max((_page_of(path, most) for path in {shard.source.path for shard in some}), default=0)


def page_limit(metadata: Any) -> int:
    """Most bytes of a page of a Parquet file: DuckDB writes one page for a column of a group of rows, others pages of 1 MiB."""
    return _DUCKDB_PAGE if str(metadata.created_by).startswith("DuckDB") else _PAGE


def _page_of(path: str, most: int) -> int:
    metadata = pq.read_metadata(path)
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    sizes = [group.column(number).total_uncompressed_size for group in groups for number in range(group.num_columns)]
    return min(most, max(sizes, default=0))


def _some(items: Sequence[Item]) -> tuple[Sequence[Item], float]:
    """Files or shards all over the input, and the number of them for each of these."""
    some = items[:: max(1, -(-len(items) // _LOOKED_AT))]
    return some, len(items) / max(1, len(some))


def _is_measured(shard: Shard) -> bool:
    source = shard.source
    parquet = source.format == "parquet" and source.table is None and not is_url(source.path)
    return parquet and not shard.lines and len(shard.sources) == 1


def _bytes_of(shard: Shard) -> float:
    """Bytes of a shard's rows: for a part of a group, its share by rows."""
    found, first = 0.0, 0
    for rows, size in row_groups(shard.source):
        end = first + rows if shard.end < 0 else min(first + rows, shard.end)
        found += size * max(0, end - max(first, shard.start)) / max(1, rows)
        first += rows
    return found


def _again(shards: Sequence[Shard], workers: int) -> float:
    """Bytes of a file that are decompressed again."""
    rows, sizes = np.array(row_groups(shards[0].source), np.int64).reshape(-1, 2).T
    ends = np.cumsum(rows)
    first = np.searchsorted(ends, [shard.start for shard in shards], side="right")
    last = np.searchsorted(ends, [shard.end if shard.end >= 0 else int(rows.sum()) for shard in shards])
    parts = np.zeros(len(rows) + 2, np.int64)
    np.add.at(parts, first, 1)
    np.add.at(parts, last + 1, -1)
    readers = np.minimum(np.cumsum(parts)[: len(rows)], workers)
    return float(sizes @ np.maximum(readers - 1, 0))


def seconds_per_byte(source: Source) -> float:
    """Processor seconds of an uncompressed byte, by some groups all over a file: each is read twice, and the faster time counts."""
    size, seconds = 0, 0.0
    with pq.ParquetFile(source.path, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True) as file:
        count = file.metadata.num_row_groups
        for place in range(min(count, _GROUPS)):
            number = (2 * place + 1) * count // (2 * min(count, _GROUPS))
            more = file.metadata.row_group(number).total_byte_size
            if size and size + more > _BYTES:
                break
            size += more
            seconds += min(_seconds_of(file, number) for _ in range(2))
    return seconds / max(1, size)


def _seconds_of(file: Any, group: int) -> float:
    started = time.thread_time()
    for _ in file.iter_batches(1024, row_groups=[group], use_threads=False):
        pass
    return time.thread_time() - started
