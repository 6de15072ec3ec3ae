"""`weight` and `max_sample_num`: the samples to take of several data sets.

As in Data-Juicer, weights count only beside `max_sample_num`: they are scaled to a sum of 1, data set i shall give
ceil(max_sample_num * weight) samples, and the last data sets the rest. The samples are those that Data-Juicer's
shuffle with seed 42 puts first, but stay in the order of the input, and none is taken twice: a data set with fewer
samples gives all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from refinery.errors import DataError
from refinery.io.model import Shard
from refinery.io.readers.read import count_rows
from refinery.io.readers.registry import reader_of

_SEED = 42


def sample(
    shards: Sequence[Shard], weights: Sequence[float], max_sample_num: int | None, workers: int = 1
) -> tuple[list[Shard], list[str]]:
    """Shards of the chosen samples only, and notes on data sets that had too few.

    weights: of each input, by the number that `find` gave it (`Source.dataset`). Counts the samples of every shard,
    good or bad, to choose among them. Raises DataError when all weights are 0.
    """
    if max_sample_num is None:
        return list(shards), []
    if sum(weights) <= 0:
        raise DataError("max_sample_num is set, but every data set has weight 0")
    with ThreadPoolExecutor(max(1, workers)) as pool:
        rows = list(pool.map(count_rows, shards))
    totals = [0] * len(weights)
    for shard, count in zip(shards, rows, strict=True):
        totals[shard.source.dataset] += count
    wanted = sample_numbers(weights, max_sample_num)
    chosen = [choose(total, number) for total, number in zip(totals, wanted, strict=True)]
    notes = [
        f"data set {k + 1} has {total} samples where its weight asks for {number}"
        for k, (total, number) in enumerate(zip(totals, wanted, strict=True))
        if number > total
    ]
    samples: list[Shard] = []
    first = [0] * len(weights)
    for shard, count in zip(shards, rows, strict=True):
        number = shard.source.dataset
        low, high = np.searchsorted(chosen[number], [first[number], first[number] + count])
        only = chosen[number][low:high] - first[number]
        first[number] += count
        # A shard without chosen samples is still read, to count lines for the file's next shards; text files are not.
        if len(only) or not reader_of(shard.source).one_sample:
            samples.append(_narrow(shard, only, len(samples), count))
    return samples, notes


def sample_numbers(weights: Sequence[float], max_sample_num: int) -> list[int]:
    """Number of samples that each data set shall give."""
    total = sum(weights)
    numbers: list[int] = []
    for weight in weights:
        number = math.ceil(max_sample_num * (weight / total))
        numbers.append(max(0, min(number, max_sample_num - sum(numbers))))
    return numbers


def choose(rows: int, number: int) -> np.ndarray:
    """The ascending numbers of the rows to take."""
    if number >= rows:
        return np.arange(rows)
    return np.sort(np.random.default_rng(_SEED).permutation(rows)[:number])


def _narrow(shard: Shard, only: np.ndarray, index: int, count: int) -> Shard:
    if len(only) == count:
        return replace(shard, index=index)
    if reader_of(shard.source).one_sample:
        return replace(shard, index=index, sources=tuple(shard.sources[row] for row in only), rows_of=(1,) * len(only))
    return replace(shard, index=index, only=only if shard.only is None else shard.only[only])
