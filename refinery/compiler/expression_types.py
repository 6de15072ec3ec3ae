"""Types of expressions over columns of known types, as DuckDB has them."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from refinery.common.connections import connect
from refinery.common.fields import quoted
from refinery.common.lazy import exp

if TYPE_CHECKING:
    import duckdb

# Functions of refinery that stand in rewritten SQL, with their types.
_FUNCTIONS = (
    "CREATE MACRO json_by_value(value) AS CAST(value AS VARCHAR)",
    "CREATE MACRO json_order(one, other) AS CAST(0 AS BIGINT)",
)


@lru_cache(maxsize=10_000)
def type_of_sql(sql: str, columns: tuple[tuple[str, str], ...]) -> str | None:
    """The type of an expression; None if it cannot be said. columns: names and types of the columns."""
    import duckdb

    values = ", ".join(f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in columns)
    try:
        cursor = _database().cursor()
        return str(cursor.execute(f"DESCRIBE SELECT {sql} AS _value FROM (SELECT {values})").fetchall()[0][1])
    except duckdb.Error:
        return None


@cache
def _database() -> duckdb.DuckDBPyConnection:
    con = connect()
    for statement in _FUNCTIONS:
        con.execute(statement)
    return con


def list_of_variable(node: exp.Expr, name: str) -> exp.Expr | None:
    """The list whose elements a variable of a lambda or a list comprehension stands for; None for other names."""
    scope = node.parent
    while scope is not None:
        if isinstance(scope, exp.Comprehension) and name == scope.expression.name:
            source: exp.Expr | None = scope.args.get("iterator")
            return source if source is not node else None
        if isinstance(scope, exp.Lambda) and name in [one.name for one in _elements(scope)]:
            return _list_of(scope)
        scope = scope.parent
    return None


def variables_around(node: exp.Expr) -> list[str]:
    """Names of the variables that an expression may use."""
    names, scope = [], node.parent
    while scope is not None:
        if isinstance(scope, exp.Comprehension):
            names.append(scope.expression.name)
        if isinstance(scope, exp.Lambda):
            names += [one.name for one in scope.expressions]
        scope = scope.parent
    return names


def _elements(scope: exp.Lambda) -> list[exp.Expr]:
    """The variables of a lambda that are elements: the second is an index, but of `list_reduce`."""
    reduces = isinstance(scope.parent, exp.Anonymous) and scope.parent.name.lower().endswith("reduce")
    return scope.expressions[: 2 if reduces or isinstance(scope.parent, exp.Reduce) else 1]


def _list_of(scope: exp.Lambda) -> exp.Expr | None:
    call = scope.parent
    if call is None:
        return None
    if isinstance(call.parent, exp.Dot) and call.parent.expression is call:
        owner: exp.Expr = call.parent.this  # `tags.list_filter(lambda x: ...)`
        return owner
    first: exp.Expr | None = call.expressions[0] if isinstance(call, exp.Anonymous) else call.this
    return first if first is not scope else None
