"""What a step that may remove samples decides by, as SQL over what a run has stored of each of them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from refinery.compiler.compiled import Chain

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
            found[step] = _over(stored, definitions[alive], chain.functions)
    return found


def _over(stored: set[str], condition: exp.Expr, functions: set[str]) -> str | None:
    """The condition of a sample that is still there, unless it asks for more than what is stored."""
    names = {column.parts[0].name for column in condition.find_all(exp.Column)}
    if not all(name in stored or name.startswith("_alive_") for name in names) or condition.find(exp.Select):
        return None
    if any(call.name.lower() in functions for call in condition.find_all(exp.Anonymous)):
        return None
    return condition.transform(_alive).sql("duckdb")


def _alive(node: exp.Expr) -> exp.Expr:
    return exp.true() if isinstance(node, exp.Column) and node.name.startswith("_alive_") else node
