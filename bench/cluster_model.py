"""Model of the time of a deduplication on many workers, from costs measured on one worker.

Nothing here is a measurement: it is arithmetic on measured costs, for a cluster whose workers are as fast as the
measured one. Work that cannot be spread over workers (start, union-find, tables) is counted in full, so the curve shows
where it bends.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

MB = 1e6


@dataclass(frozen=True)
class Costs:
    """Costs measured on one worker. Sizes in bytes of input, times in seconds.

    start: a command's fixed time. shards: (bytes, seconds of the stage before the barrier, seconds of the stage after
    it) of each measured shard. rows_per_byte: samples. marks_per_row: bytes of match keys for the barrier. band: time
    to group one band, per sample. bands: their number. pairs_per_row, pair: matched pairs, and the driver's time for
    one. tables: the driver's time for the tables, per sample. task: time to hand out a task and receive its answer.
    """

    start: float
    shards: tuple[tuple[int, float, float], ...]
    rows_per_byte: float
    marks_per_row: float
    band: float
    bands: int
    pairs_per_row: float
    pair: float
    tables: float
    task: float


@dataclass(frozen=True)
class Cluster:
    """workers: number, of one core each. per_node: workers that share a network link of `link` bytes a second."""

    workers: int
    per_node: int = 160
    link: float = 3.1e9  # 25 Gbit/s


@dataclass(frozen=True)
class Times:
    """Seconds of each part of a run."""

    start: float
    shards: float
    moving: float
    barrier: float
    driver: float

    @property
    def total(self) -> float:
        return self.start + self.shards + self.moving + self.barrier + self.driver


def simulate(costs: Costs, size: float, cluster: Cluster) -> Times:
    """Simulate a run over `size` bytes. The measured shards are repeated, each goes to the first free worker."""
    rows = size * costs.rows_per_byte
    first, second = zip(*_repeated(costs, size), strict=True)
    shards = makespan(first, cluster.workers, costs.task) + makespan(second, cluster.workers, costs.task)
    nodes = -(-cluster.workers // cluster.per_node)
    # Every node reads the match keys of all nodes, except its own share.
    moving = rows * costs.marks_per_row * (nodes - 1) / nodes / (cluster.link * nodes)
    barrier = makespan([rows * costs.band] * costs.bands, cluster.workers, costs.task)
    driver = rows * (costs.pairs_per_row * costs.pair + costs.tables)
    return Times(costs.start, shards, moving, barrier, driver)


def makespan(times: Sequence[float], workers: int, overhead: float = 0.0) -> float:
    """End time of the last task; tasks go in order to the first free worker, and the driver hands out one at a time."""
    free = [0.0] * min(workers, len(times))
    given = last = 0.0
    for time in times:
        given += overhead
        end = max(heapq.heappop(free), given) + time
        last = max(last, end)
        heapq.heappush(free, end)
    return last


def _repeated(costs: Costs, size: float) -> list[tuple[float, float]]:
    """Costs of shards that together have `size` bytes."""
    mean = sum(shard for shard, _, _ in costs.shards) / len(costs.shards)
    count = max(1, round(size / mean))
    return [(first, second) for _, first, second in islice(cycle(costs.shards), count)]
