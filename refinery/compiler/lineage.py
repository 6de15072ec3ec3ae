"""Where a column or statistic comes from: the inputs it reads and the steps it passes through."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from refinery.compiler.program import Program
from refinery.errors import OperatorError, did_you_mean


@dataclass(frozen=True)
class Origin:
    """One node of a lineage: the column, the step that computes it (0: reading), what it is, and what it reads."""

    column: str
    step: int
    expression: str
    depth: int


def lineage(program: Program, column: str) -> list[Origin]:
    """The lineage of a result column by sqlglot, nearest first.

    column: a statistic, `_dropped`, or the name of a text field. Raises OperatorError for an unknown one.
    """
    from sqlglot import parse_one
    from sqlglot.lineage import lineage as trace

    outs = {".".join(keys): name for keys, name in program.outs.items()}
    name = outs.get(column, column)
    known = [*(stat.column for stat in program.stats), *outs, "_dropped"]
    if name not in {*known, *outs.values()}:
        raise OperatorError(f"no column {column!r}{did_you_mean(column, known)} (known: {', '.join(known)})")
    steps = dict(program.probes)
    schema = {"batch": dict.fromkeys(["_i", "_line", "_suffix", *program.needs], "VARCHAR")}
    root = trace(name, parse_one(program.pass_sql, dialect="duckdb"), schema=schema, dialect="duckdb")
    found: list[Origin] = []
    seen: set[str] = set()

    def walk(node: Any, depth: int) -> None:
        label = str(node.name).split(".")[-1].strip('"')
        expression = node.expression.unalias()
        passes_on = isinstance(expression, exp.Column) and expression.name == label and node.downstream
        if not passes_on and label not in seen:
            seen.add(label)
            plain = expression.transform(_unqualified)
            text = plain.sql("duckdb", normalize_functions=False, comments=False)
            found.append(Origin(label, steps.get(label, 0), text, depth))
        for child in node.downstream:
            walk(child, depth if passes_on else depth + 1)

    walk(root, 0)
    return found


def _unqualified(node: exp.Expression) -> exp.Expression:
    """A column without the name of the layer that it comes from."""
    if isinstance(node, exp.Column) and re.fullmatch(r"_s\d+|_read|_\d+|batch", node.table):
        return exp.column(node.name)
    return node
