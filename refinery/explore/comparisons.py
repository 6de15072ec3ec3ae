"""Comparisons of statistics with numbers in the compiled condition of a filter."""

from __future__ import annotations

from refinery.common.lazy import exp
from refinery.compiler.model import Chain
from refinery.inspect.tuned_filter import TunedFilter

# Comparisons `column OP number`, and the end of the kept range that the number is then; turned, for `number OP column`.
_ENDS = {exp.GTE: "low", exp.GT: "low", exp.LTE: "high", exp.LT: "high"}
_TURNED = {"low": "high", "high": "low"}


def comparisons(chain: Chain, tuned: TunedFilter) -> list[tuple[str, str, float]]:
    """Comparisons of a column with a number in the terms of the filter's predicate: column, side, number."""
    predicate = chain.predicates.get(tuned.step.index)
    nodes = [node for term in (predicate.terms if predicate else ()) for node in term.tree.find_all(*_ENDS)]
    found = []
    for node in nodes:
        column, number, side = node.this, node.expression, _ENDS[type(node)]
        if isinstance(number, exp.Column):
            column, number, side = number, column, _TURNED[side]
        if node.find_ancestor(exp.Not):
            side = _TURNED[side]
        if isinstance(column, exp.Column) and isinstance(number, exp.Literal) and not number.is_string:
            found.append((column.parts[0].name, side, float(number.this)))
    return found
