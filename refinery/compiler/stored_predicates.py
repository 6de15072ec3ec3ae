"""Conditions of the steps that may remove samples, as SQL over the stored columns of a run."""

from __future__ import annotations

from collections.abc import Sequence

from refinery.common.lazy import exp
from refinery.compiler.column_names import called, replaced
from refinery.compiler.model import Chain

# The row number, a column of the tables `stats` and `row_outcomes`.
NUMBER = "_row"


def verdicts(chains: Sequence[Chain]) -> dict[int, str | None]:
    """The condition of each step that may remove samples, by step; None where stored columns are not enough.

    The SQL is never NULL. It names statistics of the step and of earlier steps, and `_row`; it is valid for samples
    that the step received, whose statistics are stored.
    """
    conditions: dict[int, str | None] = {}
    stored = {NUMBER}
    for chain in chains:
        definitions = {definition.name: definition.expression for definition in chain.layers.definitions()}
        stored |= {stat.column for stat in chain.stats}
        for step, alive in chain.alive.items():
            conditions[step] = _over(stored, definitions[alive], chain)
    return conditions


def _over(stored: set[str], condition: exp.Expr, chain: Chain) -> str | None:
    """The condition for a sample that no earlier step removed; None when it needs more than the stored columns."""
    alive = chain.columns_of("alive")
    names = {column.parts[0].name for column in condition.find_all(exp.Column)}
    if not names <= stored | alive or condition.find(exp.Select) or called(condition) & chain.functions:
        return None
    return replaced(condition, alive, exp.true()).sql("duckdb")
