"""Interface of backends: threads of this process, processes of this machine, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from refinery.io.model import Shard
from refinery.workers.worker import ShardResult, Task

Report = Callable[[ShardResult], None]


class Runner(Protocol):
    """Runs the shards of one stage. Its threads or processes may outlive it, for the next stage."""

    def run(
        self, shards: Sequence[Shard], task: Callable[[Shard], Task], report: Report | None = None
    ) -> list[ShardResult]:
        """Run every shard; results in the order of the shards. `report` gets each result as it ends, on this thread.

        The first error ends the other shards and is raised.
        """

    def close(self) -> None:
        """Release resources that only this stage needs."""
