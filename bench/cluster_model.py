"""Model of the time of a deduplication on many workers, from costs measured on one worker.

Nothing here is a measurement: it is arithmetic on measured costs, for a cluster whose workers are as fast as the
measured one. Work that cannot be spread over workers (start, the driver) is counted in full, and work that grows with the number of
workers (handing out tasks, parts of files), so the curve shows where it bends.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

MB = 1e6
BLOCK = 1 << 20  # samples that are summed up by one task
LEAST, PIECES = 1 << 16, 2  # as LEAST and EACH of refinery.execution.table_maker
TOGETHER, DIVIDED, LOOKS = 1_000_000, 1_000_000, 500  # as on a cluster, in refinery.dedup.barrier
FEW = 16  # as in refinery.dedup.exchange
STARS = 1 << 16  # as in refinery.dedup.clustering
GROUP, CALLS, EACH, MANY = 32, 16, 64, 128  # as in refinery.execution.ray.handing


@dataclass(frozen=True)
class Costs:
    """Costs measured on one worker. Sizes in bytes of input, times in seconds.

    start: a command's fixed time. begin: of a process of the cluster, before its first shard. process: of Python and Ray, before that. crowd: how much
    longer a core takes where all cores of its machine work. shards: (bytes, seconds of the stage before the barrier, seconds of the stage after
    it) of each measured shard. rows_per_byte: samples. moved: bytes of a sample that tasks of a deduplicator read. bands: their
    number. tasks: seconds a sample, by the kind of a deduplicator's tasks. apart: equalities of roots for a sample. rounds: that
    resolve them. part: to write or read one part of a file. tables: seconds a sample of the tasks that make tables, by their kind, and of
    each task of `make_parts` (`piece`). driver: seconds a sample of the driver. piece: seconds of the driver for each task of tables. shard: for each
    shard of a stage. task: to hand out a task and receive its answer. group: of the driver, to send a dispatcher a group of GROUP calls. call: for each
    further call of a group.
    """

    start: float
    begin: float
    shards: tuple[tuple[int, float, float], ...]
    rows_per_byte: float
    moved: float
    bands: int
    tasks: Mapping[str, float]
    apart: float
    rounds: int
    part: float
    tables: Mapping[str, float]
    driver: float
    piece: float
    shard: float
    task: float
    group: float
    call: float
    process: float = 0.0
    crowd: float = 1.0


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
    rows, workers = size * costs.rows_per_byte, cluster.workers
    first, second = zip(*_repeated(costs, size, cluster), strict=True)
    own, begin = handed(costs, workers) + costs.shard, (costs.begin + costs.process) * costs.crowd
    shards = makespan(first, workers, own, begin) + makespan(second, workers, own)
    nodes = -(-workers // cluster.per_node)
    # Files are in storage beside the nodes, so all that a task reads crosses its node's link; writing uses its other direction.
    moving = rows * costs.moved / (cluster.link * nodes) if nodes > 1 else 0.0
    barrier = sum(phase_time(costs, phase, workers) for phase in phases(costs, rows, workers, len(first)))
    pieces = piece_tasks(rows, workers, len(first))
    tables = table_time(costs, rows, workers, pieces)
    return Times(costs.start, shards, moving, barrier, tables, rows * costs.driver + pieces * costs.piece)


def piece_tasks(rows: float, workers: int, shards: int) -> int:
    """Number of tasks that make parts of tables, of whole shards each."""
    least = min(BLOCK, max(LEAST, rows / (workers * PIECES)))
    return max(1, shards // max(1, math.ceil(least / (rows / shards))))


def table_time(costs: Costs, rows: float, workers: int, pieces: int) -> float:
    """Seconds of the tasks for tables: parts, then clusters by partitions, which are counted before, then sums by blocks."""
    own, known = handed(costs, workers), {name: seconds * costs.crowd for name, seconds in costs.tables.items()}
    blocks = [BLOCK * known["sum_up"]] * int(rows // BLOCK) + [rows % BLOCK * known["sum_up"]]
    found = makespan([known["piece"] + rows / pieces * known["make_parts"]] * pieces, workers, own)
    parts = partitions_of(rows, workers)
    for name in ("count_clusters", "make_clusters"):
        found += makespan([rows / parts * known[name]] * parts, workers, own)
    return found + makespan(blocks, workers, own)


def partitions_of(rows: float, workers: int) -> int:
    """Number of partitions of samples."""
    return max(1, int(min(workers, rows // TOGETHER)))


def joins_of(costs: Costs, workers: int) -> int:
    """Number of tasks that join bands, or shares of them."""
    return costs.bands * max(1, workers // costs.bands)


def divide_tasks(rows: float, workers: int, shards: int) -> int:
    """Number of tasks that divide match keys."""
    return min(shards, max(workers, int(-(-rows // DIVIDED))))


def star_tasks(costs: Costs, rows: float, workers: int) -> int:
    """Number of tasks of half a round over the roots on which bands differ."""
    return max(1, min(partitions_of(rows, workers), int(rows * costs.apart / STARS)))


def handed(costs: Costs, workers: int) -> float:
    """Seconds between two tasks that begin: of the driver, or of its dispatchers together if these are slower."""
    if workers < MANY:
        return costs.task
    calls = max(GROUP, workers // CALLS)
    group = costs.group + (calls - GROUP) * costs.call
    return max(group / calls, costs.task / (workers // EACH))


def read_by(files: int, readers: int) -> int:
    """Requests of some readers, of which each has a part in every file of the phase before: many files are merged first."""
    if files <= FEW:
        return files * readers
    return files + -(-files // (math.isqrt(files - 1) + 1)) * readers


@dataclass(frozen=True)
class Phase:
    """Tasks of a deduplicator that run side by side. seconds: of all of them. parts: that each reads and writes."""

    tasks: int
    seconds: float
    parts: float


def partly(files: int, readers: int) -> float:
    """Parts that each of some readers reads, with its share of the merging."""
    return read_by(files, readers) / readers


def phases(costs: Costs, rows: float, workers: int, shards: int) -> list[Phase]:
    """Phases of a deduplicator, with tasks and partitions as `refinery.dedup` chooses them."""
    joins, partitions = joins_of(costs, workers), partitions_of(rows, workers)
    divides, stars = divide_tasks(rows, workers, shards), star_tasks(costs, rows, workers)
    between = partly(partitions, partitions)
    found = [
        ("look", -(-shards // LOOKS), 0.0),
        ("divide", divides, joins),
        ("equal", joins, partly(divides, joins) + partitions),
        ("gather", partitions, partly(joins, partitions) + 2 * partitions),
        ("reply", stars, partly(stars, stars) + 2 * partitions),
        ("spread", partitions, partly(stars, partitions) + partitions),
        ("settle", partitions, between + 2 * partitions),
        ("remove", partitions, between),
        ("describe", partitions, partitions),
        ("in_order", 2 * partitions, between),
    ]
    whole = [Phase(tasks, rows * costs.tasks[name], parts) for name, tasks, parts in found]
    half = Phase(stars, rows * costs.tasks["star"] / (2 * costs.rounds), partitions + partly(stars, stars))
    return whole + [half] * (2 * costs.rounds)


def phase_time(costs: Costs, phase: Phase, workers: int) -> float:
    """Seconds of a phase, whose tasks take equally long."""
    each = (phase.seconds / phase.tasks + phase.parts * costs.part) * costs.crowd
    return makespan([each] * phase.tasks, workers, handed(costs, workers))


def makespan(times: Sequence[float], workers: int, overhead: float = 0.0, begin: float = 0.0) -> float:
    """End time of the last task; tasks go in order to the first free worker, and begin at least `overhead` apart.

    begin: further seconds of each worker's first task.
    """
    free = [0.0] * min(workers, len(times))
    given = last = 0.0
    for number, time in enumerate(times):
        given += overhead
        end = max(heapq.heappop(free), given) + time + (begin if number < workers else 0.0)
        last = max(last, end)
        heapq.heappush(free, end)
    return last


def _repeated(costs: Costs, size: float, cluster: Cluster) -> list[tuple[float, float]]:
    """Costs of shards that together have `size` bytes; time is in proportion to bytes."""
    mean = sum(shard for shard, _, _ in costs.shards) / len(costs.shards)
    larger = _each(costs, size, cluster) / mean * costs.crowd
    count = shard_count(costs, size, cluster)
    return [(first * larger, second * larger) for _, first, second in islice(cycle(costs.shards), count)]


def shard_count(costs: Costs, size: float, cluster: Cluster) -> int:
    """Number of shards."""
    return max(1, round(size / _each(costs, size, cluster)))


def _each(costs: Costs, size: float, cluster: Cluster) -> float:
    """Bytes of a shard."""
    if cluster.shards is None:
        return sum(shard for shard, _, _ in costs.shards) / len(costs.shards)
    least, most = cluster.shards
    return min(most, max(least, size / (6 * cluster.workers)))
