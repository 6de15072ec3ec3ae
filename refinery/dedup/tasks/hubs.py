"""Task that finds the sample with which most others of a partition were matched, for the message of a safety limit."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from refinery.dedup.audit.hub import MEMBERS
from refinery.dedup.tasks.files import opened, work
from refinery.kernels.core.arrow import numbers
from refinery.workers.executor import TaskPlace
from refinery.workers.match_keys import SHARD_BITS

_MIX = np.uint64(0x9E3779B97F4A7C15)


def largest_hub(place: TaskPlace, first_rows: Sequence[int], matches: str) -> str:
    """The sample of this run with which most samples were matched, their number, and some of them; as JSON.

    first_rows: number of each shard's first sample, so that the choice does not depend on shards. matches: file of `settle`.
    """
    with work(place) as (store, _), opened(store, matches) as file:
        table = file.read(columns=["_row", "via"])
    row, via = numbers(table["_row"]), numbers(table["via"])
    row, via = row[via >= 0], via[via >= 0]
    if not len(row):
        return json.dumps([0, 0, []])
    hubs, counts = np.unique(via, return_counts=True)
    hub = int(hubs[np.argmax(counts)])
    own = row[via == hub]
    dense = np.asarray(first_rows, np.uint64)[own >> SHARD_BITS] + (own & ((1 << SHARD_BITS) - 1)).astype(np.uint64)
    chosen = own[np.argsort((dense + np.uint64(1)) * _MIX, kind="stable")[:MEMBERS]]
    return json.dumps([int(counts.max()), hub, sorted(chosen.tolist())])
