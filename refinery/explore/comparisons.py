"""Comparisons of statistics with numbers in the compiled condition of a filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from refinery.common.lazy import exp
from refinery.compiler.model import Chain
from refinery.inspect.tuned_filter import TunedFilter

# Comparisons `column OP number`, and the end of the kept range that the number is then; turned, for `number OP column`.
_ENDS = {exp.GTE: "low", exp.GT: "low", exp.LTE: "high", exp.LT: "high"}
_TURNED = {"low": "high", "high": "low"}
_EQUAL = {exp.EQ: "=", exp.NEQ: "<>"}


def comparisons(chain: Chain, tuned: TunedFilter) -> list[tuple[str, str, float]]:
    """Comparisons of a column with a number in the terms of the filter's predicate: column, side, number."""
    found = []
    for node, column, literal in _pairs(chain, tuned, _ENDS):
        side = _ENDS[type(node)] if node.expression is literal else _TURNED[_ENDS[type(node)]]
        if node.find_ancestor(exp.Not):
            side = _TURNED[side]
        if not literal.is_string:
            found.append((column, side, float(literal.this)))
    return found


def equalities(chain: Chain, tuned: TunedFilter) -> list[tuple[str, str, float | str]]:
    """Comparisons of a column with a number or text by `=` and `<>`: column, operator, value."""
    return [
        (column, _EQUAL[type(node)], literal.this if literal.is_string else float(literal.this))
        for node, column, literal in _pairs(chain, tuned, _EQUAL)
    ]


def memberships(chain: Chain, tuned: TunedFilter) -> list[tuple[str, str, tuple[float | str, ...]]]:
    """Lists of literals that a column is searched in: column, `IN` or `NOT IN`, values."""
    predicate = chain.predicates.get(tuned.step.index)
    lists = []
    for term in predicate.terms if predicate else ():
        for node in term.tree.find_all(exp.In):
            members = node.expressions
            if isinstance(node.this, exp.Column) and all(isinstance(one, exp.Literal) for one in members):
                sign = "NOT IN" if isinstance(node.parent, exp.Not) else "IN"
                values = tuple(one.this if one.is_string else float(one.this) for one in members)
                lists.append((node.this.parts[0].name, sign, values))
    return lists


def _pairs(chain: Chain, tuned: TunedFilter, kinds: Iterable[type[exp.Expr]]) -> Iterator[tuple[Any, str, Any]]:
    """Comparisons of some kinds between a column and a literal: the node, the name of the column, the literal."""
    predicate = chain.predicates.get(tuned.step.index)
    for term in predicate.terms if predicate else ():
        for node in term.tree.find_all(*kinds):
            sides = (node.this, node.expression)
            for column, literal in (sides, sides[::-1]):
                if isinstance(column, exp.Column) and isinstance(literal, exp.Literal):
                    yield node, column.parts[0].name, literal
