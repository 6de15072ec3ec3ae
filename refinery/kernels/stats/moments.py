"""Moments of values by key, and Python's rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refinery.kernels.stats import moment_sums


@dataclass(frozen=True)
class Moments:
    """Moments as arrays with one item per key; where n is 0, mean, min, max and total are meaningless.

    n counts the finite values, and only these enter the other fields; nans and infinities count the rest. m2: sum of
    squared distances from the mean.
    """

    n: np.ndarray
    mean: np.ndarray
    m2: np.ndarray
    min: np.ndarray
    max: np.ndarray
    total: np.ndarray
    nans: np.ndarray
    infinities: np.ndarray

    @property
    def seen(self) -> np.ndarray:
        """True for keys that have any value."""
        return (self.n + self.nans + self.infinities) > 0

    def at(self, places: np.ndarray) -> Moments:
        """Moments of some keys."""
        return Moments(**{name: column[places] for name, column in vars(self).items()})


def moments(codes: np.ndarray | None, count: int, values: np.ndarray, valid: np.ndarray | None = None) -> Moments:
    """Moments of float64 `values` for each of `count` keys.

    codes: the key of each value, int64 from 0 to count - 1; None: all are of key 0. valid: False for missing values.
    Sums are taken in the order of the values. Distances are from a value near the mean; the remaining difference from
    the mean then corrects both sums, so that large values close to each other lose no precision.
    """
    if codes is None:
        return _of_all(values, valid)
    n, nans, infinities = (np.zeros(count, np.int64) for _ in range(3))
    total, rest, squares = (np.zeros(count) for _ in range(3))
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    counted = np.ones(0, np.bool_) if valid is None else np.require(valid, requirements="W")  # one signature
    moment_sums.add(codes, values, counted, n, total, low, high, nans, infinities)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        near = total / n
        moment_sums.spread(codes, values, counted, near, rest, squares)
        return _moments(n, near, rest, squares, low, high, total, nans, infinities)


def ones(codes: np.ndarray, count: int) -> Moments:
    """Moments of the value 1 for each key: the number of times that the key is in `codes`."""
    n = np.bincount(codes, minlength=count)
    one, none = np.ones(count), np.zeros(count, np.int64)
    return Moments(n, one, np.zeros(count), one, one, n.astype(np.float64), none, none)


def _of_all(values: np.ndarray, valid: np.ndarray | None) -> Moments:
    """Moments of all values under one key; numpy sums in parts, which loses less precision."""
    values = values if valid is None else values[valid]
    finite = np.isfinite(values)
    nans = int(np.isnan(values).sum())
    taken = values if finite.all() else values[finite]
    infinities = np.array([len(values) - len(taken) - nans])
    n = np.array([len(taken)])
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        total = np.array([taken.sum()])
        near = total / n
        apart = taken - near[0]
        rest = np.array([apart.sum()])
        squares = np.array([np.multiply(apart, apart, out=apart).sum()])
        low = np.array([taken.min(initial=np.inf)])
        high = np.array([taken.max(initial=-np.inf)])
        return _moments(n, near, rest, squares, low, high, total, np.array([nans]), infinities)


def _moments(
    n: np.ndarray, near: np.ndarray, rest: np.ndarray, squares: np.ndarray, low: np.ndarray, high: np.ndarray,
    total: np.ndarray, nans: np.ndarray, infinities: np.ndarray,
) -> Moments:  # fmt: skip
    """Moments from sums. near: a value near the mean; rest, squares: sums of distances from it and their squares."""
    m2 = np.where(low < high, np.maximum(squares - rest * rest / n, 0.0), 0.0)
    mean = np.where(low == high, low, near + rest / n)
    return Moments(n, mean, m2, low, high, total, nans, infinities)


def rounded(values: np.ndarray, digits: int) -> np.ndarray:
    """Round values (float64 or int64) as Python's `round(value, digits)`: by the exact decimal, ties to even."""
    if values.dtype == np.int64:
        return values if digits >= 0 else _round_whole(values, 10**-digits)
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = values * 10.0**digits if digits >= 0 else values / 10.0**-digits
        near = np.rint(scaled)
        result = near / 10.0**digits if digits >= 0 else near * 10.0**-digits
        # Arithmetic decides far from a tie; the digits themselves decide near a tie or for a large number.
        unclear = (np.abs(scaled) >= 1e9) | (np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) <= 1e-6)
    at = np.flatnonzero(unclear & np.isfinite(values))
    result[at] = [round(value, digits) for value in values[at].tolist()]
    return np.where(np.isfinite(values), result, values)


def _round_whole(values: np.ndarray, step: int) -> np.ndarray:
    down, rest = np.divmod(values, step)
    up = (2 * rest > step) | ((2 * rest == step) & (down % 2 == 1))
    return (down + up) * step
