"""Meaning and sums of entries of statistics files, in plain Python and exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass
class Meaning:
    """n, mean and M2 as fractions, as the rules of reading give them."""

    n: int
    mean: Fraction
    m2: Fraction
    min: float
    max: float
    total: Fraction
    unit: str


def meaning(entry: Any) -> Meaning:
    """The meaning of one entry."""
    if not isinstance(entry, dict):
        return Meaning(1, Fraction(entry), Fraction(0), entry, entry, Fraction(entry), "task")
    mean = entry.get("mean", 1)
    n = int(entry.get("n", entry["total"] if mean == 1 else 1))
    m2 = Fraction(entry.get("variance", 0)) * max(n - 1, 0)
    low, high = entry.get("min", mean), entry.get("max", mean)
    if n == 0 and low > high:
        low, high = math.inf, -math.inf
    exact = Fraction(mean) + Fraction(entry.get("mean_low", 0))
    return Meaning(n, exact, m2, low, high, Fraction(entry["total"]), entry.get("unit", "doc"))


def added(entries: Iterable[Any]) -> Meaning:
    """The sum of entries."""
    parts = [meaning(entry) for entry in entries]
    n = sum(part.n for part in parts)
    mean = sum((part.n * part.mean for part in parts), Fraction()) / n if n else Fraction()
    return Meaning(
        n,
        mean,
        sum((part.m2 + part.n * (part.mean - mean) ** 2 for part in parts), Fraction()),
        min(part.min for part in parts),
        max(part.max for part in parts),
        sum((part.total for part in parts), Fraction()),
        next((part.unit for part in parts if part.unit != "doc"), "doc"),
    )


def close(found: float, expected: Fraction | float, size: float = 0.0, rel: float = 1e-9) -> bool:
    """Return whether a number is right to a relative tolerance. size: the greatest number that went into a sum."""
    exact = Fraction(expected)
    return abs(Fraction(found) - exact) <= rel * abs(exact) + Fraction(rel) * Fraction(size) / 10**4
