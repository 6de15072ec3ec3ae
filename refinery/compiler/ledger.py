"""SQL that explains each removed row: the step, the statistic, its value, and the bound that it broke."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from refinery.compiler.bounds import misses
from refinery.compiler.model import Chain, Stat
from refinery.compiler.templates import ident, lit
from refinery.operators.bounds import FilterBound
from refinery.recipe.values import describe_value

# Columns that depend on the step, and their types.
LEDGER_COLUMNS = {
    "operator": "VARCHAR",
    "where": "VARCHAR",
    "reason": "VARCHAR",
    "statistic": "VARCHAR",
    "value": "DOUBLE",
    "bound": "DOUBLE",
    "title": "VARCHAR",
}


def ledger_columns(chain: Chain, steps: Sequence[Any]) -> dict[str, dict[int, str]]:
    """SQL for each ledger column and each step that may remove rows, over the statistics of one row."""
    removing = [step for step in steps if step.index in chain.alive]
    emptying = {change.step for change in chain.changes}  # a mapper removes a sample whose text it leaves empty
    stats = {step.index: [stat for stat in chain.stats if stat.step == step.index] for step in removing}
    cases: dict[str, dict[int, str]] = {name: {} for name in LEDGER_COLUMNS}
    for step in removing:
        own = stats[step.index]
        cases["operator"][step.index] = lit(step.name)
        cases["where"][step.index] = lit(step.where)
        if step.title is not None:
            cases["title"][step.index] = lit(step.title)
        plain = "nothing is left of the text" if step.index in emptying else _plain_reason(step)
        cases["reason"][step.index] = _first(own, step.params, _reason, lit(plain))
        cases["statistic"][step.index] = _first(own, step.params, lambda s, e, b: lit(s.column), "NULL")
        cases["value"][step.index] = _first(own, step.params, lambda s, e, b: _number(s), "NULL")
        cases["bound"][step.index] = _first(own, step.params, lambda s, e, b: _value(b), "NULL")
    return cases


def case_of_step(found: Mapping[int, str], kind: str) -> str:
    """SQL for a value by the step that removed the row (`_dropped`); NULL for steps that are not listed."""
    if not found:
        return f"CAST(NULL AS {kind})"
    whens = " ".join(f"WHEN {step} THEN {sql}" for step, sql in found.items())
    return f"CAST(CASE _dropped {whens} END AS {kind})"


def _number(stat: Stat) -> str:
    return f"TRY_CAST({ident(stat.column)} AS DOUBLE)"


def _plain_reason(step: Any) -> str:
    shown = {n: v for n, v in step.params.items() if n in getattr(step, "given", ()) and n != "text_key"}
    return "not kept by " + (", ".join(f"{name}: {_written(value)}" for name, value in shown.items()) or step.name)


def _written(value: Any) -> str:
    return value if isinstance(value, str) else describe_value(value)


def _reason(stat: Stat, end: str, bound: FilterBound | None) -> str:
    if end == "inside" or bound is None:
        return lit(f"{stat.column} inside the reversed range")
    return lit(f"{stat.column} {'below' if end == 'low' else 'above'} {bound.name}")


def _value(bound: FilterBound | None) -> str:
    return lit(None if bound is None else bound.value)


def _first(stats: list[Stat], params: Mapping[str, Any], make: Any, otherwise: str) -> str:
    """A CASE over the statistics' broken bounds in order; `make(stat, end, bound)` returns each branch."""
    branches = [
        f"WHEN {test} THEN {make(stat, end, bound)}"
        for stat in stats
        for test, end, bound in misses(ident(stat.column), stat.range_by(params))
    ]
    return f"CASE {' '.join(branches)} ELSE {otherwise} END" if branches else otherwise
