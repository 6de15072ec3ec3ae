"""Pieces of shards, each of which one task makes the rows of all tables for; blocks of samples, which do not depend on shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from refinery.results.stage_result import StageResult


@dataclass(frozen=True)
class Piece:
    """Shards `start` to `end` - 1."""

    number: int
    start: int
    end: int


def pieces(samples: Sequence[int], size: int) -> list[Piece]:
    """Cut the shards to pieces of `size` samples at least, but for the last one. samples: of each shard. At least one piece."""
    cuts, held, left = [0], 0, sum(samples)
    for shard, count in enumerate(samples, 1):
        held, left = held + count, left - count
        if held >= size and left:
            cuts.append(shard)
            held = 0
    ends = [*cuts[1:], len(samples)]
    return [Piece(number, start, end) for number, (start, end) in enumerate(zip(cuts, ends, strict=True))]


@dataclass(frozen=True)
class Block:
    """A block: `take` samples after the first `skip` of the pieces `start` to `end` - 1."""

    number: int
    start: int
    end: int
    skip: int
    take: int


def blocks(samples: Sequence[int], size: int) -> list[Block]:
    """Cut all samples to blocks of `size`. samples: of each piece, without those in quarantine. At least one block."""
    ends = np.array([0, *accumulate(samples)], np.int64)[1:]
    total = int(ends[-1]) if len(ends) else 0
    blocks_in_order = []
    for number, first in enumerate(range(0, max(total, 1), size)):
        after = min(first + size, total)
        start = int(np.searchsorted(ends, first, "right")) if number else 0
        end = int(np.searchsorted(ends, after, "left")) + 1 if after > first else len(samples)
        before = int(ends[start] - samples[start]) if start < len(samples) else 0
        blocks_in_order.append(Block(number, start, min(end, len(samples)), first - before, after - first))
    return blocks_in_order


def samples_of(done: Sequence[StageResult]) -> list[int]:
    """Number of samples of each shard that were kept or removed; the others are in quarantine."""
    first = done[0].results
    return [result.rows - sum(stage.results[at].quarantined for stage in done) for at, result in enumerate(first)]


def first_rows(done: Sequence[StageResult]) -> list[int]:
    """The number of each shard's first sample; the number of all samples at the end."""
    return [0, *accumulate(result.rows for result in done[0].results)]
