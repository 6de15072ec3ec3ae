"""Tasks of a deduplicator in many partitions on this machine: what they find needs no cluster to be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from refinery.dedup import barrier, exchange
from refinery.workers.executor import ThreadExecutor


def tasks_in_process(patch: pytest.MonkeyPatch, twice: bool = False, size: int = 20) -> Counter[str]:
    """Let deduplicators of local runs have as many tasks as on a cluster; returns the number of calls of each so far.

    twice: run every task twice, as Ray does when the answer of the first one is lost. size: of partitions, in samples.
    """
    calls: Counter[str] = Counter()

    def map(
        executor: ThreadExecutor,
        work: Callable[..., str],
        given: Sequence[tuple[Any, ...]],
        shared: Sequence[Any] = (),
        label: str = "",
        files: Sequence[str] = (),
    ) -> list[str]:
        calls[work.__name__] += len(given)
        found = [work(executor.place, *shared, *call) for call in given]
        assert not twice or [work(executor.place, *shared, *call) for call in given] == found
        return found

    patch.setattr(ThreadExecutor, "map", map)
    patch.setattr(ThreadExecutor, "capacity", lambda executor: 3)
    patch.setattr(ThreadExecutor, "worth", size)
    patch.setattr(barrier, "_TOGETHER", size)
    patch.setattr(exchange, "_FEW", 2)
    return calls
