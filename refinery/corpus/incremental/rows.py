"""Numbers of a corpus' rows: the part, then the row in the part, so that they ascend in the order of adds."""

from __future__ import annotations

import numpy as np

from refinery.workers.match_keys import SHARD_BITS

_IN_PART = (1 << SHARD_BITS) - 1

NONE = np.zeros(0, np.int64)


def number(part: int, rows: np.ndarray) -> np.ndarray:
    """Numbers of rows of a part."""
    return np.asarray(rows, np.int64) + (part << SHARD_BITS)


def number_of(parts: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Numbers of rows, each of its part."""
    return (parts.astype(np.int64) << SHARD_BITS) + rows


def parts_of(rows: np.ndarray) -> np.ndarray:
    """Part of each row."""
    return (rows >> SHARD_BITS).astype(np.int32)


def in_part(rows: np.ndarray) -> np.ndarray:
    """Number of each row in its part."""
    return rows & _IN_PART


def inside(rows: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Mask of the rows that are among some others, which are different."""
    return np.isin(rows, some)
