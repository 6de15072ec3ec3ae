"""Notes on bounds that read like a percentage of a statistic that is a share from 0 to 1."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from refinery.operators.bounds import UNBOUNDED
from refinery.recipe.protocols import OperatorLike

# The end of notes on filters that keep nothing.
ALL_REMOVED = "every sample is removed"


def unreachable_bounds(
    operator: OperatorLike, params: Mapping[str, Any], explicit: Container[str]
) -> Iterator[tuple[str, str]]:
    """Bounds of the recipe that are far above the largest value of their statistics (`most` in the header), with a note."""
    for stat, ends in operator.bounds.items():
        most = getattr(operator, "stats", {}).get(stat, {}).get("most")
        for param in ends if most is not None else ():
            value = params.get(param)
            if param in explicit and isinstance(value, (int, float)) and 2 * most <= value < UNBOUNDED:
                effect = _effect(param == ends[0], bool(params.get("reversed_range")))
                meant = f". Is {param}: {value / 100:g} meant?" if value <= 100 * most else ""
                yield param, f"{operator.name}: {param} is {value:g}, but {stat} is at most {most:g}: {effect}{meant}"


def _effect(is_low: bool, is_reversed: bool) -> str:
    if is_low:
        return "every sample is kept" if is_reversed else ALL_REMOVED
    return "no sample is above it"
