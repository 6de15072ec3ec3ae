"""The axis of a histogram: its ends and bin width, linear or logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refinery.operators.bounds import FilterBound

_BINS = 40
# A larger ratio of the last value to the median makes the axis logarithmic.
_SKEWED = 4.0
# All values are shown if the outermost hundredth makes the axis longer by less than this factor.
_ALL = 1.6


@dataclass(frozen=True)
class Axis:
    """Axis with equal bins. low, high: ends, in the statistic's unit. log: bins are equal in the logarithm."""

    low: float
    high: float
    log: bool
    bins: int

    @property
    def start(self) -> float:
        """Start of the first bin, on the axis's own scale."""
        return math.log(self.low) if self.log else self.low

    @property
    def width(self) -> float:
        """Width of a bin, on the axis's own scale."""
        end = math.log(self.high) if self.log else self.high
        return (end - self.start) / self.bins

    @property
    def edges(self) -> list[float]:
        """Edges of the bins, in the statistic's unit: one more than bins."""
        places = [self.start + self.width * at for at in range(self.bins + 1)]
        return [math.exp(place) for place in places] if self.log else places


def axis_of(
    low: float | None,
    high: float | None,
    quantiles: Mapping[float, float],
    ends: Sequence[FilterBound],
    is_integer: bool,
) -> Axis | None:
    """Make an axis that shows nearly all values between `low` and `high`, and every bound that removes some.

    quantiles: at least 0.005, 0.5 and 0.995. Returns None for fewer than two distinct values.
    """
    if low is None or high is None or not quantiles or low == high:
        return None
    first, middle, last = quantiles[0.005], quantiles[0.5], quantiles[0.995]
    log = first > 0 and last > _SKEWED * middle
    if log and low > 0 and math.log(high / low) <= _ALL * math.log(last / first):
        first, last = low, high
    elif not log and high - low <= _ALL * (last - first):
        first, last = low, high
    if first == last:  # nearly all values are the same: show the others
        first, last = low, high
    for bound in ends:
        if low <= bound.value <= high:  # with a margin beyond the bound
            first = min(first, max(low, _beyond(bound.value, last, log, -1)))
            last = max(last, min(high, _beyond(bound.value, first, log, 1)))
    log = log and first > 0
    if is_integer and last - first < _BINS and not log:
        return Axis(math.floor(first) - 0.5, math.ceil(last) + 0.5, False, math.ceil(last) - math.floor(first) + 1)
    if not math.isfinite(last - first) or first + (last - first) / _BINS == first:
        return None
    if is_integer and not log:  # every bin holds the same number of whole values
        width = math.ceil((last - first + 1) / _BINS)
        return Axis(first - 0.5, first - 0.5 + width * _BINS, False, _BINS)
    return Axis(first, last, log, _BINS)


def _beyond(bound: float, other: float, log: bool, side: int) -> float:
    """A value with a margin beyond a bound. other: the axis's other end. side: -1 below the bound, 1 above."""
    if log and bound > 0 and other > 0:
        return bound * (max(bound, other) / min(bound, other)) ** (0.15 * side)
    return bound + side * 0.15 * max(abs(other - bound), abs(bound) * 0.1)
