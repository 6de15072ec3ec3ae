"""Task that finds the sample with which most others of a partition were matched, for the message of a safety limit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np

from refinery.common.lazy import pq
from refinery.dedup.audit.hub import MEMBERS
from refinery.dedup.slices import counted
from refinery.dedup.tasks.files import opened, work
from refinery.kernels.core.arrow import numbers
from refinery.workers.executor import TaskPlace
from refinery.workers.match_keys import SHARD_BITS

# Rows that are read at once.
_SLICE = 1 << 20
_IN_SHARD = (1 << SHARD_BITS) - 1
_MIX = np.uint64(0x9E3779B97F4A7C15)


def largest_hub(place: TaskPlace, first_rows: Sequence[int], matches: str) -> str:
    """The sample of this run with which most samples were matched, their number, and some of them; as JSON.

    first_rows: number of each shard's first sample, so that the choice does not depend on shards. matches: file of `settle`.
    """
    with work(place) as (store, _), opened(store, matches) as file:
        hubs, counts = counted(via for _, via in _links(file))
        if not len(hubs):
            return json.dumps([0, 0, []])
        hub = int(hubs[np.argmax(counts)])
        chosen = np.zeros(0, np.int64)
        for row, via in _links(file):
            own = np.append(chosen, row[via == hub])
            dense = np.asarray(first_rows, np.uint64)[own >> SHARD_BITS] + (own & _IN_SHARD).astype(np.uint64)
            chosen = own[np.argsort((dense + np.uint64(1)) * _MIX, kind="stable")[:MEMBERS]]
    return json.dumps([int(counts.max()), hub, sorted(chosen.tolist())])


def _links(file: pq.ParquetFile) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Samples and those of this run that they were matched with, slice by slice."""
    for batch in file.iter_batches(_SLICE, columns=["_row", "via"]):
        row, via = numbers(batch["_row"]), numbers(batch["via"])
        yield row[via >= 0], via[via >= 0]
