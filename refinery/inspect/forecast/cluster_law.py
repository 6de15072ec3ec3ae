"""Duplicates of the whole input, estimated from the clusters among sampled rows.

A cluster of s rows shows as k rows of a sample that takes each row with probability p: k is binomial. A pair is in the
sample with probability p * p, so duplicates of a sample can't be scaled by 1 / p as rows are. Clusters of many sampled
rows are measured one by one: k / p rows. For the others, laws of their sizes are fitted to the number of clusters of
k = 2, 3... sampled rows, by Poisson likelihood. The likeliest law gives the estimate. The bounds are the extremes of all laws
that the sample doesn't contradict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

# Clusters of this many sampled rows are measured one by one; others are fitted.
MEASURED = 10
# Exponents of power laws. Numbers of clusters that are tried: factors of the likeliest one.
_EXPONENTS = np.concatenate([np.linspace(1.2, 6, 49), [8.0, 20.0]])
_FACTORS = np.exp(np.linspace(-4, 4, 161))
# Drop of the log-likelihood for 95 % of two parameters: half of the chi-square quantile. Standard errors on both sides.
_DROP, _Z = 2.996, 1.96
# Sizes up to this one are listed one by one, larger ones in steps of 5 %.
_EACH, _STEP = 64, 1.05
# Of two sizes, the larger one is coarser, and has these shares of the clusters.
_COARSE, _SHARES = 1.25, (0.5, 0.2, 0.05, 0.01, 0.001)


# Rows that clusters of some sizes lose.
Loss = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Removed:
    """Estimated rows that a deduplicator removes, with bounds of 95 %. law: of the sizes of clusters, in words."""

    rows: float
    low: float
    high: float
    law: str


def all_but_one(sizes: np.ndarray) -> np.ndarray:
    """The rows that clusters of some sizes lose where one of each stays."""
    return sizes - 1


def all_beyond(most: int) -> Loss:
    """The loss where clusters of more than `most` rows go, and others stay."""
    return lambda sizes: np.where(sizes > most, sizes, 0.0)


def removed_rows(clusters: Mapping[int, int], share: float, rows: float, loss: Loss = all_but_one) -> Removed:
    """The rows that clusters lose.

    clusters: number of clusters by their sampled rows, 2 and up. share: probability of a row to be sampled. rows: of the
    whole input. loss: rows that clusters of some sizes lose.
    """
    large = {k: count for k, count in clusters.items() if k >= MEASURED}
    sampled = sum(k * count for k, count in large.items())
    measured = sum(float(loss(np.array([k / share]))[0]) * count for k, count in large.items())
    error = _Z * np.sqrt(sampled * (1 - share)) / share
    seen = np.array([clusters.get(k, 0) for k in range(2, MEASURED)], float)
    fit = _fitted(list(_laws(share, max(0.0, rows - sampled / share), loss)), seen)
    least = sum(
        float(loss(np.array([float(k)]))[0]) * count for k, count in clusters.items()
    )  # those of the sample itself
    value = max(least, min(rows - 1, measured + fit.rows))
    low = min(value, max(least, measured - error + fit.low))
    high = max(value, min(rows - 1, measured + error + fit.high))
    several = f"{sum(large.values()):,} measured cluster{'' if sum(large.values()) == 1 else 's'}"
    return Removed(float(value), float(low), float(high), f"{several}; others: {fit.law}" if large else fit.law)


@dataclass(frozen=True)
class _Family:
    """Laws of one kind: for each, the relative frequency of every size.

    most: of each law, the clusters by which its frequencies can be multiplied at most. fixed: it has exactly those. parameters: that
    tell its laws apart. name: of a law in words, by its number.
    """

    shown: np.ndarray
    visible: np.ndarray
    removed: np.ndarray
    most: np.ndarray
    fixed: bool
    parameters: int
    name: Callable[[int], str]


def _fitted(families: list[_Family], seen: np.ndarray) -> Removed:
    """The likeliest law, one parameter more being worth a factor of e, with the extremes of all that are nearly as likely.

    Laws with more parameters widen the bounds only: they follow chance too closely to be an estimate.
    """
    none = 0.0 if not seen.any() else -np.inf
    likelihoods, removed, penalties = [np.array([[none]])], [np.zeros((1, 1))], [0.0]
    names: list[Callable[[int], str]] = [lambda _: "no duplicates"]
    for family in families:
        amounts = _amounts(family, seen)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = _logs(family.shown, seen)
            likelihood = logs[:, None] + seen.sum() * np.log(amounts) - amounts * family.visible[:, None]
        constant = seen[seen > 0] @ np.log(seen[seen > 0]) - seen.sum() if seen.any() else 0.0
        likelihoods.append(np.nan_to_num(likelihood - constant, nan=-np.inf))
        penalties.append(family.parameters - 1.0)
        removed.append(amounts * family.removed[:, None])
        names.append(family.name)
    simple = [place for place, penalty in enumerate(penalties) if penalty <= 1]
    best = max(simple, key=lambda place: likelihoods[place].max() - penalties[place])
    law, factor = np.unravel_index(likelihoods[best].argmax(), likelihoods[best].shape)
    highest = max(likelihoods[place].max() for place in simple)
    likely = np.concatenate([r[value >= highest - _DROP] for value, r in zip(likelihoods, removed, strict=True)])
    return Removed(float(removed[best][law, factor]), float(likely.min()), float(likely.max()), names[best](int(law)))


def _logs(shown: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The logarithms of the sizes that are seen, weighted by their number."""
    some = seen > 0
    return np.log(shown[:, some]) @ seen[some]


def _amounts(family: _Family, seen: np.ndarray) -> np.ndarray:
    """The numbers of clusters that are tried, a row for each law."""
    if family.fixed:
        return family.most[:, None]
    likeliest = max(float(seen.sum()), 1.0) / family.visible
    return np.minimum(likeliest[:, None] * _FACTORS, family.most[:, None])


def _laws(share: float, room: float, loss: Loss) -> Iterator[_Family]:
    """The families of laws. room: rows that are in no measured cluster."""
    sizes = _sizes(share, room)
    if not len(sizes):
        return
    widths = np.diff(np.append(sizes, sizes[-1] * _STEP if sizes[-1] >= _EACH else sizes[-1] + 1))
    shown, rest = _shown(sizes, share), np.log1p(-min(share, 1 - 1e-12))
    visible = -np.expm1(sizes * rest) - sizes * share * np.exp((sizes - 1) * rest)  # of 2 rows or more

    def family(weights: np.ndarray, name: Callable[[int], str], single: np.ndarray | None = None) -> _Family:
        held = weights @ sizes + (0 if single is None else single)
        figures = weights @ shown, weights @ visible, weights @ loss(sizes), room / held
        return _Family(*figures, single is not None, 2 if single is None else 1, name)

    powers = sizes ** -_EXPONENTS[:, None] * widths
    yield family(powers, lambda law: f"sizes by a power law, exponent {_EXPONENTS[law]:.1f}, and rows without a copy")
    yield family(np.eye(len(sizes)), lambda law: f"clusters of about {sizes[law]:,.0f} rows, and rows without a copy")
    yield family(powers, lambda law: f"sizes by a power law, exponent {_EXPONENTS[law]:.1f}", np.ones(len(powers)))
    pairs, weights = _of_two_sizes(sizes)
    if pairs:
        two = "clusters of about {:,.0f} rows, some of about {:,.0f}, and rows without a copy"
        yield replace(family(weights, lambda law: two.format(*pairs[law])), parameters=3)


def _of_two_sizes(sizes: np.ndarray) -> tuple[list[tuple[float, float]], np.ndarray]:
    """The sizes and the relative frequencies of laws with two sizes."""
    coarse, last = [], 0.0
    for place, size in enumerate(sizes):
        if size >= last * _COARSE:
            coarse.append(place)
            last = size
    found, rows = [], []
    for number, small in enumerate(coarse):
        for large in coarse[number + 1 :]:
            for share in _SHARES:
                weights = np.zeros(len(sizes))
                weights[small], weights[large] = 1 - share, share
                found.append((float(sizes[small]), float(sizes[large])))
                rows.append(weights)
    return found, np.array(rows)


def _sizes(share: float, room: float) -> np.ndarray:
    """Sizes of clusters of which fewer than MEASURED rows are expected in the sample."""
    most = min(room, MEASURED / share)
    each = np.arange(2, min(_EACH, most) + 1)
    steps = _EACH * _STEP ** np.arange(1, 1 + max(0, int(np.log(max(1.0, most / _EACH)) / np.log(_STEP))))
    return np.concatenate([each, steps])


def _shown(sizes: np.ndarray, share: float) -> np.ndarray:
    """Probability that a cluster of each size has k = 2, 3... sampled rows."""
    columns = []
    for k in range(2, MEASURED):
        ways = sum(np.log(np.maximum(sizes - taken, 1e-300)) - np.log(taken + 1) for taken in range(k))
        rest = np.log1p(-min(share, 1 - 1e-12)) * (sizes - k)
        columns.append(np.where(sizes >= k, np.exp(ways + k * np.log(share) + rest), 0.0))
    return np.stack(columns, axis=1)
