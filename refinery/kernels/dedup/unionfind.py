"""Connected components of pairs of rows, independent of the order of the pairs.

A component is named after its smallest row. Trees are joined below the smaller root and paths are halved on the way up
(Tarjan and van Leeuwen 1984), so a pair costs little more than the memory access.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import entry, kernel

FEWEST = 1 << 12  # rows that `Components` has room for at first, a power of two; twice as many when it is full
_GOLDEN = 0x9E3779B97F4A7C15


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

    Each row gets a place, in the order of first occurrence; a hash table finds it. Only rows that occur in a pair take
    memory: 16 to 32 bytes each, and as much for the table.
    """

    def __init__(self) -> None:
        self._rows = np.empty(FEWEST, np.int64)
        self._parents = np.empty(FEWEST, np.int64)
        self._slots = np.zeros(2 * FEWEST, np.int64)  # the place plus 1; 0: free
        self.count = 0

    def add(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Put row a[i] and row b[i] into one component, for every i; returns their places.

        Raises ValueError for unequal lengths.
        """
        a, b = _pairs(a, b)
        places = np.empty((2, len(a)), np.int64)
        done = 0
        while True:
            table = self._slots, self._rows, self._parents
            done, self.count = join_rows(a, b, done, *table, self.count, places)
            if done == len(a):
                return places[0], places[1]
            self._grow()

    def labels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All rows that were in a pair, ascending, the smallest row of each one's component, and each one's place."""
        rows, parents = self._rows[: self.count], self._parents[: self.count]
        flatten_any(parents)
        places = np.argsort(rows)
        return rows[places], rows[parents[places]], places

    def _grow(self) -> None:
        room = np.empty_like(self._rows)
        self._rows, self._parents = np.append(self._rows, room), np.append(self._parents, room)
        self._slots = np.zeros(2 * len(self._rows), np.int64)
        enter(self._slots, self._rows, self.count)


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


@entry("int64[] int64[] int64[] bool[] -> int64")
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


@entry("int64[] int64[] int64 int64[] int64[] int64[] int64 int64[,] -> int64 int64")
def join_rows(a, b, done, slots, rows, parents, count, places):
    """Join the trees of rows a[i] and b[i] from i = done on, below the smaller root; new rows get the next places.

    Stops where there may be no room for another pair. Returns the pairs done and the rows known. places: of a and b.
    """
    while done < len(a) and count + 2 <= len(rows):
        one, count = _place(a[done], slots, rows, parents, count)
        other, count = _place(b[done], slots, rows, parents, count)
        places[0, done], places[1, done] = one, other
        left, right = find(parents, one), find(parents, other)
        if rows[left] < rows[right]:
            parents[right] = left
        else:
            parents[left] = right
        done += 1
    return done, count


@entry("int64[]")
def flatten_any(parents):
    """Make every row's parent its root, in trees whose parents may be above their rows."""
    for row in range(len(parents)):
        parents[row] = find(parents, row)


@entry("int64[] int64[] int64")
def enter(slots, rows, count):
    """Enter the places of rows[:count], which are distinct, into empty slots."""
    for place in range(count):
        slots[_slot(rows[place], slots, rows)] = place + 1


@kernel
def _place(row, slots, rows, parents, count):
    slot = _slot(row, slots, rows)
    if slots[slot] != 0:
        return slots[slot] - 1, count
    slots[slot] = count + 1
    rows[count] = row
    parents[count] = count
    return count, count + 1


@kernel
def _slot(row, slots, rows):
    """The slot of a row, or the free one where it belongs; half of the slots at least are free."""
    x = np.uint64(row) * np.uint64(_GOLDEN)
    x ^= x >> np.uint64(32)
    last = np.uint64(len(slots) - 1)
    at = x & last
    while slots[at] != 0 and rows[slots[at] - 1] != row:
        at = (at + np.uint64(1)) & last
    return np.int64(at)
