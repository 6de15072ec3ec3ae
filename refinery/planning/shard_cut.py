"""Second phase: the input cut to shards, whose size follows the input and the cores of this machine or of the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from refinery.errors import RefineryError
from refinery.io.model import Shard, Source
from refinery.io.sources import carrier, cut
from refinery.io.splitting import expanded, weight_of
from refinery.planning.phase import Phase, attempt
from refinery.planning.sizes import mean_row, shard_bytes
from refinery.storage.shard_plan import remembered
from refinery.storage.workplace import Workplace
from refinery.workers.machine import cores

# On this machine: shards for each worker, and least bytes of a shard. Several for each, so that the last ones end together.
_EACH, _LEAST = 12, 4 << 20
# On a cluster. Between four and eight for each core: fewer leave cores idle at the end, more cost their tasks. A
# shard of fewer bytes takes less time than its task, its files and its answer.
_EACH_ON_CLUSTER, _LEAST_ON_CLUSTER = 6, 16_000_000
# Most result columns of a step: a statistic, a change flag, bytes of the text.
_COLUMNS = 3


@dataclass(frozen=True)
class Capacity:
    """Size of a cluster when the input is cut: cores and nodes that have joined, or cores that it may grow to.

    grows: an autoscaler may add nodes until there are so many cores.
    """

    cores: int
    nodes: int
    grows: bool = False

    def __str__(self) -> str:
        if self.grows:
            return f"{_many(self.cores, 'core')} that the cluster's autoscaler may reach"
        return f"{_many(self.cores, 'core')} of the cluster's {_many(self.nodes, 'node')}"


@dataclass(frozen=True)
class ShardCut:
    """Most input bytes of a shard, and the reason. asked: number of shards that the recipe asks for."""

    size: int
    why: str
    asked: int | None = None

    def described(self, shards: Sequence[Shard]) -> str:
        """The cut in one line: `369.0 MB in 12 shards of at most 30.8 MB: 6 for each of ...`."""
        total, largest = (of([shard.size for shard in shards] or [0]) for of in (sum, max))
        most = f" of at most {_mb(largest)}" if len(shards) > 1 else ""
        return f"{_mb(total)} in {_many(len(shards), 'shard')}{most}: {self.why}"

    def difference(self, shards: int) -> list[str]:
        """A line if there is another number of shards than asked for."""
        if self.asked is None or shards == self.asked:
            return []
        reason = "shards end where files and their groups of rows end, and no shard is empty"
        return [f"override_num_blocks: {self.asked} shards are asked for, there are {shards}: {reason}"]


@dataclass(frozen=True)
class CutInput:
    """The shards of an input and their size. lines: samples are carried as JSON lines."""

    shards: list[Shard]
    size: ShardCut
    lines: bool = True


@dataclass(frozen=True)
class CutSettings:
    """Settings of a recipe that decide how its input is cut.

    shard_size: most bytes of a shard. blocks: number of shards that is asked for. fits: shards fit the memory of a worker.
    memory_limit: of all workers, in bytes. steps: their number. work_dir: the run folder, whose earlier shards are used again.
    """

    shard_size: int
    blocks: int | None
    fits: bool
    memory_limit: int | None
    steps: int
    workers: int
    work_dir: str

    @property
    def whole(self) -> int | None:
        """Most bytes of a group of rows that may be one shard, though shards are smaller; None if a number of shards is asked for."""
        return self.shard_size if self.blocks is None else None


def worker_count(np: int) -> int:
    """Workers of this machine for the recipe's `np`."""
    return max(1, min(np, cores()))


def cut_input(
    settings: CutSettings, sources: Sequence[Source], shard_size: int | None, capacity: Capacity | None, place: str
) -> Phase[CutInput]:
    """The shards of the sources. shard_size: of an earlier run, or None. place: of the inputs."""
    nothing = CutInput([], ShardCut(settings.shard_size, "no input is read"))
    if not sources:
        return Phase(nothing)

    def make() -> CutInput:
        if shard_size:
            size = ShardCut(shard_size, "as the run has cut it")
        else:
            size = shard_cut(settings, sources, capacity)
        shards = cut(sources, size.size, settings.workers, settings.whole)
        return CutInput(shards, size, carrier(sources) == "lines")

    phase = attempt(make, nothing, place)
    return replace(phase, notes=tuple(phase.value.size.difference(len(phase.value.shards))))


def shard_cut(settings: CutSettings, sources: Sequence[Source], capacity: Capacity | None) -> ShardCut:
    """The size of shards. capacity: of the cluster that the run is for."""
    workers = settings.workers
    if (asked := settings.blocks) is not None:
        total = sum(expanded(source) for source in sources)
        return ShardCut(max(1, -(-total // asked)), f"override_num_blocks asks for {asked}", asked)
    total = weight_of(sources)
    wanted, why = _wanted(total, settings.shard_size, workers, capacity)
    if settings.fits:
        row = mean_row(cut(sources, wanted, workers))
        fitting = shard_bytes(row, wanted, _COLUMNS * settings.steps, settings.memory_limit, workers)
        wanted, why = (
            (fitting, "adaptive_batch_size, for the memory of a worker") if fitting < wanted else (wanted, why)
        )
    try:
        size = remembered(Workplace.of(settings.work_dir).parts(), settings.shard_size, wanted)
    except RefineryError:  # no driver for the URL; a run will say so
        size = wanted
    return ShardCut(
        size, why if size == wanted else f"as an earlier run here has cut it, whose results can be used ({why})"
    )


def _wanted(total: int, most: int, workers: int, capacity: Capacity | None) -> tuple[int, str]:
    """Bytes of a shard, and the reason. total: bytes of the input's text. most: the recipe's `shard_size`."""
    if capacity is None:
        each, least, whom = _EACH, _LEAST, f"{_many(workers, 'worker')}"
        fair = -(-total // (workers * each))
    else:
        each, least, whom = _EACH_ON_CLUSTER, _LEAST_ON_CLUSTER, str(capacity)
        fair = -(-total // (capacity.cores * each))
    size = min(most, max(least, fair))
    if size == most and fair > most:
        return size, f"none is larger than shard_size ({_mb(most)}); more than {each} for each of {whom}"
    if size == most:
        return size, f"shard_size ({_mb(most)})"
    if size == least and fair < least:
        return size, f"none is smaller than {_mb(least)}, though {each} for each of {whom} would be"
    return size, f"{each} for each of {whom}"


def _mb(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size:,} bytes"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
