"""Bounds of filters: the one meaning by which SQL is made, reasons are written, values are tried and ranges are drawn.

As Data-Juicer's filters decide: a bound that is null, or an upper bound of UNBOUNDED, is none. A bound belongs to the
range unless `min_closed_interval` or `max_closed_interval` is false. A reversed range keeps what lies outside of it; before
that, open and closed ends are swapped, so a value at a bound that belongs to the range is kept then as well. A sample
without the statistic (NULL) is in no range, and is never kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

# Data-Juicer's "no upper bound" (sys.maxsize), as its recipes and our headers write it.
UNBOUNDED = 2**63 - 1


@dataclass(frozen=True)
class FilterBound:
    """One end of a filter's range. name: the parameter. closed: the value itself is in the range."""

    name: str
    value: Any
    closed: bool = True

    def shown(self) -> FilterBound | None:
        """The bound as a float; None for one that is no number or that no value reaches."""
        is_number = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        return replace(self, value=float(self.value)) if is_number and not is_unlimited(self.value) else None


@dataclass(frozen=True)
class KeptRange:
    """Range that a filter keeps: from `low` to `high`; with `reversed` outside of it. None: no bound on that side."""

    low: FilterBound | None
    high: FilterBound | None
    reversed: bool = False

    @property
    def ends(self) -> list[FilterBound]:
        """The existing bounds."""
        return [bound for bound in (self.low, self.high) if bound is not None]

    @property
    def crossed(self) -> bool:
        """True if the lower bound is above the upper bound."""
        low, high = (end.value if end is not None else None for end in (self.low, self.high))
        return isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high

    @property
    def empty(self) -> bool:
        """True if no value lies between the bounds."""
        if self.low is None or self.high is None:
            return False
        return self.crossed or (self.low.value == self.high.value and not (self.low.closed and self.high.closed))

    def shown(self) -> KeptRange:
        """The range to be drawn, in numbers, without bounds that no value reaches."""
        low, high = (end and end.shown() for end in (self.low, self.high))
        return replace(self, low=low, high=high) if low or high else NO_RANGE


NO_RANGE = KeptRange(None, None)


def kept_range(params: Mapping[str, Any], low: str | None, high: str | None) -> KeptRange:
    """The range of a statistic by a filter's parameters. low, high: names of the parameters that bound it."""
    if low is None and high is None:
        return NO_RANGE
    reverse = bool(params.get("reversed_range"))
    lower = _end(params, low, "min_closed_interval", reverse)
    upper = _end(params, high, "max_closed_interval", reverse)
    unbounded = upper is not None and isinstance(upper.value, (int, float)) and upper.value == UNBOUNDED
    return KeptRange(lower, None if unbounded else upper, reverse)


def _end(params: Mapping[str, Any], name: str | None, closed: str, reverse: bool) -> FilterBound | None:
    value = params.get(name) if name is not None else None
    return (
        None if name is None or value is None else FilterBound(name, value, bool(params.get(closed, True)) != reverse)
    )


def is_unlimited(value: Any) -> bool:
    """Return whether a value is a number so large that no statistic reaches it."""
    return isinstance(value, (int, float)) and abs(value) >= UNBOUNDED
