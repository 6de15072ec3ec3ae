"""Resolves the names that a person writes in SQL: statistics, the sample's text, the sample's other columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from sqlglot import exp

from refinery.compiler.env import ident, json_path, lit
from refinery.errors import did_you_mean

Lookup = Callable[[str], exp.Expression | None]

# What would make a row's fate depend on its neighbours, on chance or on the clock.
_UNSTABLE = {"random", "uuid", "gen_random_uuid", "now", "current_timestamp", "nextval", "get_current_time", "today"}


def parse(sql: str) -> exp.Expression:
    """Parse one DuckDB statement or expression. Raises ValueError with a one-line reason."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return cast(exp.Expression, sqlglot.parse_one(sql, dialect="duckdb"))
    except SqlglotError as error:
        details = getattr(error, "errors", None) or [{}]
        reason = details[0].get("description") or str(error)
        at = details[0].get("highlight")
        raise ValueError(f"{reason}, at {at!r}" if at else reason) from None


def unstable(expression: exp.Expression) -> str | None:
    """Why the expression cannot be an operator's (it looks at other rows, or differs from run to run), or None."""
    for node in expression.walk():
        if isinstance(node, (exp.Window, exp.AggFunc)):
            return f"{node.sql('duckdb')} looks at more than one row; an operator sees one sample at a time"
        name = node.name.lower() if isinstance(node, exp.Anonymous) else node.key
        if name in _UNSTABLE or isinstance(node, (exp.Rand, exp.CurrentTimestamp, exp.CurrentDate)):
            cure = "use hash(_row) % 100 < 10 to sample" if "rand" in name else "write the value itself"
            return f"{node.sql('duckdb')} gives another result at every run; {cure}"
    return None


def resolve(expression: exp.Expression, lookup: Lookup, known: Iterable[str]) -> exp.Expression:
    """Replace every column reference by what `lookup` says of its first part.

    Raises ValueError for a name that nothing is known of, with the nearest known one.
    """

    def replace(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column) or _inside_subquery(node, expression):
            return node
        head, *rest = [part.name for part in node.parts]
        found = lookup(head)
        if found is None:
            raise ValueError(f"no column or statistic {head!r}{did_you_mean(head, known)}")
        result = found.copy()
        for part in rest:
            result = exp.Dot(this=result, expression=exp.to_identifier(part))
        return result

    return expression.transform(replace)


def _inside_subquery(node: exp.Expression, root: exp.Expression) -> bool:
    parent = node.find_ancestor(exp.Subquery, exp.Select)
    return parent is not None and parent is not root


def json_column(name: str, kind: str) -> str:
    """SQL for column `name` of type `kind` of a JSON line; NULL where the value does not fit the type."""
    path = lit(json_path((name,)))
    if kind.upper() == "VARCHAR":
        return f"_line ->> {path}"
    if kind.upper() == "JSON":
        return f"CASE WHEN json_type(_line, {path}) <> 'NULL' THEN _line -> {path} END"
    return f"TRY_CAST((_line -> {path}) AS {kind})"


def text_of_line(keys: tuple[str, ...]) -> str:
    """SQL for a text field of a JSON line; NULL unless the value is a string."""
    path = lit(json_path(keys))
    return f"CASE WHEN json_type(_line, {path}) = 'VARCHAR' THEN _line ->> {path} END"


def text_of_columns(keys: tuple[str, ...]) -> str:
    """SQL for a text field of typed columns."""
    return ".".join(ident(key) for key in keys)
