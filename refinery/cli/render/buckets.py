"""Output of `refinery buckets`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def show(buckets: Iterable[Any]) -> Iterator[str]:
    """Yield the output for a terminal, line by line."""
    for one in buckets:
        shown = ", ".join(f"{cut:g}" for cut in one.cut_points[:20]) + (", ..." if len(one.cut_points) > 20 else "")
        yield f"{one.name}: {one.buckets} buckets of equal weight ({one.weight}) of {one.samples:,} samples"
        yield f"scores {one.least:g} to {one.most:g}, cut points {shown}"
        if one.empty:
            yield f"{one.empty} of the buckets stay empty, because many scores are equal"
        yield f"{one.file} has the cut points: cut_points of {one.name} in a later run"
