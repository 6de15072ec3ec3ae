"""Overlap of the filters of a run: samples that two of them remove, and samples that only one does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refinery.compiler.stages import cut_at_barriers
from refinery.compiler.stored_predicates import verdicts
from refinery.errors import DataError
from refinery.inspect.finished_run import FinishedRun
from refinery.planning.filter_costs import orders_of_run
from refinery.results.views.create import add_verdicts
from refinery.results.views.verdicts import StepVerdict, by_outcome, by_statistics


@dataclass(frozen=True)
class FilterVerdicts:
    """Verdicts of one step. alone: samples that no other step removes; None if samples without a verdict could be among them.

    unknown: samples without a verdict. removed_before: how many of them each earlier step had removed, by step.
    """

    step: int
    operator: str
    name: str | None
    removes: int
    alone: int | None
    unknown: int
    removed_before: dict[int, int]


@dataclass(frozen=True)
class Pair:
    """Two steps. A count is None where samples without a verdict could add to it."""

    step_a: int
    step_b: int
    by_both: int | None
    only_a: int | None
    only_b: int | None
    unknown_a: int
    unknown_b: int


@dataclass(frozen=True)
class Overlap:
    """Verdicts of the filters of a run. rows: samples that have outcomes. measured: the run removed nothing.

    cure: the command whose run knows all verdicts; empty if this one does.
    """

    run: str
    rows: int
    measured: bool
    steps: tuple[FilterVerdicts, ...]
    pairs: tuple[Pair, ...]
    cure: str


def overlap(stored: FinishedRun) -> Overlap:
    """The overlap of a run's filters. Raises DataError for a run of an earlier version whose operators have changed."""
    if "overlap" not in stored.columns:
        add_verdicts(stored.con, _verdicts(stored))
    pairs = stored.con.execute(f"SELECT {_PAIR} FROM overlap ORDER BY step_a, step_b").fetchall()
    steps = tuple(_steps(stored))
    lacking = any(step.unknown for step in steps) and not stored.recipe.measure_only
    return Overlap(
        run=str(stored.run_dir.root),
        rows=stored.count("SELECT count(*) FROM row_outcomes"),
        measured=stored.recipe.measure_only,
        steps=steps,
        pairs=tuple(Pair(*row) for row in pairs),
        cure=f"refinery analyze {stored.run_dir.recipe} -o FOLDER, then refinery overlap FOLDER" if lacking else "",
    )


_PAIR = "step_a, step_b, by_both, only_a, only_b, unknown_a, unknown_b"
# The verdicts of each sample together, then those of each step with them.
_STEPS = """
WITH samples AS (
  SELECT _row, count(*) FILTER (removes) AS removing, count(*) FILTER (removes IS NULL) AS unknown FROM verdicts GROUP BY _row
)
SELECT
  step, any_value(operator), any_value(name),
  count(*) FILTER (removes),
  CASE WHEN count(*) FILTER ((removes AND removing = 1 AND unknown > 0) OR (removes IS NULL AND removing = 0)) = 0
    THEN count(*) FILTER (removes AND removing = 1) END,
  count(*) FILTER (removes IS NULL)
FROM verdicts JOIN samples USING (_row)
GROUP BY step
ORDER BY step
"""
_BEFORE = """
SELECT v.step, _dropped, count(*) FROM verdicts AS v JOIN row_outcomes USING (_row)
WHERE v.removes IS NULL AND _dropped IS NOT NULL
GROUP BY ALL
ORDER BY ALL
"""


def _steps(stored: FinishedRun) -> list[FilterVerdicts]:
    before: dict[int, dict[int, int]] = {}
    for step, earlier, rows in stored.con.execute(_BEFORE).fetchall():
        before.setdefault(step, {})[earlier] = rows
    return [
        FilterVerdicts(step, operator, name, removes, alone, unknown, before.get(step, {}))
        for step, operator, name, removes, alone, unknown in stored.con.execute(_STEPS).fetchall()
    ]


def _verdicts(stored: FinishedRun) -> tuple[StepVerdict, ...]:
    """Verdicts for the tables of an earlier version, which has not stored them."""
    recipe, library = stored.recipe, stored.library
    if cut_at_barriers(recipe.steps, library, recipe.measure_only)[-1].fingerprint != stored.manifest["fingerprint"]:
        raise DataError(
            f"{stored.run_dir.root}: its operators, or files that they read, have changed since the run; run it again"
        )
    chains = stored.compiled()
    listed: dict[int, Any] = {step.index: step for step in recipe.steps}
    removing = sorted(number for chain in chains for number in chain.alive if number in listed)
    steps = [number for number in removing if stored.operator_of(listed[number]).kind != "deduplicator"]
    if recipe.measure_only:
        return by_statistics(verdicts(chains), steps, stored.con)
    if any(ordering.moved for ordering in orders_of_run(stored.run_dir)):
        raise DataError(
            f"{stored.run_dir.root}: an earlier version of refinery ran its filters in another order; run it again"
        )
    return by_outcome(steps, list(listed))
