"""From pairs to clusters: connected components, the sample of each that stays, and the pair that explains each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.deduplication.marks import Marks, statement
from refinery.deduplication.pairs import Pairs
from refinery.kernels.unionfind import Components


@dataclass(frozen=True)
class Clusters:
    """Samples that have any match, by number. row: ascending. root: the first of its cluster. kept: the survivor.

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
        """Which of the samples go: all but the survivors, and none of an index, whose numbers are below 0."""
        return (self.row != self.kept) & (self.row >= 0)

    def sizes(self) -> np.ndarray:
        """Members of the cluster of each sample."""
        _, inverse, counts = np.unique(self.root, return_inverse=True, return_counts=True)
        return counts[inverse]


def cluster(found: Iterable[Pairs], marks: Marks, order: Sequence[Any]) -> Clusters:
    """Join pairs to clusters. order: terms of the order in which survivors are chosen; empty: the first stays."""
    components, earlier, later = Components(), _Evidence(), _Evidence()
    for pairs in found:
        components.add(pairs.row, pairs.via)
        earlier.add(pairs)
        later.add(pairs._replace(row=pairs.via, via=pairs.row))
    row, root = components.labels()
    kept = _survivors(marks, row, root, order) if order and len(row) else root
    via, how, jaccard = (np.where(earlier.has(row), *both) for both in zip(earlier.of(row), later.of(row), strict=True))
    return Clusters(row, root, kept, via, how, jaccard)


class _Evidence:
    """The first match of every sample that has one."""

    def __init__(self) -> None:
        self._found = Pairs(*(np.zeros(0, kind) for kind in (np.int64, np.int64, np.int32, np.float64)))

    def add(self, pairs: Pairs) -> None:
        """Take note of matches of samples that have none yet."""
        row, first = np.unique(pairs.row, return_index=True)
        new = first[~self.has(row)]
        joined = [np.concatenate((old, values[new])) for old, values in zip(self._found, pairs, strict=True)]
        order = np.argsort(joined[0], kind="stable")
        self._found = Pairs(*(values[order] for values in joined))

    def has(self, row: np.ndarray) -> np.ndarray:
        """Which samples have a match."""
        at = self._at(row)
        return self._found.row[at] == row if len(self._found.row) else np.zeros(len(row), np.bool_)

    def of(self, row: np.ndarray) -> tuple[np.ndarray, ...]:
        """The matches of samples; anything for those that have none."""
        if not len(self._found.row):
            return row, np.zeros(len(row), np.int32), np.full(len(row), np.nan)
        return tuple(values[self._at(row)] for values in self._found[1:])

    def _at(self, row: np.ndarray) -> np.ndarray:
        return np.minimum(np.searchsorted(self._found.row, row), max(len(self._found.row) - 1, 0))


def _survivors(marks: Marks, row: np.ndarray, root: np.ndarray, order: Sequence[Any]) -> np.ndarray:
    with marks.relation("members", pa.table({"_row": row, "root": root})):
        table = marks.con.sql(statement("survivors", order=order)).to_arrow_table().sort_by("root")
    return table["kept"].to_numpy()[np.searchsorted(table["root"].to_numpy(), root)]
