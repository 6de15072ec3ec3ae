"""Direct comparison of samples within a connected component, for `cluster: star` and `verify: kept`.

A sample goes only if it is itself like one that stays. In the order of `keep`, each member is compared with those that stay so far:
the first of these that is like it takes it along; a member that is like none of them stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from refinery import kernels
from refinery.dedup.clusters import Clusters
from refinery.kernels.core.arrow import ints

# Place of the sample that stays, `how` and true Jaccard (or NaN) of the match.
Match = tuple[int, int, float]


class Direct(Protocol):
    """Comparison of the members of one component after another, by their places in the arrays."""

    def begin(self) -> None:
        """Forget the samples that stay."""

    def match(self, at: int) -> Match | None:
        """The match with the first sample that stays and is like a member; None if there is none."""

    def keep(self, at: int) -> None:
        """Remember a member that stays."""


def stars(links: Sequence[np.ndarray], preferred: np.ndarray, direct: Direct) -> Clusters:
    """Clusters in which every sample is like the one that stays.

    links: `_row`, root, via, how and true Jaccard of each sample, as `linked.links` has them. preferred: places of the samples, component
    by component, each in the order of preference. A component of two is a pair, so its link is direct.
    """
    row, root, via, how, jaccard = (np.array(values) for values in links)
    kept = row.copy()
    for members in _components(root[preferred], preferred):
        if len(members) == 2:
            kept[members[1]] = via[members[1]] = row[members[0]]
            continue
        direct.begin()
        for at in members.tolist():
            if (found := direct.match(at)) is None:
                direct.keep(at)
            else:
                kept[at] = via[at] = row[found[0]]
                how[at], jaccard[at] = found[1:]
    return Clusters(row, kept, kept, via, how, jaccard)


def _components(root: np.ndarray, preferred: np.ndarray) -> Iterator[np.ndarray]:
    starts = np.flatnonzero(np.append(True, root[1:] != root[:-1])[: len(root)])
    yield from np.split(preferred, starts[1:])


class DirectBands:
    """Samples that share a band, and are truly similar where `shingles` are given.

    bands: of each sample, uint64. shingles: sorted distinct shingles of each sample, a list array. threshold: of their similarity.
    """

    def __init__(self, bands: np.ndarray, shingles: Any = None, threshold: float = 0.0) -> None:
        self._bands, self._shingles, self._threshold = bands, shingles, threshold
        self.begin()

    def begin(self) -> None:
        """Forget the samples that stay."""
        self._kept: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._order: dict[int, int] = {}

    def match(self, at: int) -> Match | None:
        """The match with the first sample that stays, shares a band and is similar; without shingles, by the lowest band."""
        candidates: dict[int, int] = {}
        for key in enumerate(self._bands[at].tolist()):
            for one in self._kept.get(key, ()):
                candidates.setdefault(one, key[0])
        if not candidates:
            return None
        if self._shingles is None:
            one, band = next(iter(candidates.items()))
            return one, band, np.nan
        return self._similar(at, candidates)

    def _similar(self, at: int, candidates: dict[int, int]) -> Match | None:
        places = sorted(candidates, key=self._order.__getitem__)
        here, there = (self._shingles.take(ints(np.array(rows))) for rows in ([at] * len(places), places))
        similar = kernels.dedup.jaccard.jaccard(here, there).to_numpy(zero_copy_only=False)
        alike = np.flatnonzero(similar >= self._threshold)
        if not len(alike):
            return None
        one = places[alike[0]]
        return one, candidates[one], float(similar[alike[0]])

    def keep(self, at: int) -> None:
        """Remember a member that stays."""
        self._order[at] = len(self._order)
        for key in enumerate(self._bands[at].tolist()):
            self._kept[key].append(at)


class DirectDistance:
    """Samples whose SimHashes differ in at most `distance` bits."""

    def __init__(self, values: np.ndarray, distance: int) -> None:
        self._values, self._distance = values, distance
        self.begin()

    def begin(self) -> None:
        """Forget the samples that stay."""
        self._kept: list[int] = []

    def match(self, at: int) -> Match | None:
        """The match with the first sample that stays and is near."""
        if not self._kept:
            return None
        differing = (self._values[self._kept] ^ self._values[at]).view(np.uint8).reshape(-1, 8)
        bits = np.unpackbits(differing, axis=1).sum(axis=1)
        near = np.flatnonzero(bits <= self._distance)
        return (self._kept[near[0]], int(bits[near[0]]), np.nan) if len(near) else None

    def keep(self, at: int) -> None:
        """Remember a member that stays."""
        self._kept.append(at)


class DirectCosine:
    """Samples whose embeddings have a cosine of at least `threshold`. steps: of a cosine in `how`."""

    def __init__(self, vectors: np.ndarray, threshold: float, steps: int) -> None:
        self._vectors, self._threshold, self._steps = vectors, threshold, steps
        self._squares = kernels.dedup.cosines.squares(vectors)
        self.begin()

    def begin(self) -> None:
        """Forget the samples that stay."""
        self._kept: list[int] = []

    def match(self, at: int) -> Match | None:
        """The match with the first sample that stays and points in the same direction."""
        if not self._kept:
            return None
        others = np.array(self._kept, np.int64)
        cosines = kernels.dedup.cosines.cosines(self._vectors, self._squares, np.full(len(others), at), others)
        alike = np.flatnonzero(cosines >= self._threshold)
        if not len(alike):
            return None
        return self._kept[alike[0]], int(np.rint((1 - cosines[alike[0]]) * self._steps)), np.nan

    def keep(self, at: int) -> None:
        """Remember a member that stays."""
        self._kept.append(at)


class DirectKeys:
    """Samples with equal keys: all members of a component are."""

    def begin(self) -> None:
        """Forget the sample that stays."""
        self._kept = -1

    def match(self, at: int) -> Match | None:
        """The match with the sample that stays."""
        return (self._kept, 0, np.nan) if self._kept >= 0 else None

    def keep(self, at: int) -> None:
        """Remember the sample that stays."""
        self._kept = at
