"""`left_out`: samples that a source leaves out, by their numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa

from refinery.errors import DataError
from refinery.io.model import Shard
from refinery.io.readers.read import count_rows
from refinery.io.readers.registry import reader_of

COLUMN = "row"


def without_rows(shards: Sequence[Shard], files: Sequence[str], workers: int = 1) -> list[Shard]:
    """Shards without the samples that are left out; their numbers count anew.

    files: of each input, by the number that `find` gave it, the file with the numbers to leave out; "" for none. Counts the samples, good or
    bad, of the shards of inputs with such a file. Raises DataError for a file that is none, or a number that no sample has.
    """
    named = [files[shard.source.dataset] for shard in shards]
    numbers = {file: numbers_in(file) for file in dict.fromkeys(named) if file}
    if not numbers:
        return list(shards)
    with ThreadPoolExecutor(max(1, workers)) as pool:
        rows = list(pool.map(lambda shard, file: count_rows(shard) if file else 0, shards, named))
    first = dict.fromkeys(numbers, 0)
    taken: list[Shard] = []
    for shard, file, count in zip(shards, named, rows, strict=True):
        if file:
            low, high = np.searchsorted(numbers[file], [first[file], first[file] + count])
            shard_numbers = numbers[file][low:high] - first[file]
            first[file] += count
            shard = _narrowed(shard, np.setdiff1d(np.arange(count), shard_numbers, assume_unique=True), count)
        if shard.sources:
            taken.append(replace(shard, index=len(taken)))
    for file, count in first.items():
        if len(numbers[file]) and numbers[file][-1] >= count:
            what = f"leaves out sample {numbers[file][-1]:,}, but its sources have {count:,}, counted from 0"
            raise DataError(f"{file}: {what}. The sources have changed, or the file is for others")
    return taken


def numbers_in(file: str) -> np.ndarray:
    """The ascending numbers in a file. Raises DataError."""
    import pyarrow.parquet as pq

    try:
        column = pq.read_table(os.path.expanduser(file), columns=[COLUMN]).column(0)
    except (OSError, pa.ArrowException, IndexError) as error:
        raise DataError(f"{file}: is no Parquet file with a column {COLUMN!r} ({error})") from error
    if not pa.types.is_integer(column.type) or column.null_count:
        raise DataError(f"{file}: column {COLUMN!r} holds numbers of samples, which are integers, not {column.type}")
    numbers: np.ndarray = np.unique(column.to_numpy().astype(np.int64))
    if len(numbers) and numbers[0] < 0:
        raise DataError(f"{file}: {numbers[0]} is no number of a sample; they count from 0")
    return numbers


def _narrowed(shard: Shard, only: np.ndarray, count: int) -> Shard:
    """The shard with these samples alone. Where each file is a sample, files go: none may be left."""
    if len(only) == count:
        return shard
    if reader_of(shard.source).one_sample:
        return replace(shard, sources=tuple(shard.sources[row] for row in only), rows_of=(1,) * len(only))
    return replace(shard, only=only)
