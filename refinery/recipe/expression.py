"""Jinja expressions in recipes: arithmetic, comparison and a few filters over variables, with bounded cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.sandbox import SandboxedEnvironment

from refinery.common.carriage_returns import CarriageReturns

_FILTERS = {"default", "d", "lower", "upper", "trim", "int", "float", "round", "join", "first", "last", "length"}
_NODES = (
    nodes.Template, nodes.Output, nodes.Name, nodes.Const, nodes.Filter, nodes.Keyword, nodes.Getitem,
    nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos, nodes.Concat,
    nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr,
)  # fmt: skip
_LONGEST = 200


class _Environment(SandboxedEnvironment):
    # A product or a format with a text operand has no bound on its size.
    intercepted_binops = frozenset({"*", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            raise ValueError(f"{operator} takes numbers")
        return super().call_binop(context, operator, left, right)


def evaluate(source: str, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression. Raises ValueError with a reason that fits one line."""
    if len(source) > _LONGEST:
        raise ValueError(f"the expression is longer than {_LONGEST} characters")
    environment = _Environment(undefined=StrictUndefined, extensions=[CarriageReturns])
    try:
        for node in environment.parse("{{ " + source + " }}").find_all(nodes.Node):
            _allow(node)
        value = environment.compile_expression(source, undefined_to_none=False)(**values)
        if isinstance(value, StrictUndefined):
            str(value)  # raises for an undefined name
    except (TemplateError, ArithmeticError, TypeError, LookupError, SyntaxError, RecursionError) as error:
        raise ValueError(str(error).splitlines()[0] if str(error) else type(error).__name__) from None
    return _plain(value)


def _allow(node: nodes.Node) -> None:
    if isinstance(node, nodes.Filter):
        if node.name not in _FILTERS:
            raise ValueError(f"there is no filter {node.name!r} here")
    elif not isinstance(node, _NODES):
        raise ValueError(f"{type(node).__name__.lower()} is not allowed here")


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    raise ValueError("the result is neither text, number nor list")
