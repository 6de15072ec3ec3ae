"""From pairs to clusters: connected components, the kept sample of each, and the pair that explains each member."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.dedup.matchers.model import Pairs
from refinery.kernels.core.arrow import ints


@dataclass(frozen=True)
class Clusters:
    """Samples with a match, by number. row: ascending. root: the first sample of the cluster. kept: the survivor.

    via, how, jaccard: the match that brought the sample into its cluster (see Pairs).
    """

    row: np.ndarray
    root: np.ndarray
    kept: np.ndarray
    via: np.ndarray
    how: np.ndarray
    jaccard: np.ndarray

    @property
    def removed(self) -> np.ndarray:
        """Mask of the removed samples: all but the survivors and the samples of an index, whose numbers are below 0."""
        return (self.row != self.kept) & (self.row >= 0)

    def sizes(self) -> np.ndarray:
        """Number of members in the cluster of each sample."""
        _, inverse, counts = np.unique(self.root, return_inverse=True, return_counts=True)
        return counts[inverse]


def matches_of(clusters: Clusters) -> pa.Table:
    """The match of each removed sample: `_row`, `kept`, `via`, `how`, `jaccard` (NULL where it was not computed)."""
    gone = clusters.removed
    columns = {name: ints(getattr(clusters, name)[gone]) for name in ("row", "kept", "via", "how")}
    jaccard = clusters.jaccard[gone]
    return pa.table({"_row": columns.pop("row"), **columns, "jaccard": ints(jaccard, ~np.isnan(jaccard))})


def explained(tables: Iterable[Pairs]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Samples in a pair, ascending, the first sample of each one's component, and the match that explains it.

    The match: via, how, jaccard. Nothing depends on the order of the pairs.
    """
    components = kernels.dedup.unionfind.Components()
    matches = _Matches()
    for pairs in tables:
        matches.add(pairs, *components.add(pairs.row, pairs.via), components.count)
    row, root, places = components.labels()
    return row, root, *matches.of(places)


class _Matches:
    """The match that explains each sample, by the sample's place; see `kernels.dedup.explained`."""

    def __init__(self) -> None:
        self._known = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float64)

    def add(self, pairs: Pairs, row_places: np.ndarray, via_places: np.ndarray, count: int) -> None:
        """Enter the matches of both samples of each pair. count: of the samples that have places."""
        self._make_room(count)
        row, via = (np.ascontiguousarray(rows, np.int64) for rows in (pairs.row, pairs.via))
        how, jaccard = np.ascontiguousarray(pairs.how, np.int32), np.ascontiguousarray(pairs.jaccard, np.float64)
        explain = kernels.dedup.explained.explain
        explain(row_places, row, via, how, jaccard, *self._known)
        explain(via_places, via, row, how, jaccard, *self._known)

    def of(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The matches of samples: via, how, and true Jaccard."""
        via, how, jaccard = (values[places] for values in self._known)
        return via, how, jaccard

    def _make_room(self, count: int) -> None:
        via, how, jaccard = self._known
        if count > len(how):
            unknown = np.full(max(count - len(how), len(how)), kernels.dedup.explained.NONE, np.int32)
            room = np.empty(len(unknown))
            self._known = np.append(via, room.view(np.int64)), np.append(how, unknown), np.append(jaccard, room)


def rank(row: np.ndarray, via: np.ndarray, how: np.ndarray) -> np.ndarray:
    """Rank of matches; the lowest is preferred, and among equals the first `via`."""
    return ((via > row).astype(np.int64) << 32) + how
