"""Tasks of a deduplicator on a cluster, one after another in this process: what they find needs no cluster to be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from refinery.compiler.program import Program
from refinery.dedup.barrier import DedupInput, DedupResult
from refinery.execution.local_backend import LocalBackend
from refinery.execution.ray import barrier, candidate_tasks, cluster_tasks, index_tasks, search_tasks
from refinery.execution.stage_tasks import folder_of
from refinery.io.model import Shard
from refinery.results.stage_result import StageResult
from refinery.workers.tasks import ShardResult, Task
from refinery.workers.worker import Worker


class _Cluster:
    def cores(self) -> int:
        return 3


class _Runner:
    """Runs shards with a program in this process."""

    def __init__(self, step: Any, program: Program) -> None:
        self._program = program

    def run(self, shards: Sequence[Shard], task: Callable[[Shard], Task]) -> list[ShardResult]:
        with closing(Worker(self._program)) as worker:
            return [worker.run(shard, task(shard)) for shard in shards]

    def close(self) -> None: ...


def tasks_in_process(patch: pytest.MonkeyPatch, twice: bool = False, size: int = 20) -> Counter[str]:
    """Let deduplicators of local runs do as those on a cluster; returns the number of calls of each task so far.

    twice: run every task twice, as Ray does when the answer of the first one is lost. size: of partitions, in samples.
    """
    calls: Counter[str] = Counter()

    def every(
        cluster: Any,
        work: Callable[..., str],
        given: Sequence[tuple[Any, ...]],
        options: Any = None,
        label: str = "",
        shared: Sequence[Any] = (),
    ) -> list[str]:
        calls[work.__name__] += len(given)
        found = [work(*shared, *call) for call in given]
        assert not twice or [work(*shared, *call) for call in given] == found
        return found

    def find(backend: LocalBackend, given: DedupInput, done: StageResult) -> DedupResult:
        files = [result.match_keys for result in done.results if result.match_keys]
        cluster: Any = _Cluster()
        at = folder_of(done.planned)
        tasks = barrier.Barrier(cluster, backend._store, at, None, backend.spill, partial(_Runner))  # type: ignore[arg-type]
        return tasks.find(replace(given, files=files))

    def refused(given: DedupInput) -> DedupResult:
        raise AssertionError("the driver has done the work")

    for module in (barrier, candidate_tasks, cluster_tasks, index_tasks, search_tasks):
        patch.setattr(module, "every", every)
    patch.setattr(barrier, "find_duplicates", refused)
    patch.setattr(barrier, "_WORTH", size)
    patch.setattr(barrier, "_TOGETHER", size)
    patch.setattr(LocalBackend, "find", find)
    return calls
