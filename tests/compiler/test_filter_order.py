"""Filters may only move past certain steps, and no order breaks that rule."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refinery.compiler.filter_order import FilterOrder, StepColumns, arranged, movable, obstacle

FIELDS = ("text", "title")
STATS = ("text_len", "num_words")


def need(step: int, kind: str = "filter", **given: object) -> StepColumns:
    found = {"reads": {"text"}, "asked": (), "measures": ()} | given
    reads, asked, measures = (frozenset(found[name]) for name in ("reads", "asked", "measures"))  # type: ignore[call-overload]
    return StepColumns(step, f"op_{step}", kind, reads, found.get("writes"), asked, measures)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "later", "why"),
    [
        (need(1), need(2), None),
        (need(1, "mapper", writes="title"), need(2), None),
        (need(1, "mapper", writes="text"), need(2), "that changes text, which it reads"),
        (need(1, "mapper", writes="text"), need(2, reads=()), None),
        (need(1), need(2, "mapper", writes="title"), "it is a mapper"),
        (need(1), need(2, "stats", measures={"lines"}), "it measures all samples that reach it"),
        (need(1, "stats", measures={"lines"}), need(2), "that measures all samples that reach it"),
        (need(1, measures={"num_words"}), need(2, asked={"num_words"}), "it names num_words, which that measures"),
        (need(1, asked={"num_words"}), need(2, measures={"num_words"}), "that names num_words, which it measures"),
        (need(1, measures={"num_words"}), need(2, measures={"num_words"}), "both measure num_words"),
    ],
)
def test_obstacles(before: StepColumns, later: StepColumns, why: str | None) -> None:
    assert obstacle(before, later) == why
    assert movable([before, later]) == (why is None)


def steps() -> st.SearchStrategy[list[StepColumns]]:
    sets = st.frozensets(st.sampled_from(STATS), max_size=1)
    reads = st.frozensets(st.sampled_from(FIELDS), max_size=2)
    one = st.tuples(
        st.sampled_from(("filter", "filter", "mapper", "stats")), reads, sets, sets, st.sampled_from(FIELDS)
    )

    def numbered(found: list[tuple[str, frozenset[str], frozenset[str], frozenset[str], str]]) -> list[StepColumns]:
        return [
            StepColumns(step, f"op_{step}", kind, read, field if kind == "mapper" else None, asked, measures)
            for step, (kind, read, asked, measures, field) in enumerate(found, 1)
        ]

    return st.lists(one, max_size=8).map(numbered)


@given(steps(), st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 1)), min_size=8, max_size=8))
def test_no_order_breaks_an_obstacle(needs: list[StepColumns], costs: list[tuple[float, float]]) -> None:
    by_step = {step.step: step for step in needs}

    def expected(order: Sequence[int]) -> float:
        cost, left = 0.0, 1.0
        for step in order:
            own, keeps = costs[step - 1]
            cost += left * own
            left *= keeps if by_step[step].kind == "filter" else 1.0
        return cost

    found = arranged("probe", needs, expected, {}, {})
    assert sorted(found.steps) == [step.step for step in needs]
    assert expected(found.steps) == pytest.approx(found.after) and found.after <= found.before
    swapped = [(a, b) for at, b in enumerate(found.steps) for a in found.steps[at + 1 :] if a < b]
    assert [obstacle(by_step[a], by_step[b]) for a, b in swapped] == [None] * len(swapped)
    assert sorted((step, move.step) for move in found.moves for step, _ in move.passed) == sorted(swapped)
    assert found.moved == bool(swapped)
    assert FilterOrder.of_json(found.json()) == found


def test_a_cheap_strict_filter_passes_what_costs_nothing() -> None:
    needs = [need(1), need(2, "mapper", writes="title"), need(3), need(4)]
    costs = {1: 5.0, 2: 0.0, 3: 0.0, 4: 1.0}

    def expected(order: Sequence[int]) -> float:
        """Step 4 keeps a tenth, the others all."""
        return sum(costs[step] * (0.1 if 4 in order[:at] else 1.0) for at, step in enumerate(order))

    assert arranged("probe", needs, expected, costs, {}).steps == (4, 1, 2, 3)


def test_a_gain_too_small_to_be_measured_moves_nothing() -> None:
    def expected(order: Sequence[int]) -> float:
        return 1.0 if order[0] == 1 else 0.99

    assert arranged("probe", [need(1), need(2)], expected, {}, {}).steps == (1, 2)
