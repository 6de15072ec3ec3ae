"""Connected components of pairs of rows, independent of the order of the pairs.

A component is named after its smallest row. Trees are joined below the smaller root and paths are halved on the way up
(Tarjan and van Leeuwen 1984), so a pair costs little more than the memory access.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import entry, kernel

PENDING = 1 << 20  # pairs collected before they are joined


def components(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """Smallest row (int64) of the component of each row 0 .. n - 1, where a[i] and b[i] are in one component.

    Takes 8 bytes per row. Raises ValueError for pairs of unequal length or rows outside of 0 .. n - 1.
    """
    a, b = _pairs(a, b)
    if len(a) and (min(a.min(), b.min()) < 0 or max(a.max(), b.max()) >= n):
        raise ValueError(f"a pair names a row outside of 0 .. {n - 1}")
    parents = np.arange(n, dtype=np.int64)
    join(parents, a, b, np.empty(len(a), np.bool_))
    flatten(parents)
    return parents


class Components:
    """Connected components of pairs that come in blocks, of rows that need not be dense.

    Only rows that occur in a pair take memory: 16 bytes each, and up to about 110 more while a block is added. Blocks
    are collected until they hold as many pairs as there are known rows (at least a million), so the total time is
    linear in the pairs times the logarithm of a sort, whatever the size of the blocks.
    """

    def __init__(self) -> None:
        self._rows = np.empty(0, np.int64)
        self._roots = np.empty(0, np.int64)
        self._pending: list[tuple[np.ndarray, np.ndarray]] = []
        self._waiting = 0

    def add(self, a: np.ndarray, b: np.ndarray) -> None:
        """Put row a[i] and row b[i] into one component, for every i. Raises ValueError for unequal lengths."""
        block = _pairs(a, b)
        self._pending.append((block[0].copy(), block[1].copy()))
        self._waiting += len(block[0])
        if self._waiting >= max(PENDING, len(self._rows)):
            self._take_in()

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows that were in a pair, ascending, and the smallest row of each one's component (both int64)."""
        self._take_in()
        return self._rows, self._roots

    def _take_in(self) -> None:
        if not self._pending:
            return
        a = np.concatenate([self._rows, *(block[0] for block in self._pending)])
        b = np.concatenate([self._roots, *(block[1] for block in self._pending)])
        self._pending, self._waiting = [], 0
        rows = np.union1d(a, b)
        a, b = np.searchsorted(rows, a), np.searchsorted(rows, b)
        self._rows, self._roots = rows, rows[components(a, b, len(rows))]


def _pairs(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.ascontiguousarray(a, np.int64), np.ascontiguousarray(b, np.int64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"pairs are two columns of one length, not {a.shape} and {b.shape}")
    return a, b


@kernel
def find(parents, row):
    """Root of a row's tree."""
    while parents[row] != row:
        parents[row] = parents[parents[row]]
        row = parents[row]
    return row


@entry("int64[] int64[] int64[] bool[]")
def join(parents, a, b, joined):
    """Join the trees of a[i] and b[i] for every i; joined[i]: True if they were separate. Returns the joins made."""
    count = 0
    for i in range(len(a)):
        left, right = find(parents, a[i]), find(parents, b[i])
        joined[i] = left != right
        count += joined[i]
        if left < right:
            parents[right] = left
        elif right < left:
            parents[left] = right
    return count


@entry("int64[]")
def flatten(parents):
    """Make every row's parent its root."""
    for row in range(len(parents)):  # a parent is never above its row, so it is already flat
        parents[row] = parents[parents[row]]
