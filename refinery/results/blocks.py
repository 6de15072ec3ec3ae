"""Blocks of samples, each of which one task makes the rows of all tables for; blocks do not depend on shards."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from refinery.common.lazy_dataclass import dataclass
from refinery.results.stage_result import StageResult


@dataclass(frozen=True)
class Block:
    """A block: `take` samples after the first `skip` of its shards `start` to `end` - 1; those in quarantine do not count.

    whole: it ends with its last shard.
    """

    number: int
    start: int
    end: int
    skip: int
    take: int


def blocks(samples: Sequence[int], size: int) -> list[Block]:
    """Cut all samples to blocks of `size`. samples: of each shard, without those in quarantine.

    Each shard is in a block, also one without samples, whose rows are all in quarantine: it follows the samples before it.
    """
    ends = np.array([0, *accumulate(samples)], np.int64)[1:]
    total = int(ends[-1]) if len(ends) else 0
    found = []
    for number, first in enumerate(range(0, max(total, 1), size)):
        after = min(first + size, total)
        start = int(np.searchsorted(ends, first, "right")) if number else 0
        end = len(samples)
        if after < total:
            end = int(np.searchsorted(ends, after, "right"))
            end += int(ends[end] - samples[end] < after)  # the shard has samples of both blocks
        before = int(ends[start] - samples[start]) if start < len(samples) else 0
        found.append(Block(number, start, end, first - before, after - first))
    return found


def samples_of(done: Sequence[StageResult]) -> list[int]:
    """Number of samples of each shard that were kept or removed; the others are in quarantine."""
    first = done[0].results
    return [result.rows - sum(stage.results[at].quarantined for stage in done) for at, result in enumerate(first)]


def first_rows(done: Sequence[StageResult]) -> list[int]:
    """The number of each shard's first sample; the number of all samples at the end."""
    return [0, *accumulate(result.rows for result in done[0].results)]
