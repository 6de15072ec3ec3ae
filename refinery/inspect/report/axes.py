"""The axis of a histogram: from where to where, in bins of which width, even or by powers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refinery.inspect.report.bounds import Bound

_BINS = 40
# Values spread over more than this, from the middle to the end, are shown by powers of ten.
_SKEWED = 4.0
# Where the outermost hundredth of the values makes the axis longer by less than this, all are shown.
_ALL = 1.6


@dataclass(frozen=True)
class Axis:
    """low, high: the ends, in the statistic's unit. log: bins are even in the logarithm. bins: how many."""

    low: float
    high: float
    log: bool
    bins: int

    @property
    def start(self) -> float:
        """Where the first bin starts, on the axis's own scale."""
        return math.log(self.low) if self.log else self.low

    @property
    def width(self) -> float:
        """A bin's width on the axis's own scale."""
        end = math.log(self.high) if self.log else self.high
        return (end - self.start) / self.bins

    @property
    def edges(self) -> list[float]:
        """Where bins begin and end, in the statistic's unit: one more than there are bins."""
        places = [self.start + self.width * at for at in range(self.bins + 1)]
        return [math.exp(place) for place in places] if self.log else places


def axis_of(
    low: float | None, high: float | None, quantiles: Mapping[float, float], ends: Sequence[Bound], whole: bool
) -> Axis | None:
    """An axis for values between `low` and `high`: nearly all of them, and every bound that removes some.

    quantiles: at least those of 0.005, 0.5 and 0.995. None when there are not two values.
    """
    if low is None or high is None or not quantiles or low == high:
        return None
    first, middle, last = quantiles[0.005], quantiles[0.5], quantiles[0.995]
    log = first > 0 and last > _SKEWED * middle
    if log and low > 0 and math.log(high / low) <= _ALL * math.log(last / first):
        first, last = low, high
    elif not log and high - low <= _ALL * (last - first):
        first, last = low, high
    if first == last:  # nearly all are the same: the others are what can be seen
        first, last = low, high
    for bound in ends:
        if low <= bound.value <= high:  # a little of what lies beyond it is seen as well
            first = min(first, max(low, _beyond(bound.value, last, log, -1)))
            last = max(last, min(high, _beyond(bound.value, first, log, 1)))
    log = log and first > 0
    if whole and last - first < _BINS and not log:
        return Axis(math.floor(first) - 0.5, math.ceil(last) + 0.5, False, math.ceil(last) - math.floor(first) + 1)
    if not math.isfinite(last - first) or first + (last - first) / _BINS == first:
        return None
    if whole and not log:  # every bin holds the same number of whole values
        width = math.ceil((last - first + 1) / _BINS)
        return Axis(first - 0.5, first - 0.5 + width * _BINS, False, _BINS)
    return Axis(first, last, log, _BINS)


def _beyond(bound: float, other: float, log: bool, side: int) -> float:
    """A place a little beyond a bound, seen from the axis's other end; side: -1 below it, 1 above."""
    if log and bound > 0 and other > 0:
        return bound * (max(bound, other) / min(bound, other)) ** (0.15 * side)
    return bound + side * 0.15 * max(abs(other - bound), abs(bound) * 0.1)
