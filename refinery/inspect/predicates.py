"""What a step that may remove samples decides by, as SQL over what a run has stored of each of them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from refinery.compiler.column_names import called, replaced
from refinery.compiler.model import Chain

# Of the tables `stats` and `fates`, besides the statistics.
NUMBER = "_row"


def verdicts(chains: Sequence[Chain]) -> dict[int, str | None]:
    """The condition of each step that may remove samples, by step; None where stored columns do not say it.

    The SQL is never NULL. It names statistics of the step and of earlier ones, and `_row`; it holds for samples that
    the step was given, whose statistics are stored.
    """
    found: dict[int, str | None] = {}
    stored = {NUMBER}
    for chain in chains:
        definitions = {definition.name: definition.expression for definition in chain.layers.definitions()}
        stored |= {stat.column for stat in chain.stats}
        for step, alive in chain.alive.items():
            found[step] = _over(stored, definitions[alive], chain)
    return found


def _over(stored: set[str], condition: exp.Expr, chain: Chain) -> str | None:
    """The condition of a sample that is still there, unless it asks for more than what is stored."""
    alive = chain.columns_of("alive")
    names = {column.parts[0].name for column in condition.find_all(exp.Column)}
    if not names <= stored | alive or condition.find(exp.Select) or called(condition) & chain.functions:
        return None
    return replaced(condition, alive, exp.true()).sql("duckdb")
