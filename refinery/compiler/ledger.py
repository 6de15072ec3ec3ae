"""SQL that explains each removed row: the step, the statistic, its value, and the bound that it broke."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from refinery.common.lazy import exp
from refinery.compiler.bounds import misses
from refinery.compiler.model import Chain, Stat
from refinery.compiler.templates import ident, lit
from refinery.compiler.terms import compared, reason
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


# A column of the ledger that depends on the reason, and the SQL of its value.
Cells = dict[str, str]


def ledger_columns(chain: Chain, steps: Sequence[Any]) -> dict[str, dict[int, str]]:
    """SQL for each ledger column and each step that may remove rows, over the statistics of one row."""
    removing = [step for step in steps if step.index in chain.alive]
    # A deduplicator of units removes a sample whose text it leaves empty.
    emptying = {change.step for change in chain.changes} - set(chain.predicates)
    cases: dict[str, dict[int, str]] = {name: {} for name in LEDGER_COLUMNS}
    for step in removing:
        cases["operator"][step.index] = lit(step.name)
        cases["where"][step.index] = lit(step.where)
        if step.title is not None:
            cases["title"][step.index] = lit(step.title)
        plain = _only_reason(chain, step) or (
            "nothing is left of the text" if step.index in emptying else _plain_reason(step)
        )
        reasons = [*_of_predicate(chain, step, of_own=True), *_of_bounds(chain, step)]
        reasons += _of_predicate(chain, step, of_own=False)
        for name in ("reason", "statistic", "value", "bound"):
            cells = [(test, cells.get(name, "NULL")) for test, cells in reasons]
            cases[name][step.index] = _case(cells, lit(plain) if name == "reason" else "NULL")
    return cases


def _case(cells: list[tuple[str, str]], otherwise: str) -> str:
    """A CASE over tests in order, without the last ones that give what no test gives."""
    while cells and cells[-1][1] == otherwise:
        cells = cells[:-1]
    whens = " ".join(f"WHEN {test} THEN {cell}" for test, cell in cells)
    return f"CASE {whens} ELSE {otherwise} END" if cells else otherwise


def _of_bounds(chain: Chain, step: Any) -> Iterator[tuple[str, Cells]]:
    """Tests for the bounds that a statistic of the step breaks, in order, each with the ledger's cells."""
    for stat in chain.stats:
        kept = stat.range_by(chain.params_of(step))
        if stat.step != step.index or not (kept.ends or kept.reversed):
            continue
        name = {"statistic": lit(stat.column)}
        for test, end, bound in misses(ident(stat.column), kept):
            yield test, {**name, "reason": _reason(stat, end, bound), "value": _number(stat), "bound": _value(bound)}
        yield f"{ident(stat.column)} IS NULL", {**name, "reason": lit(f"{stat.column} is NULL")}


def _of_predicate(chain: Chain, step: Any, of_own: bool) -> Iterator[tuple[str, Cells]]:
    """Tests for the term that is not true, each with the ledger's cells.

    of_own: only of a predicate that can be computed from the step's own statistics, or only of other ones.
    """
    predicate, stored = chain.predicates.get(step.index), chain.terms.get(step.index)
    own = {stat.column for stat in chain.stats if stat.step == step.index}
    if predicate is None or of_own != predicate.names_any(own):
        return
    if stored is None and not predicate.stored:
        return
    stats = {ident(stat.column): stat for stat in chain.stats}
    for test, term, null in predicate.tests(stored):
        column, kind, constants = compared(term, predicate.parameter)
        cells = {"reason": reason(predicate.parameter, term, null, stats)}
        if column in stats:
            cells["statistic"] = lit(stats[column].column)
            if kind == "than" and not null and {c.sql("duckdb") for c in constants[0].find_all(exp.Column)} <= {*stats}:
                cells |= {"value": _number(stats[column]), "bound": f"TRY_CAST({constants[0].sql('duckdb')} AS DOUBLE)"}
        yield test, cells


def case_of_step(by_step: Mapping[int, str], kind: str) -> str:
    """SQL for a value by the step that removed the row (`_dropped`); NULL for steps that are not listed."""
    if not by_step:
        return f"CAST(NULL AS {kind})"
    whens = " ".join(f"WHEN {step} THEN {sql}" for step, sql in by_step.items())
    return f"CAST(CASE _dropped {whens} END AS {kind})"


def _number(stat: Stat) -> str:
    return f"TRY_CAST({ident(stat.column)} AS DOUBLE)"


def _only_reason(chain: Chain, step: Any) -> str:
    """The name of a step's only condition; empty if it has several, or none with a name."""
    predicate = chain.predicates.get(step.index)
    return predicate.terms[0].reason if predicate is not None and len(predicate.terms) == 1 else ""


def _plain_reason(step: Any) -> str:
    shown = {n: v for n, v in step.params.items() if n in getattr(step, "given", ()) and n != "text_key"}
    return "not kept by " + (", ".join(f"{name}: {_written(value)}" for name, value in shown.items()) or step.name)


def _written(value: Any) -> str:
    """A parameter as in the recipe; a file or folder without those above it, so that reasons are the same everywhere."""
    if isinstance(value, str):
        return os.path.basename(value.rstrip("/")) if os.path.isabs(value) else value
    return describe_value(value)


def _reason(stat: Stat, end: str, bound: FilterBound | None) -> str:
    if end == "inside" or bound is None:
        return lit(f"{stat.column} inside the reversed range")
    return lit(f"{stat.column} {'below' if end == 'low' else 'above'} {bound.name}")


def _value(bound: FilterBound | None) -> str:
    return lit(None if bound is None else bound.value)
