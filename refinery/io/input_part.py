"""`sample` and `limit`: the shards of a part of the input.

A share is chosen where the shards run. For the first samples, the shards are counted here, in order, until there are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from refinery.errors import DataError
from refinery.io.model import Shard, Source
from refinery.io.readers.read import count_rows, read
from refinery.io.readers.registry import reader_of
from refinery.io.sampling import numbers_by_content


def part_of_input(shards: Sequence[Shard], share: float | None, limit: int | None) -> list[Shard]:
    """Shards of a share of the samples, and of these of the first ones. Raises DataError for a file that cannot be read."""
    if share is not None and shards:
        left = [shard for shard in (_shared(shard, share) for shard in shards) if shard.sources]
        if not left:
            files = sum(len(shard.sources) for shard in shards)
            raise DataError(f"the sample of {share:.10g} holds none of the {files:,} files. Take a larger share")
        shards = [replace(shard, index=index) for index, shard in enumerate(left)]
    return list(shards) if limit is None else _first(shards, limit)


def sources_of(shards: Sequence[Shard], sources: Sequence[Source]) -> list[Source]:
    """The sources that shards read from."""
    used = {source for shard in shards for source in shard.sources}
    return [source for source in sources if source in used]


def _shared(shard: Shard, share: float) -> Shard:
    """The shard with a share of its samples. Where each file is a sample, those of files that are not chosen go."""
    if not reader_of(shard.source).one_sample:
        return replace(shard, share=share)
    return _of_files(shard, numbers_by_content(read(shard), share))


def _of_files(shard: Shard, numbers: np.ndarray) -> Shard:
    """A shard of these files, each of which is one sample."""
    return replace(shard, sources=tuple(shard.sources[n] for n in numbers), rows_of=(1,) * len(numbers))


def _first(shards: Sequence[Shard], limit: int) -> list[Shard]:
    taken: list[Shard] = []
    for shard in shards:
        count = _count(shard, limit)
        if count < limit:
            taken.append(shard)
        elif reader_of(shard.source).one_sample:
            taken.append(_of_files(shard, np.arange(limit)))
        else:
            taken.append(replace(shard, first=limit))
        limit -= count
        if limit <= 0:
            break
    return taken


def _count(shard: Shard, most: int) -> int:
    """Number of samples of a shard, good or bad; `most` if there are as many or more, which are then not counted."""
    if shard.share is None and (shard.only is not None or reader_of(shard.source).has_footer):
        return min(most, count_rows(shard))
    count = 0
    for batch in read(shard, check=False):
        count += len(batch.rows) + len(batch.bad)
        if count >= most:
            return most
    return count
