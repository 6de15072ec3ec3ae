"""The order in which a stage's filters run: moves that leave every row's fate unchanged and save time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Smallest expected saving, as a share of the time, for which the order is changed.
_WORTH = 0.02


@dataclass(frozen=True)
class StepColumns:
    """Inputs and outputs of one step of a stage.

    reads: names of the text fields that the step measures or changes. writes: the field that it changes. asked: names
    of statistics and columns that its SQL looks up, in lower case. measures: all names of its statistics.
    """

    step: int
    name: str
    kind: str
    reads: frozenset[str]
    writes: str | None
    asked: frozenset[str]
    measures: frozenset[str]


@dataclass(frozen=True)
class FilterMove:
    """A filter that runs earlier. passed: the steps that it overtakes, each with the reason that allows it."""

    step: int
    passed: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class FilterOrder:
    """The order of a stage's steps, with the costs that it is based on.

    steps: numbers of the steps as they run. costs: seconds per megabyte of each step alone, without the features that
    it is the first to need; for `greedy`, the step's class. passes: share of the samples' bytes that a filter keeps, if
    measured. before, after: expected cost of the recipe's order and of this one, in the unit of costs.
    """

    strategy: str
    steps: tuple[int, ...]
    moves: tuple[FilterMove, ...] = ()
    costs: Mapping[int, float] = field(default_factory=dict)
    passes: Mapping[int, float] = field(default_factory=dict)
    before: float = 0.0
    after: float = 0.0

    @property
    def moved(self) -> bool:
        """True if the order differs from the recipe's."""
        return list(self.steps) != sorted(self.steps)

    def json(self) -> dict[str, Any]:
        """Plain data for plan.json."""
        moves = [
            {"step": move.step, "passes": [{"step": step, "allowed": why} for step, why in move.passed]}
            for move in self.moves
        ]
        return {
            "strategy": self.strategy,
            "steps": list(self.steps),
            "moves": moves,
            "costs": {str(step): cost for step, cost in self.costs.items()},
            "passes": {str(step): share for step, share in self.passes.items()},
            "expected": {"recipe_order": self.before, "this_order": self.after},
        }

    @staticmethod
    def of_json(value: Mapping[str, Any]) -> FilterOrder:
        """Ordering from the output of `json`. Raises KeyError, TypeError or ValueError for anything else."""
        return FilterOrder(
            strategy=str(value["strategy"]),
            steps=tuple(int(step) for step in value["steps"]),
            moves=tuple(
                FilterMove(int(move["step"]), tuple((int(p["step"]), str(p["allowed"])) for p in move["passes"]))
                for move in value["moves"]
            ),
            costs={int(step): float(cost) for step, cost in value["costs"].items()},
            passes={int(step): float(share) for step, share in value["passes"].items()},
            before=float(value["expected"]["recipe_order"]),
            after=float(value["expected"]["this_order"]),
        )


def obstacle(before: StepColumns, later: StepColumns) -> str | None:
    """Reason that `later` may not run before `before`, the step in front of it; None if the same rows stay."""
    if later.kind != "filter":
        return f"it is a {later.kind}" if later.kind != "stats" else "it measures all samples that reach it"
    if before.kind == "stats":
        return "that measures all samples that reach it"
    if before.writes is not None and before.writes in later.reads:
        return f"that changes {before.writes}, which it reads"
    if named := later.asked & before.measures:
        return f"it names {min(named)}, which that measures"
    if named := before.asked & later.measures:
        return f"that names {min(named)}, which it measures"
    if both := later.measures & before.measures:
        return f"both measure {min(both)}"
    return None


def reason(before: StepColumns, later: StepColumns) -> str:
    """Reason that `later` may run before `before`, given that there is no obstacle."""
    reads = ", ".join(sorted(later.reads)) or "no text"
    if before.writes is not None:
        return f"{before.name} changes {before.writes}; {later.name} reads {reads}"
    return f"{before.name} is a filter too; neither names or measures what the other does"


def movable(needs: Sequence[StepColumns]) -> bool:
    """Return whether any filter may overtake the step in front of it."""
    return bool(_earlier([need.step for need in needs], {need.step: need for need in needs}))


def arranged(
    strategy: str,
    needs: Sequence[StepColumns],
    expected: Callable[[Sequence[int]], float],
    costs: Mapping[int, float],
    passes: Mapping[int, float],
) -> FilterOrder:
    """Order the steps for the least expected cost, moving one filter at a time to the front while that helps.

    needs: of the steps, in the recipe's order. expected: returns the cost of an order of step numbers.
    """
    by_step = {need.step: need for need in needs}
    original = [need.step for need in needs]
    order, cost = list(original), expected(original)
    while True:
        tried = [(expected(other), other) for other in _earlier(order, by_step)]
        best = min(tried, default=(cost, order))
        if best[0] >= cost * (1 - 1e-6):
            break
        cost, order = best
    first = expected(original)
    if cost > first * (1 - _WORTH):
        order, cost = original, first
    return FilterOrder(strategy, tuple(order), _moves(order, by_step), dict(costs), dict(passes), first, cost)


def _earlier(order: list[int], needs: Mapping[int, StepColumns]) -> list[list[int]]:
    """Every order in which one filter has overtaken some of the steps in front of it."""
    orders = []
    for at, step in enumerate(order):
        to = at
        while to and obstacle(needs[order[to - 1]], needs[step]) is None:
            to -= 1
            orders.append([*order[:to], step, *order[to:at], *order[at + 1 :]])
    return orders


def _moves(order: Sequence[int], needs: Mapping[int, StepColumns]) -> tuple[FilterMove, ...]:
    """The filters that run before a step that precedes them in the recipe."""
    moves = []
    for at, step in enumerate(order):
        passed = sorted(other for other in order[at + 1 :] if other < step)
        if passed:
            moves.append(FilterMove(step, tuple((other, reason(needs[other], needs[step])) for other in passed)))
    return tuple(moves)
