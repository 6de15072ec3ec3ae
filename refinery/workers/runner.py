"""What runs the shards of a stage: threads of this process, processes of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from refinery.io.model import Shard
from refinery.workers.worker import ShardResult, Task

Report = Callable[[ShardResult], None]


class Runner(Protocol):
    """Runs the shards of one stage; what it is made of may live longer, for the next stage."""

    def run(
        self, shards: Sequence[Shard], task: Callable[[Shard], Task], report: Report | None = None
    ) -> list[ShardResult]:
        """Run every shard; results in the order of the shards, `report` is called with each as it ends, on this thread.

        The first error ends the rest and is raised.
        """

    def close(self) -> None:
        """Let go of what only this stage needs."""
