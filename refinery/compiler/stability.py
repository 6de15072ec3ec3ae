"""Checks that an expression over one sample depends on nothing else: other samples, chance, clock, session."""

from __future__ import annotations

from refinery.common.duckdb_facts.names import BY_NAME, UNSTABLE, WITH_TIMES
from refinery.common.lazy import exp
from refinery.recipe.sql_files import function_name, shown

# Columns of WITH_TIMES without the time of a file's last change, which is in no key.
_TIMELESS = frozenset({"filename", "content", "size"})
_NO_TIMES = (
    "of a SELECT name filename, content or size and nothing else, for last_modified is a clock; "
    "such as (SELECT content FROM read_text('a.txt'))"
)


def unstable(expression: exp.Expr) -> str | None:
    """Reason that the expression is not allowed (it reads other samples, or differs from run to run), or None."""
    for node in expression.walk():
        if isinstance(node, (exp.Window, exp.AggFunc)) and not reads_elsewhere(node):
            return f"{shown(node)} looks at more than one row; an operator sees one sample at a time"
        if isinstance(node, exp.TableSample):
            return f"{shown(node)} gives another result at every run; ORDER BY hash(...) LIMIT n draws the same rows each time"
        name = function_name(node)
        if name in BY_NAME and (reason := _aggregate_by_name(node)):
            return reason
        if name in WITH_TIMES and _sees_times(node):
            return f"{shown(node)} has another result when a file is touched; let its columns {_NO_TIMES}"
        if name in UNSTABLE or (name == "age" and len(list(node.iter_expressions())) == 1):
            cure = "use hash(_row) % 100 < 10 to sample" if "rand" in name else "write the value itself"
            return f"{shown(node)} gives another result at every run; {cure}"
    return None


def _aggregate_by_name(node: exp.Expr) -> str | None:
    """Reason that a function may not call the aggregate that its argument names, or None."""
    method = isinstance(node.parent, exp.Dot)  # [1].list_aggr('sum')
    arguments = list(node.iter_expressions())[0 if method else 1 :][:1]
    if not arguments or not isinstance(arguments[0], exp.Literal):
        return f"{shown(node)} calls an aggregate whose name is computed; write its name in single quotes"
    if arguments[0].name.lower() in UNSTABLE:
        return f"{shown(node)} gives another result at every run; take quantile_cont"
    return None


def _sees_times(function: exp.Expr) -> bool:
    """Return whether a SELECT from a table function may see times of files.

    Only a plain `SELECT content, size FROM read_text(...)`, with conditions on these columns, is known to see none. One
    that selects no columns by name, other columns, or renamed columns, may see times.
    """
    table, select = function.parent, function.find_ancestor(exp.Select)
    if select is None or not isinstance(table, exp.Table) or table.args.get("pivots"):
        return True
    if table.alias_column_names or select.args.get("joins") or select.args.get("laterals"):
        return True
    columns = [column for column in select.find_all(exp.Column) if column.find_ancestor(exp.Select) is select]
    rows = {table.alias.lower() or function_name(function)} - _TIMELESS
    whole = any(not column.table and column.name.lower() in rows for column in columns)
    stars = any(not isinstance(star.parent, exp.Count) for star in select.find_all(exp.Star, exp.Columns))
    numbers = next(
        select.find_all(exp.Parameter, exp.Placeholder, exp.PositionalColumn), None
    )  # #4 is the fourth column
    return whole or stars or numbers is not None or any(map(_is_time, select.find_all(exp.Identifier)))


def _is_time(node: exp.Expr) -> bool:
    return node.name.lower() == "last_modified"


def reads_elsewhere(node: exp.Expr) -> bool:
    """Return whether the node belongs to a subquery that has rows of its own."""
    select = node if isinstance(node, exp.Select) else node.find_ancestor(exp.Select)
    while select is not None:
        if select.args.get("from_") or select.args.get("from"):
            return select.parent is not None
        select = select.find_ancestor(exp.Select)
    return False
