"""From pairs to clusters: connected components, the kept sample of each, and the pair that explains each member."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.common.lazy_dataclass import dataclass
from refinery.compiler.deduplicators import key_name, statement
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.matchers.model import Pairs
from refinery.kernels.core.arrow import ints, numbers

# Least number of collected matches before they are merged.
_PENDING = 1 << 16


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


def cluster(found: Iterable[Pairs], keys: MatchKeys, order: Sequence[Any]) -> Clusters:
    """Join pairs to clusters. order: terms of the order that chooses survivors; empty: the first sample stays."""
    components, evidence = kernels.dedup.unionfind.Components(), Evidence()
    for pairs in found:
        components.add(pairs.row, pairs.via)
        evidence.add_both(pairs)
    row, root = components.labels()
    kept = _survivors(keys, row, root, order) if order and len(row) else root
    return Clusters(row, root, kept, *evidence.of(row))


class Evidence:
    """The match that explains each sample in a pair, independent of the order of the pairs.

    A match with an earlier sample is preferred to one with a later sample, then the lowest band or distance, then the
    first sample. Matches are merged once there are as many as known samples, because a merge per block would be slow.
    """

    def __init__(self) -> None:
        self._found = Pairs(*(np.zeros(0, kind) for kind in (np.int64, np.int64, np.int32, np.float64)))
        self._pending: list[Pairs] = []
        self._waiting = 0

    def add(self, pairs: Pairs) -> None:
        """Collect the matches that are preferred to the known ones."""
        better = self._better(pairs)
        self._pending.append(Pairs(*(values[better] for values in pairs)))
        self._waiting += int(better.sum())
        if self._waiting >= max(_PENDING, len(self._found.row)):
            self._take_in()

    def add_both(self, pairs: Pairs) -> None:
        """Collect the matches of both samples of each pair."""
        self.add(pairs)
        self.add(pairs._replace(row=pairs.via, via=pairs.row))

    def of(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The matches of samples that have one: via, how, and true Jaccard."""
        self._take_in()
        at = np.searchsorted(self._found.row, row)
        return self._found.via[at], self._found.how[at], self._found.jaccard[at]

    def _better(self, pairs: Pairs) -> np.ndarray:
        known = self._found
        if not len(known.row):
            return np.ones(len(pairs.row), np.bool_)
        at = np.minimum(np.searchsorted(known.row, pairs.row), len(known.row) - 1)
        rank, other = _rank(pairs), _rank(Pairs(*(values[at] for values in known)))
        closer = (rank < other) | ((rank == other) & (pairs.via < known.via[at]))
        return closer | (known.row[at] != pairs.row)

    def _take_in(self) -> None:
        found = Pairs(*(np.concatenate(values) for values in zip(self._found, *self._pending, strict=True)))
        order = np.lexsort((found.via, _rank(found), found.row))
        row = found.row[order]
        first = order[np.append(True, row[1:] != row[:-1])] if len(row) else order
        self._found = Pairs(*(values[first] for values in found))
        self._pending, self._waiting = [], 0


def _rank(pairs: Pairs) -> np.ndarray:
    return rank(pairs.row, pairs.via, pairs.how)


def rank(row: np.ndarray, via: np.ndarray, how: np.ndarray) -> np.ndarray:
    """Rank of matches; the lowest is preferred, and among equals the first `via`."""
    return ((via > row).astype(np.int64) << 32) + how


def _survivors(keys: MatchKeys, row: np.ndarray, root: np.ndarray, order: Sequence[Any]) -> np.ndarray:
    terms = [replace(term, column=key_name(term.column)) for term in order]
    with keys.relation("members", pa.table({"_row": ints(row), "root": ints(root)})):
        table = keys.con.sql(statement("survivors", order=terms)).to_arrow_table().sort_by("root")
    return numbers(table["kept"])[np.searchsorted(numbers(table["root"]), root)]
