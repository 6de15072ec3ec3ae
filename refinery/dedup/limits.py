"""Safety limits: one false cluster must not remove a corpus unnoticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refinery.errors import OperatorError


def check(
    step: Any,
    largest: int,
    alive: Mapping[str, int],
    removed: Mapping[str, int],
    counted: str = "samples",
    others: Sequence[str] = (),
    reason: Callable[[], str] = lambda: "",
) -> list[str]:
    """Warnings about clusters and removals that exceed the limits, and other ones.

    largest: samples of the largest cluster. alive, removed: number of samples (or of what is `counted`) of each input before the step, and number that it removes.
    reason: sentences on the likely reason and its cure, or "". With `on_excess: fail`, raises OperatorError with the same text instead.
    """
    excesses = [*others, *_large(step, largest), *_shares(step, alive, removed, counted)]
    if not excesses:
        return []
    why = f". {known}" if (known := reason()) else ""
    if step.params.get("on_excess", "fail") == "fail":
        cure = "Set on_excess: warn and look at the tables hubs, clusters and duplicates, or raise the limit"
        raise OperatorError(f"{step.where}: {step.name} {'; '.join(excesses)}{why or '.'} {cure}")
    last = len(excesses) - 1
    return [f"{step.where}: {step.name} {what}{why if at == last else ''}" for at, what in enumerate(excesses)]


def _large(step: Any, largest: int) -> list[str]:
    limit = step.params.get("max_cluster_size")
    if limit is None or largest <= limit:
        return []
    return [f"found a cluster of {largest} samples, more than max_cluster_size, which is {limit}"]


def _shares(step: Any, alive: Mapping[str, int], removed: Mapping[str, int], counted: str) -> list[str]:
    limit = step.params.get("max_removed_share")
    if limit is None:
        return []
    excesses = []
    totals = {f"all {counted}": (sum(removed.values()), sum(alive.values()))}
    totals |= {name: (removed.get(name, 0), alive[name]) for name in alive} if len(alive) > 1 else {}
    for name, (gone, before) in totals.items():
        if before and gone / before > limit:
            share = f"{gone} of {before} ({gone / before:.1%})"
            excesses.append(f"removes {share} of {name}, more than max_removed_share, which is {limit:g}")
    return excesses
