"""Parameters that depend on a column, in the SQL of an operator: the value of each sample as a column of its own.

A number or text that the body only writes (`| lit`) is looked up for each sample. A parameter that shapes the SQL (a
condition of the template, a constant of a worker's function, a parameter of a feature) has few values: the body is
rendered with each of them, and a CASE over the column chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refinery.common.lazy import exp
from refinery.compiler.templates import ColumnValue, DependsOnColumn, ident, lit
from refinery.compiler.terms import is_verdict
from refinery.operators import Operator
from refinery.recipe.by_column import VALUES, ByColumn
from refinery.recipe.sql import parse

# More different bodies than this are a mistake: each is planned and compared for every sample.
_MOST_BODIES = 4096
_TYPES = {"int": "BIGINT", "float": "DOUBLE"}
_FURTHEST = {"BIGINT": (-(2**63) + 1, 2**63 - 1), "DOUBLE": (-math.inf, math.inf)}

Render = Callable[[Mapping[str, Any]], exp.Select]


def stored_name(operator: Operator, param: str) -> str:
    """The statistic that holds each sample's value of a parameter."""
    return f"{param}_of_sample" if param in operator.stats else param


def stored_types(operator: Operator, params: Mapping[str, Any]) -> dict[str, str]:
    """Numbers that depend on a column, by the names of the statistics that hold them, with their SQL types."""
    return {
        stored_name(operator, name): _TYPES[operator.params[name].type]
        for name, value in params.items()
        if isinstance(value, ByColumn) and operator.params[name].type in _TYPES
    }


def select_by_column(
    operator: Operator, params: Mapping[str, Any], render: Render, column_sql: Callable[[str], str]
) -> exp.Select:
    """The SELECT of an operator's body, with the columns of parameters that depend on a column in front.

    render: makes the body with plain parameters and `ColumnValue`s. column_sql: makes SQL over the chain of a user's SQL.
    Raises ValueError for parameters that cannot depend on a column.
    """
    keyed = {name: value for name, value in params.items() if isinstance(value, ByColumn)}
    bounds = {end for ends in operator.bounds.values() for end in ends}
    shaping = {name for name, value in keyed.items() if None in value.all_values and name not in bounds}
    while True:
        columns = {name: ColumnValue(f"_by_{name}", name) for name in keyed if name not in shaping}
        choices = _Choices({name: keyed[name] for name in keyed if name in shaping})
        try:
            selects = [render({**params, **columns, **choice}) for choice in choices.sets]
        except DependsOnColumn as error:
            shaping.add(error.parameter)
            continue
        constants = {name for select in selects for name in _in_constants(select, operator, columns)}
        if not constants:
            break
        shaping |= constants
    places = {column: f"_at_{n}" for n, column in enumerate(dict.fromkeys(v.column for v in keyed.values()))}
    texts = {column: sorted({t for v in keyed.values() if v.column == column for t in v[VALUES]}) for column in places}
    made = [_position(places[column], texts[column], column_sql(column)) for column in places]
    made += [
        _value(name, keyed[name], operator, bounds, places, texts)
        for name in keyed
        if _is_looked_up(operator, name, columns)
    ]
    made += [
        _alias(f"_by_{name}", stored_name(operator, name)) for name in keyed if operator.params[name].type in _TYPES
    ]
    chosen = _alias(choices.sql(places, texts), "_by_body") if choices.column else None
    body = _merged(selects, bool(chosen))
    names = {f"_by_{name}": stored_name(operator, name) for name in columns if operator.params[name].type in _TYPES}
    for projection in body:
        if is_verdict(projection.alias_or_name):
            _rename(projection, names)
    return exp.Select(expressions=[*made, *([chosen] if chosen is not None else []), *body])


def _is_looked_up(operator: Operator, name: str, columns: Mapping[str, Any]) -> bool:
    return name in columns or operator.params[name].type in _TYPES


class _Choices:
    """Sets of the values of parameters that shape the SQL, and the number of the set for each text of their column."""

    def __init__(self, shaping: Mapping[str, ByColumn]) -> None:
        columns = list(dict.fromkeys(value.column for value in shaping.values()))
        if len(columns) > 1:
            raise ValueError(
                f"{', '.join(shaping)} shape the SQL, so they must depend on one column, not on {len(columns)}"
            )
        self.column = columns[0] if columns else ""
        texts = dict.fromkeys(text for value in shaping.values() for text in value[VALUES])
        self.sets: list[dict[str, Any]] = [{name: value.of(None) for name, value in shaping.items()}]
        self.numbers: dict[str, int] = {}
        for text in texts:
            one = {name: value.of(text) for name, value in shaping.items()}
            if one not in self.sets:
                self.sets.append(one)
            self.numbers[text] = self.sets.index(one)
        if len(self.sets) > _MOST_BODIES:
            raise ValueError(
                f"{', '.join(shaping)} have {len(self.sets):,} different values; at most {_MOST_BODIES:,} are possible"
            )

    def sql(self, places: Mapping[str, str], texts: Mapping[str, Sequence[str]]) -> str:
        """SQL for the number of the sample's set."""
        numbers = [self.numbers.get(text, 0) for text in texts[self.column]]
        return f"coalesce(list_extract({lit(numbers)}, {places[self.column]}), 0)"


def _position(name: str, texts: Sequence[str], sql: str) -> exp.Expr:
    """The place of the sample's text among all texts of the column; NULL if it is none of them."""
    return _alias(f"list_position({lit(list(texts))}, CAST({sql} AS VARCHAR))", name)


def _value(
    name: str,
    value: ByColumn,
    operator: Operator,
    bounds: set[str],
    places: Mapping[str, str],
    texts: Mapping[str, Sequence[str]],
) -> exp.Expr:
    kind = _TYPES.get(operator.params[name].type, "")
    otherwise = _no_bound(operator, name, kind) if name in bounds and kind else None
    values = [value.of(text) for text in texts[value.column]]
    first, *others = (_number(v, kind, otherwise) for v in (value.of(None), *values))
    return _alias(f"coalesce(list_extract([{', '.join(others)}], {places[value.column]}), {first})", f"_by_{name}")


def _no_bound(operator: Operator, name: str, kind: str) -> Any:
    """The number that stands for no bound at a parameter's end of a range."""
    return _FURTHEST[kind][any(name == high for _, high in operator.bounds.values())]


def _number(value: Any, kind: str, otherwise: Any) -> str:
    """A literal; a DOUBLE is written with an exponent, since DuckDB reads 0.1 as a DECIMAL."""
    value = otherwise if value is None else value
    if kind == "DOUBLE" and isinstance(value, (int, float)) and math.isfinite(value):
        text = repr(float(value))
        return text if "e" in text else f"{text}e0"
    return lit(value)


def _alias(sql: str, name: str) -> exp.Expr:
    return exp.alias_(parse(sql), exp.to_identifier(name, quoted=ident(name) != name))


def _in_constants(select: exp.Select, operator: Operator, columns: Mapping[str, ColumnValue]) -> set[str]:
    """Parameters that stand in arguments which a function gets once for a whole vector."""
    names = {value.sql: name for name, value in columns.items()}
    first = {function.name.lower(): len(function.columns) for function in operator.functions if function.constants}
    found = set()
    for call in select.find_all(exp.Anonymous):
        for argument in call.expressions[first[call.name.lower()] :] if call.name.lower() in first else ():
            found |= {names[c.name] for c in argument.find_all(exp.Column) if c.name in names}
    return found


def _merged(selects: Sequence[exp.Select], several: bool) -> list[exp.Expr]:
    """The columns of one body, or of all: each a CASE over the number of the sample's body."""
    if not several:
        return list(selects[0].expressions)
    bodies = [{one.alias_or_name: one.unalias() for one in select.expressions} for select in selects]
    names = sorted({name for body in bodies for name in body}, key=lambda name: _place(name, bodies))
    merged = []
    for name in names:
        case, other = exp.Case(), exp.true() if is_verdict(name) else exp.null()
        for number, body in enumerate(bodies[1:], 1):
            case = case.when(f"_by_body = {number}", body.get(name, other).copy())
        merged.append(
            exp.alias_(
                case.else_(bodies[0].get(name, other).copy()), exp.to_identifier(name, quoted=ident(name) != name)
            )
        )
    return merged


def _place(name: str, bodies: Sequence[Mapping[str, Any]]) -> int:
    """The furthest place of a column in the bodies, so that columns stand behind those that they name."""
    return max(list(body).index(name) for body in bodies if name in body)


def _rename(expression: exp.Expr, names: Mapping[str, str]) -> None:
    for column in list(expression.find_all(exp.Column)):
        if column.name in names:
            column.set("this", exp.to_identifier(names[column.name], quoted=True))
