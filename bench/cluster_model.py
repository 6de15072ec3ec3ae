"""Model of the time of a deduplication on many workers, from costs measured on one worker.

Nothing here is a measurement: it is arithmetic on measured costs, for a cluster whose workers are as fast as the
measured one. Work that cannot be spread over workers (start, the driver, equalities of clusters) is counted in full, so the curve
shows where it bends.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

MB = 1e6
BLOCK = 1 << 20  # samples of a task for tables
TOGETHER, JOINS, READS = 100_000, 1024, 1 << 18  # as in refinery.execution.ray.barrier


@dataclass(frozen=True)
class Costs:
    """Costs measured on one worker. Sizes in bytes of input, times in seconds.

    start: a command's fixed time. shards: (bytes, seconds of the stage before the barrier, seconds of the stage after
    it) of each measured shard. rows_per_byte: samples. marks_per_row: bytes of match keys for the barrier. bands: their
    number. Seconds a sample: scan, of each task that joins a share of a band; join, of a whole band, over all of its tasks; clusters,
    of all tasks that make clusters; resolve, of the one task that none can share; tables, of the tasks that make tables; driver,
    of the driver. task: time to hand out a task and receive its answer.
    """

    start: float
    shards: tuple[tuple[int, float, float], ...]
    rows_per_byte: float
    marks_per_row: float
    bands: int
    scan: float
    join: float
    clusters: float
    resolve: float
    tables: float
    driver: float
    task: float


@dataclass(frozen=True)
class Cluster:
    """workers: number, of one core each. per_node: workers that share a network link of `link` bytes a second.

    shards: least and most bytes of a shard, of which each worker has six at best; None: shards as measured.
    """

    workers: int
    shards: tuple[float, float] | None = None
    per_node: int = 160
    link: float = 3.1e9  # 25 Gbit/s


@dataclass(frozen=True)
class Times:
    """Seconds of each part of a run."""

    start: float
    shards: float
    moving: float
    barrier: float
    tables: float
    driver: float

    @property
    def total(self) -> float:
        return self.start + self.shards + self.moving + self.barrier + self.tables + self.driver


def simulate(costs: Costs, size: float, cluster: Cluster) -> Times:
    """Simulate a run over `size` bytes. The measured shards are repeated, each goes to the first free worker."""
    rows = size * costs.rows_per_byte
    first, second = zip(*_repeated(costs, size, cluster), strict=True)
    shards = makespan(first, cluster.workers, costs.task) + makespan(second, cluster.workers, costs.task)
    nodes = -(-cluster.workers // cluster.per_node)
    # Every node reads the match keys of all nodes, except its own share.
    moving = rows * costs.marks_per_row * (nodes - 1) / nodes / (cluster.link * nodes)
    barrier = _barrier(costs, rows, cluster.workers)
    blocks = [BLOCK * costs.tables] * int(rows // BLOCK) + [rows % BLOCK * costs.tables]
    tables = makespan(blocks, cluster.workers, costs.task)
    return Times(costs.start, shards, moving, barrier, tables, rows * costs.driver)


def _barrier(costs: Costs, rows: float, workers: int) -> float:
    """Seconds of a deduplicator: shares of bands, then clusters by partitions; numbers as the run chooses them."""
    shares = max(1, min(JOINS, workers) // costs.bands)
    joins = [rows * (costs.scan + costs.join / shares)] * (costs.bands * shares)
    partitions = max(1, int(min(2 * workers, rows // TOGETHER, READS // len(joins))))
    clusters = [rows * costs.clusters / partitions] * partitions
    return makespan(joins, workers, costs.task) + makespan(clusters, workers, costs.task) + rows * costs.resolve


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


def _repeated(costs: Costs, size: float, cluster: Cluster) -> list[tuple[float, float]]:
    """Costs of shards that together have `size` bytes; time is in proportion to bytes."""
    each = mean = sum(shard for shard, _, _ in costs.shards) / len(costs.shards)
    if cluster.shards is not None:
        least, most = cluster.shards
        each = min(most, max(least, size / (6 * cluster.workers)))
    count, larger = max(1, round(size / each)), each / mean
    return [(first * larger, second * larger) for _, first, second in islice(cycle(costs.shards), count)]
