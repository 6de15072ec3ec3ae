"""Parameters of an operator as arguments of its function: those that its SQL only writes, and that need no check before a run.

A parameter that shapes the SQL, or that the operator's own checks compare with others, keeps its default in a macro; a
function of a configured step has any value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from refinery.common.lazy import exp
from refinery.compiler.templates import ColumnValue, ident, lit
from refinery.operators import RANGE_PARAMS, Operator, Param
from refinery.operators.bounds import is_unlimited
from refinery.sql_functions.model import Parameter

# Below and above all numbers: for DuckDB, NaN is the largest.
_FURTHEST = {
    "int": ("-9223372036854775808", "9223372036854775807"),
    "float": ("CAST('-inf' AS DOUBLE)", "CAST('nan' AS DOUBLE)"),
}
_LISTS = {"list[str]": "VARCHAR[]", "list[int]": "BIGINT[]"}
_SCALARS = ("int", "float", "bool", "str")
# The compiler takes names for fields of a sample, so an argument stands in its SQL as a call of this function.
_ARGUMENT = "refinery_argument"


def candidates(operator: Operator) -> dict[str, Param]:
    """Parameters that may become arguments: bounds, and the others of an operator that checks nothing itself."""
    bounds = bounds_of(operator)
    free = not operator.checks and not any(spec.asset for spec in operator.params.values())
    together = {name for rule in operator.refuses for name in rule["when"]}
    return {
        name: spec
        for name, spec in operator.params.items()
        if name not in {*RANGE_PARAMS, *together, "text_key"}
        and (name in bounds or (free and not spec.default_when and spec.type in (*_SCALARS, *_LISTS)))
        and spec.type in (*_SCALARS, *_LISTS)
    }


def bounds_of(operator: Operator) -> dict[str, bool]:
    """The parameters that bound a statistic by a number: True for an upper bound."""
    bounds: dict[str, bool] = {}
    for low, high in operator.bounds.values():
        bounds |= {name: upper for name, upper in ((low, False), (high, True)) if name in operator.params}
    return {name: upper for name, upper in bounds.items() if operator.params[name].type in _FURTHEST}


def argument(operator: Operator, spec: Param) -> ColumnValue:
    """The SQL that stands for a parameter in the macro: the argument, checked as a recipe's value is."""
    name, upper = f"{_ARGUMENT}({lit(spec.name)})", bounds_of(operator).get(spec.name)
    if upper is not None:  # NULL is no bound
        return ColumnValue(f"coalesce({name}, {_FURTHEST[spec.type][upper]})", spec.name)
    if spec.type in _LISTS:
        name = f"CAST({name} AS {_LISTS[spec.type]})"
    problem = lit(f"{operator.name}: {spec.name} {_needs(spec)}")
    wrong = _wrong(spec, name)
    return ColumnValue(f"CASE WHEN {wrong} THEN error({problem}) ELSE {name} END" if wrong else name, spec.name)


def _wrong(spec: Param, name: str) -> str:
    """The condition under which a value is none of the parameter's; "" if all are."""
    conditions = [] if spec.nullable or spec.default is None else [f"{name} IS NULL"]
    if spec.choices is not None:
        conditions.append(f"{name} NOT IN ({', '.join(map(number, spec.choices))})")
    if spec.min is not None:
        conditions.append(f"{name} < {number(spec.min)}")
    if spec.max is not None:
        conditions.append(f"{name} > {number(spec.max)}")
    return " OR ".join(conditions)


def _needs(spec: Param) -> str:
    if spec.choices is not None:
        return f"must be one of {', '.join(map(str, spec.choices))}"
    ends = [
        f"at least {spec.min:g}" if spec.min is not None else "",
        f"at most {spec.max:g}" if spec.max is not None else "",
    ]
    return f"must be {' and '.join(filter(None, ends))}" if any(ends) else "must not be NULL"


def number(value: Any) -> str:
    """A literal; a DOUBLE with an exponent, since DuckDB reads 0.1 as a DECIMAL."""
    if isinstance(value, float) and math.isfinite(value):
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    return lit(value)


def declared(operator: Operator, free: Mapping[str, Param]) -> tuple[Parameter, ...]:
    """The arguments with their defaults; NULL stands for a bound that is none."""
    bounds = bounds_of(operator)
    return tuple(
        Parameter(name, "NULL" if name in bounds and is_unlimited(spec.default) else number(spec.default))
        for name, spec in free.items()
    )


def with_arguments(expression: exp.Expr) -> tuple[exp.Expr, set[str]]:
    """An expression with the names of arguments in place of their calls, and these names."""
    names = set[str]()

    def named(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.lower() == _ARGUMENT:
            names.add(node.expressions[0].name)
            return exp.column(
                exp.to_identifier(node.expressions[0].name, quoted=ident(node.expressions[0].name)[0] == '"')
            )
        return node

    return expression.transform(named), names
