"""Parts of a file that are no samples and are passed over, counted by their kind: records of web archives."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class _Counting(threading.local):
    """The counts that this thread makes of what it reads, if they are asked for."""

    counts: Counter[str] | None = None


_counting = _Counting()


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """The numbers of parts by kind that this thread passes over meanwhile."""
    counts: Counter[str] = Counter()
    _counting.counts = counts
    try:
        yield counts
    finally:
        _counting.counts = None


def pass_over(kind: str) -> None:
    """Count a part of a file that is no sample."""
    if _counting.counts is not None:
        _counting.counts[kind] += 1
