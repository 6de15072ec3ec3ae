"""Runs of numbers that repeat with a period, as dolma finds them in the tokens of a text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

NONE = -1  # fills the last row; no token


def periodic_runs(values: np.ndarray, longest: int) -> Iterator[tuple[int, int, int]]:
    """Runs with a period from 1 to `longest` and at least three copies: start, end, copies.

    For each period the numbers are written in rows of so many. Rows that equal the row before them are a run, with the
    equal numbers at the end of the row that begins it and at the start of the row behind it. Where a run begins in the
    first two rows, the row before may be taken for equal to the last one; its start is then negative, as with dolma.
    """
    for period in range(1, min(longest, len(values) // 3) + 1):
        rows = np.append(values, [NONE] * (period - len(values) % period)).reshape(-1, period)
        equal = rows == np.roll(rows, 1, axis=0)
        whole = np.flatnonzero(equal.all(axis=1))
        for run in np.split(whole, np.flatnonzero(np.diff(whole) != 1) + 1) if len(whole) else ():
            first, last = int(run[0]), int(run[-1])
            start = (first - 1) * period - _leading(equal[first - 1, ::-1])
            end = (last + 1) * period + _leading(equal[last + 1])
            if (end - start) // period > 2:
                yield start, end, (end - start) // period


def _leading(flags: np.ndarray) -> int:
    """The number of true values before the first false one."""
    return len(flags) if flags.all() else int(np.argmin(flags))
