"""Moments of values by key, and rounding as Python does it: numpy alone, so that nothing has to be compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Moments:
    """Arrays with one item for each key; where n is 0, mean, min, max and total mean nothing.

    n counts the finite values, which alone enter the others; nans and infinities count the rest. m2: sum of squared
    distances from the mean.
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
        """Whether there is any value of the key."""
        return (self.n + self.nans + self.infinities) > 0

    def at(self, places: np.ndarray) -> Moments:
        """Those of some keys."""
        return Moments(**{name: column[places] for name, column in vars(self).items()})


def moments(codes: np.ndarray | None, count: int, values: np.ndarray, valid: np.ndarray | None = None) -> Moments:
    """Moments of float64 `values` for each of `count` keys.

    codes: the key of each value, int64 from 0 to count - 1; None: all are of key 0. valid: False for what is no value.
    Sums are taken in the order of the values. Distances are from a value near the mean, and what is left of the mean then
    corrects both, so that large values close to each other lose nothing.
    """
    odd = ~np.isfinite(values)
    nans = infinities = np.zeros(count, np.int64)
    taken = ~odd if valid is None else valid & ~odd
    if odd.any():
        other = odd if valid is None else valid & odd
        nans = _sizes(codes, count, other & np.isnan(values))
        infinities = _sizes(codes, count, other) - nans
    if not taken.all():
        values, codes = values[taken], None if codes is None else codes[taken]
    n = np.array([len(values)]) if codes is None else np.bincount(codes, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        total = _sums(codes, count, values)
        near = total / n
        apart = values - (near[0] if codes is None else near[codes])
        rest = _sums(codes, count, apart)
        squares = _sums(codes, count, apart * apart)
        low, high = _ends(codes, count, values)
        m2 = np.where(low < high, np.maximum(squares - rest * rest / n, 0.0), 0.0)
        mean = np.where(low == high, low, near + rest / n)
        return Moments(n, mean, m2, low, high, total, nans, infinities)


def _sizes(codes: np.ndarray | None, count: int, chosen: np.ndarray) -> np.ndarray:
    return np.array([chosen.sum()]) if codes is None else np.bincount(codes[chosen], minlength=count)


def _sums(codes: np.ndarray | None, count: int, values: np.ndarray) -> np.ndarray:
    if codes is None:
        return np.array([values.sum()])
    return np.bincount(codes, weights=values, minlength=count).astype(np.float64)  # of nothing it gives integers


def _ends(codes: np.ndarray | None, count: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    if codes is not None:
        np.minimum.at(low, codes, values)
        np.maximum.at(high, codes, values)
    elif len(values):
        low[0], high[0] = values.min(), values.max()
    return low, high


def rounded(values: np.ndarray, digits: int) -> np.ndarray:
    """Each of the values (float64 or int64) as Python's `round(value, digits)` gives it: by the exact decimal, ties to even."""
    if values.dtype == np.int64:
        return values if digits >= 0 else _round_whole(values, 10**-digits)
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = values * 10.0**digits if digits >= 0 else values / 10.0**-digits
        near = np.rint(scaled)
        found = near / 10.0**digits if digits >= 0 else near * 10.0**-digits
        # Arithmetic decides where a tie is far; the digits themselves where it is near, or the number is large.
        unclear = (np.abs(scaled) >= 1e9) | (np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) <= 1e-6)
    at = np.flatnonzero(unclear & np.isfinite(values))
    found[at] = [round(value, digits) for value in values[at].tolist()]
    return np.where(np.isfinite(values), found, values)


def _round_whole(values: np.ndarray, step: int) -> np.ndarray:
    down, rest = np.divmod(values, step)
    up = (2 * rest > step) | ((2 * rest == step) & (down % 2 == 1))
    return (down + up) * step
