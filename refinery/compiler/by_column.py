"""Parameters that depend on a column, in the SQL of an operator: the value of each sample as a column of its own.

A number or text that the body only writes (`| lit`) is looked up for each sample. A parameter that shapes the SQL (a
condition of the template, a constant of a worker's function, a parameter of a feature) has few values: the body is
rendered with each of them, and a CASE over the column chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from refinery.common.lazy import exp
from refinery.compiler.templates import ColumnValue, DependsOnColumn, ident, lit
from refinery.compiler.terms import is_verdict
from refinery.operators import Function, Operator
from refinery.recipe.by_column import VALUES, ByColumn
from refinery.recipe.sql import parse

# More different bodies than this are a mistake: each is planned and compared for every sample.
_MOST_BODIES = 4096
_TYPES = {"int": "BIGINT", "float": "DOUBLE"}
_FURTHEST = {"BIGINT": (-(2**63) + 1, 2**63 - 1), "DOUBLE": (-math.inf, math.inf)}

Render = Callable[[Mapping[str, Any]], Any]  # gives a SELECT; sqlglot is not imported for its type


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
    operator: Operator,
    params: Mapping[str, Any],
    render: Render,
    column_sql: Callable[[str], str],
    define: Callable[[str, str], str],
) -> exp.Select:
    """The SELECT of an operator's body, with each sample's values of parameters that depend on a column.

    render: makes the body with plain parameters and `ColumnValue`s. column_sql: makes SQL over the chain of a user's SQL.
    define: adds a column with a name and SQL to the chain, and returns its name. Raises ValueError for parameters that
    cannot depend on a column.
    """
    keyed = {name: value for name, value in params.items() if isinstance(value, ByColumn)}
    looked_up = _Values(operator, keyed, params, column_sql, define)
    shaping = {name for name, value in keyed.items() if None in value.all_values and name not in looked_up.bounds}
    while True:
        choices = _Choices({name: keyed[name] for name in keyed if name in shaping})
        columns = {name: looked_up.value(name) for name in keyed if name not in shaping}
        try:
            selects = [render({**params, **columns, **choice}) for choice in choices.sets]
        except DependsOnColumn as error:
            shaping.add(error.parameter)
            continue
        constants = {name for select in selects for name in in_constants(select, operator.functions, columns.values())}
        if not constants:
            break
        shaping |= constants
    number = looked_up.number(choices) if choices.column else ""
    body = _merged(selects, number, looked_up.own)
    verdicts = [projection for projection in body if is_verdict(projection.alias_or_name, looked_up.own)]
    stored = {name: stored_name(operator, name) for name in keyed if operator.params[name].type in _TYPES}
    names = {looked_up.value(name).sql: stored[name] for name in columns if name in stored}
    for projection in verdicts:
        _rename(projection, names)
    rest = [projection for projection in body if not is_verdict(projection.alias_or_name, looked_up.own)]
    late = looked_up.private(rest)
    held = [_alias(looked_up.value(name).sql, stat) for name, stat in stored.items()]
    return exp.Select(expressions=[*rest, *late, *held, *verdicts])


class _Values:
    """Columns with each sample's values: of the chain, or behind the body if they depend on the operator's own statistics."""

    def __init__(
        self,
        operator: Operator,
        keyed: Mapping[str, ByColumn],
        params: Mapping[str, Any],
        column_sql: Callable[[str], str],
        define: Callable[[str, str], str],
    ) -> None:
        self.operator, self.keyed, self.column_sql, self.define = operator, keyed, column_sql, define
        self.bounds = {end for ends in operator.bounds.values() for end in ends}
        self.own = set(operator.stats_of(params))
        self.columns = list(dict.fromkeys(value.column for value in keyed.values()))
        self.texts = {
            column: sorted({text for value in keyed.values() if value.column == column for text in value[VALUES]})
            for column in self.columns
        }
        self._places: dict[str, str] = {}
        self._values: dict[str, ColumnValue] = {}
        self._late: list[exp.Expr] = []

    def is_late(self, column: str) -> bool:
        """Return whether a column's SQL names nothing but statistics that the operator itself measures."""
        names = {node.name for node in parse(column).find_all(exp.Column)}
        return bool(names) and names <= self.own

    def value(self, name: str) -> ColumnValue:
        """The column of a parameter's values."""
        if name not in self._values:
            value = self.keyed[name]
            place, kind = self._place(value.column), _TYPES.get(self.operator.params[name].type, "")
            otherwise = _no_bound(self.operator, name, kind) if name in self.bounds and kind else None
            first, *others = (
                _number(v, kind, otherwise) for v in (value.of(None), *map(value.of, self.texts[value.column]))
            )
            sql = f"coalesce(list_extract([{', '.join(others)}], {place}), {first})"
            column = self._add(value.column, f"_by_{name}", sql)
            self._values[name] = ColumnValue(column, name, value.all_values)
        return self._values[name]

    def number(self, choices: _Choices) -> str:
        """The column with the number of the sample's body."""
        if self.is_late(choices.column):
            raise ValueError(
                f"{', '.join(choices.names)} cannot depend on {choices.column}, which the step itself measures"
            )
        numbers = [choices.numbers.get(text, 0) for text in self.texts[choices.column]]
        sql = f"coalesce(list_extract({lit(numbers)}, {self._place(choices.column)}), 0)"
        return self._add(choices.column, "_by_body", sql)

    def private(self, body: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Columns behind the body, with its expressions in place of the statistics that they name."""
        values = {one.alias_or_name: one.unalias() for one in body}

        def inserted(node: exp.Expr) -> exp.Expr:
            known = isinstance(node, exp.Column) and node.name in self.own and node.name in values
            return exp.Paren(this=values[node.name].copy()) if known else node

        return [projection.transform(inserted) for projection in self._late]

    def _place(self, column: str) -> str:
        """The column with the place of the sample's text among all texts; NULL if it is none of them."""
        if column not in self._places:
            sql = column if self.is_late(column) else self.column_sql(column)
            position = f"list_position({lit(self.texts[column])}, CAST({sql} AS VARCHAR))"
            self._places[column] = self._add(column, f"_at_{len(self._places)}", position)
        return self._places[column]

    def _add(self, column: str, name: str, sql: str) -> str:
        if not self.is_late(column):
            return ident(self.define(name, sql))
        self._late.append(_alias(sql, name))
        return name


class _Choices:
    """Sets of the values of parameters that shape the SQL, and the number of the set for each text of their column."""

    def __init__(self, shaping: Mapping[str, ByColumn]) -> None:
        self.names = list(shaping)
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
    return _named(parse(sql), name)


def _named(expression: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(expression, exp.to_identifier(name, quoted=ident(name) != name))


def in_constants(tree: exp.Expr, functions: Sequence[Function], columns: Iterable[ColumnValue]) -> set[str]:
    """Parameters that stand in arguments which a function gets once for a whole vector."""
    names = {value.sql: value.parameter for value in columns}
    first = {function.name.lower(): len(function.columns) for function in functions if function.constants}
    used = set()
    for call in tree.find_all(exp.Anonymous):
        for argument in call.expressions[first[call.name.lower()] :] if call.name.lower() in first else ():
            used |= {names[ident(c.name)] for c in argument.find_all(exp.Column) if ident(c.name) in names}
    return used


def _merged(selects: Sequence[exp.Select], number: str, stats: Collection[str]) -> list[exp.Expr]:
    """The columns of all bodies: where they differ, a CASE over the number of the sample's body."""
    bodies = [{one.alias_or_name: one.unalias() for one in select.expressions} for select in selects]
    names = sorted({name for body in bodies for name in body}, key=lambda name: _place(name, bodies))
    merged = []
    for name in names:
        other = exp.true() if is_verdict(name, stats) else exp.null()
        first, *others = (body.get(name, other) for body in bodies)
        case = exp.Case()
        for at, expression in enumerate(others, 1):
            if expression != first:
                case = case.when(f"{number} = {at}", expression.copy())
        merged.append(_named(case.else_(first.copy()) if case.args.get("ifs") else first.copy(), name))
    return merged


def _place(name: str, bodies: Sequence[Mapping[str, Any]]) -> int:
    """The furthest place of a column in the bodies, so that columns stand behind those that they name."""
    return max(list(body).index(name) for body in bodies if name in body)


def _rename(expression: exp.Expr, names: Mapping[str, str]) -> None:
    for column in list(expression.find_all(exp.Column)):
        if ident(column.name) in names:
            column.set("this", exp.to_identifier(names[ident(column.name)], quoted=True))
