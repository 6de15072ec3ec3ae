"""Components of equalities between roots, by rounds over partitions: large star and small star in turn.

After Kiveris and others, "Connected Components in MapReduce and Beyond" (2014). An equality is a pair of roots, `a` < `b`. A round
replaces equalities by others that connect the same roots and lead further down. When a round changes nothing, every root but the
first one of its component is equal to that first one, and to nothing else.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.kernels.core.arrow import ints, numbers

# Equalities: `a`, and `b`, which is greater.
Equal = tuple[np.ndarray, np.ndarray]


def large_star(one: np.ndarray, other: np.ndarray) -> tuple[Equal, int]:
    """Make greater neighbours of each root equal to the least of its neighbours and itself; also the number of changes.

    one, other: equalities in both directions, all those of each root in `one`.
    """
    order = np.lexsort((other, one))
    one, other = one[order], other[order]
    first = _firsts(one)
    least = np.repeat(np.minimum(one[first], other[first]), np.diff(np.append(first, len(one))))
    up = other > one
    return distinct(least[up], other[up]), int((least[up] != one[up]).sum())


def small_star(a: np.ndarray, b: np.ndarray) -> tuple[Equal, int]:
    """Make each root and its lesser neighbours equal to the least of these; also the number of changes.

    a, b: equalities, all those of each root in `b`.
    """
    order = np.lexsort((a, b))
    a, b = a[order], b[order]
    first = _firsts(b)
    least = np.repeat(a[first], np.diff(np.append(first, len(a))))
    moved = a != least
    ends = np.append(least[first], least[moved]), np.append(b[first], a[moved])
    return distinct(*ends), int(moved.sum())


def components(a: np.ndarray, b: np.ndarray) -> Equal:
    """The first root of the component of each other root, for few equalities, as the rounds leave it."""
    joined = kernels.dedup.unionfind.Components()
    joined.add(a, b)
    row, root, _ = joined.labels()
    other = row != root
    return root[other], row[other]


def both_ways(equal: Equal) -> pa.Table:
    """Equalities in both directions: `one`, `other`."""
    a, b = equal
    return pa.table({"one": ints(np.append(b, a)), "other": ints(np.append(a, b))})


def one_way(table: pa.Table) -> Equal:
    """Equalities of `both_ways`, each once."""
    one, other = numbers(table["one"]), numbers(table["other"])
    down = other < one
    return other[down], one[down]


def distinct(a: np.ndarray, b: np.ndarray) -> Equal:
    """Pairs without repeated ones, in the order of `b`."""
    order = np.lexsort((a, b))
    a, b = a[order], b[order]
    new = np.append(True, (a[1:] != a[:-1]) | (b[1:] != b[:-1]))[: len(a)]
    return a[new], b[new]


def _firsts(values: np.ndarray) -> np.ndarray:
    """Places at which another value begins."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
