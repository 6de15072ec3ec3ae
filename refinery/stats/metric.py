"""The summary of one statistic under one key, as an object: values are added to it, summaries add up, and JSON entries are read and written.

The forms of entries and the rules of reading are those of `refinery.stats.entries`. Sums are formed as exact fractions and rounded once,
so that means and variances are right also where values are much larger than their distances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from refinery.errors import DataError

_LARGEST = math.nextafter(math.inf, 0.0)
# The rest of a mean is written only where it counts beside the spread.
_NOTHING = 1e-14


@dataclass
class MetricStats:
    """Count, total, mean, spread and bounds of values.

    n: of finite values, which alone count in the fields before it. m2: sum of squared distances from the mean. mean_low: the mean minus its
    nearest DOUBLE. unit: what the values are of. nans, infinities: values that are not finite.
    """

    total: float = 0.0
    n: int = 0
    mean: float = 0.0
    min: float = math.inf
    max: float = -math.inf
    m2: float = 0.0
    unit: str = "doc"
    mean_low: float = 0.0
    nans: int = 0
    infinities: int = 0

    def update(self, x: float, unit: str | None = None) -> None:
        """Add a value."""
        self.__dict__.update((self + MetricStats.of(x, unit or self.unit)).__dict__)

    @staticmethod
    def of(x: float, unit: str = "doc") -> MetricStats:
        """The summary of one value."""
        if not math.isfinite(x):
            return MetricStats(unit=unit, nans=int(math.isnan(x)), infinities=int(math.isinf(x)))
        return MetricStats(x, 1, x, x, x, unit=unit)

    @property
    def variance(self) -> float:
        """The variance of a sample, with n - 1; 0 of fewer than two values."""
        return self.m2 / (self.n - 1) if self.n > 1 else 0.0

    @property
    def standard_deviation(self) -> float:
        """The root of the variance."""
        return math.sqrt(self.variance)

    def __add__(self, other: Any) -> MetricStats:
        """The summary of the values of both. other: a summary, or an entry of a statistics file."""
        if not isinstance(other, MetricStats):
            other = MetricStats.from_dict(other)
        n = self.n + other.n
        own, theirs = self._exact_mean(), other._exact_mean()
        mean = (self.n * own + other.n * theirs) / n if n else Fraction(0)
        between = (own - theirs) ** 2 * self.n * other.n / n if n else Fraction(0)
        near = _rounded(mean)
        return MetricStats(
            total=_rounded(Fraction(self.total) + Fraction(other.total)),
            n=n,
            mean=near,
            min=min(self.min, other.min),
            max=max(self.max, other.max),
            m2=_rounded(Fraction(self.m2) + Fraction(other.m2) + between),
            unit=self.unit if self.unit != "doc" else other.unit,
            mean_low=_rounded(mean - Fraction(near)),
            nans=self.nans + other.nans,
            infinities=self.infinities + other.infinities,
        )

    def __radd__(self, other: Any) -> MetricStats:
        """The same with the sides exchanged; 0 is where `sum` begins, not a value."""
        return self if isinstance(other, int) and other == 0 else self + other

    def _exact_mean(self) -> Fraction:
        return Fraction(self.mean) + Fraction(self.mean_low)

    def to_dict(self) -> dict[str, Any]:
        """The entry of a statistics file. It always has n; a spread and bounds where values differ."""
        entry: dict[str, Any] = {"total": self.total, "n": self.n, "mean": self.mean}
        if self.n == 0 or not (self.mean == self.min == self.max and self.m2 == 0):
            low, high = (self.min, self.max) if self.n else (_LARGEST, -_LARGEST)
            entry |= {"variance": self.variance, "std_dev": self.standard_deviation, "min": low, "max": high}
        if self.unit != "doc":
            entry["unit"] = self.unit
        entry |= {name: count for name in ("nans", "infinities") if (count := getattr(self, name))}
        if abs(self.mean_low) > _NOTHING * self.standard_deviation:
            entry["mean_low"] = self.mean_low
        return entry

    @classmethod
    def from_dict(cls, data: Any) -> MetricStats:
        """The summary that an entry of a statistics file stands for. Raises DataError for an entry without meaning."""
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            return cls.of(data, "task")
        if not isinstance(data, dict) or data.get("total") is None:
            raise DataError(f"{data!r} is no entry of a statistics file: a number, or an object with a total")
        mean = data.get("mean", 1)
        n: Any = data.get("n", data["total"] if mean == 1 else 1)
        if not isinstance(n, (int, float)) or n != int(n) or n < 0:
            raise DataError(f"an entry of a statistics file has an n of {n!r}, which is not a whole number")
        return cls._read(data, int(n), mean)

    @classmethod
    def _read(cls, data: dict[str, Any], n: int, mean: float) -> MetricStats:
        """The summary of an object. A NaN or an infinity makes all of its values useless."""
        unit, nans, infinities = data.get("unit", "doc"), data.get("nans", 0), data.get("infinities", 0)
        if not math.isfinite(mean):
            bad = int(math.isnan(mean))
            return cls(unit=unit, nans=nans + n * bad, infinities=infinities + n * (1 - bad))
        summary = cls(data["total"], n, mean, unit=unit, nans=nans, infinities=infinities)
        summary.mean_low = data.get("mean_low", 0.0)
        summary.m2 = data.get("variance", 0.0) * max(n - 1, 0)
        if n:
            summary.min, summary.max = data.get("min", mean), data.get("max", mean)
        return summary


def _rounded(value: Fraction) -> float:
    """The nearest DOUBLE; the largest one of what is beyond it."""
    try:
        return float(value)
    except OverflowError:
        return _LARGEST if value > 0 else -_LARGEST
