"""Laws of the seconds that a part of a run takes, from runs of two sizes.

A part has fixed costs (kernels that are loaded, statements that are planned, tables that are made) and costs for each unit of its input.
The first of three runs shows the fixed costs, as a run from the command line has them. The second has the same input and the third one a larger input;
nothing has to be loaded for them any more, so their difference is that of the input alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refinery.workers.machine import cores

# Error of measured processor seconds: absolute, and relative.
_NOISE, _RELATIVE = 0.01, 0.03
# Least cores at work: a part that only waits for disks has no limit otherwise.
_LEAST_SIDE = 0.05


@dataclass(frozen=True)
class Mark:
    """Seconds when a part of a run began, or one of its shards ended. stage: its number. processor, wall: seconds. shard: its number, or None."""

    stage: int
    part: str
    processor: float
    wall: float
    shard: int | None = None


@dataclass(frozen=True)
class TimedPart:
    """Processor and wall seconds of a part of one run. side: cores at work while no worker was idle. shards: number of those it ran."""

    processor: float
    wall: float
    side: float
    shards: int = 0


# Parts of a run by number of the stage and name. Those of the whole run have the stage 0.
TimedParts = Mapping[tuple[int, str], TimedPart]
START, AFTER, AUDIT = (0, "start"), (0, "stages"), (0, "audit")
SHARDS, BARRIER = "shards", "deduplicator"


@dataclass(frozen=True)
class Prior:
    """Seconds for a unit before they are measured, with their standard error."""

    unit: float
    error: float


@dataclass(frozen=True)
class Law:
    """Seconds of a part of a run: fixed ones, and those for each unit of its input (a byte, a row).

    fixed: processor seconds; wall: seconds that they take. side: cores at work on the rest. error: standard error of `unit`, in seconds.
    """

    fixed: float
    wall: float
    unit: float
    side: float = 1.0
    error: float = 0.0

    def processor(self, units: float) -> float:
        """Processor seconds."""
        return self.fixed + self.unit * units

    def seconds(self, units: float) -> float:
        """Wall seconds."""
        return self.wall + self.unit * units / self.side


def parts_of(marks: Sequence[Mark], workers: int) -> TimedParts:
    """The parts of a run by its marks, of which the first and the last one are its beginning and its end."""
    begins = [place for place, mark in enumerate(marks) if mark.shard is None]
    parts = {}
    for place, after in zip(begins, begins[1:], strict=False):
        first, ends = marks[place], marks[place + 1 : after]
        last = marks[after]
        until = ends[-min(workers, len(ends))] if ends else last  # then the first worker has nothing left to do
        processor, wall = last.processor - first.processor, last.wall - first.wall
        busy = until.wall - first.wall
        side = (until.processor - first.processor) / busy if busy > 0 else 1.0
        parts[first.stage, first.part] = TimedPart(processor, wall, min(workers, max(_LEAST_SIDE, side)), len(ends))
    return parts


def law_of(
    cold: TimedPart,
    small: TimedPart,
    large: TimedPart,
    units: tuple[float, float],
    prior: Prior,
    shard: Prior | None = None,
) -> Law:
    """The law of a part. units: of its input in the small runs and in the large one. shard: seconds of a shard besides those of its units."""
    more, each = max(units[1] - units[0], 1e-9), shard or Prior(0.0, 0.0)
    shards = large.shards - small.shards
    found = (large.processor - small.processor - each.unit * shards) / more
    noise = math.hypot(_noise(small), _noise(large), each.error * shards) / more
    weights = 1 / noise**2, 1 / prior.error**2
    unit = max(1e-12, (found * weights[0] + prior.unit * weights[1]) / sum(weights))
    grown = unit * units[0] + each.unit * cold.shards
    fixed, wall = max(0.0, cold.processor - grown), max(0.0, cold.wall - grown / large.side)
    side = large.side if shard else _side_of_more(small, large)
    return Law(fixed, wall, unit, side, 1 / math.sqrt(sum(weights)))


def _side_of_more(small: TimedPart, large: TimedPart) -> float:
    """Cores at work on what the large run has more, if it is more than noise: fixed costs have one core."""
    processor, wall = large.processor - small.processor, large.wall - small.wall
    if min(processor, wall) < 2 * math.hypot(_noise(small), _noise(large)):
        return large.side
    return min(float(cores()), max(_LEAST_SIDE, processor / wall))


def _noise(part: TimedPart) -> float:
    return math.hypot(_NOISE, _RELATIVE * part.processor)
