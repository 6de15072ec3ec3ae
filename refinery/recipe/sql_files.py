"""Files that user SQL reads: table names that are paths, and arguments of DuckDB's reading functions.

Only literal names can be found. A computed name is refused, because stored results for one file could then be reused
for another.
"""

from __future__ import annotations

from collections.abc import Iterator

from refinery.common.duckdb_facts.names import OF_DUCKDB, PURE, READERS
from refinery.common.lazy import exp
from refinery.recipe.sql import parse, quoted_columns

_WRITE = "write the name itself in single quotes, or a list of such names"


def file_names(tree: exp.Expr) -> list[str]:
    """Names of the files, globs and URLs that a parsed statement or expression reads, sorted.

    Raises ValueError, with the cure, if the files cannot be known: a computed name, a function that runs a computed
    statement, a table of DuckDB itself.
    """
    return sorted(set(_named(tree)))


def files_of(sql: str) -> list[str]:
    """Names of the files that an SQL expression or sort order (such as `keep`) reads; see `file_names`."""
    return file_names(_parsed(sql))


def _parsed(sql: str) -> exp.Expr:
    """The tree of an expression or sort order."""
    text = quoted_columns(sql)
    for head in ("SELECT (\n", "SELECT 1 ORDER BY "):
        try:
            return parse(f"{head}{text}\n)" if head.endswith("(\n") else head + text)
        except ValueError:
            continue
    return parse(text)


def _named(tree: exp.Expr) -> Iterator[str]:
    """Yield each file name."""
    for node in tree.walk():
        if isinstance(node, (exp.Summarize, exp.Show, exp.Command)):
            raise ValueError(f"{node.key.upper()} is no query; write a SELECT")
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Func):
            yield from _of_table(node)
        elif isinstance(node, exp.Func):
            yield from _of_function(node)


def _of_table(table: exp.Table) -> Iterator[str]:
    parts = [part for part in table.parts if part is not None]
    if not parts or not all(isinstance(part, exp.Identifier) for part in parts):
        raise ValueError(f"{shown(table)} is no table whose file can be known; {_WRITE}")
    names = [part.name for part in parts]
    if len(parts) == 1 and _is_common(table, names[0]):
        return
    if len(parts) > 1 and names[0].lower() in OF_DUCKDB:
        raise ValueError(f"{shown(table)} is a table of DuckDB's session; a subquery can read files only")
    if len(parts) == 1 and not any(mark in names[0] for mark in "./*\\"):
        raise ValueError(f"there is no table {names[0]!r}; a subquery can read files, such as FROM 'list.parquet'")
    yield ".".join(names)  # DuckDB joins the parts of an unknown table's name


def _of_function(node: exp.Func) -> Iterator[str]:
    name = function_name(node)
    if name in READERS:
        arguments = list(node.expressions) if isinstance(node, exp.Anonymous) else [node.this, *node.expressions]
        yield from _literals(arguments[0] if arguments else None, node)
    elif name not in PURE and isinstance(node.parent, (exp.Table, exp.Lateral, exp.From, exp.Join)):
        computed = "its rows depend on more than its arguments"
        if name in ("query", "query_table", "json_execute_serialized_sql", "histogram", "histogram_values"):
            computed = "it runs a statement that is computed; write the statement itself"
        raise ValueError(f"{shown(node)} cannot be used: {computed}")


def _literals(argument: exp.Expr | None, call: exp.Expr) -> Iterator[str]:
    """Yield the texts of the literals of an argument. Raises ValueError if it is computed."""
    while isinstance(argument, (exp.Paren, exp.Cast)):
        argument = argument.this
    if isinstance(argument, exp.Literal) and argument.is_string:
        yield argument.name
    elif isinstance(argument, (exp.Array, exp.List)) and argument.expressions:
        for item in argument.expressions:
            yield from _literals(item, call)
    else:
        raise ValueError(
            f"{shown(call)}: the name of the file is computed, so its files cannot be known before the run; {_WRITE}"
        )


def _is_common(table: exp.Expr, name: str) -> bool:
    """Return whether a table's name is that of a visible common table expression (WITH)."""
    inside = table
    while (query := inside.parent) is not None:
        with_ = query.args.get("with_")
        common = with_.expressions if isinstance(with_, exp.With) else []
        if isinstance(inside, exp.With):
            common = inside.expressions[: _position(table, inside) + bool(inside.recursive)]
        if any(one.alias.lower() == name.lower() for one in common):
            return True
        inside = query
    return False


def _position(node: exp.Expr, with_: exp.With) -> int:
    """Index of the WITH expression that contains a node."""
    while node.parent is not with_:
        assert node.parent is not None
        node = node.parent
    return with_.expressions.index(node)


def function_name(node: exp.Expr) -> str:
    """DuckDB's name of the function that a node calls; empty for other nodes."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def shown(node: exp.Expr) -> str:
    """The SQL of a node, short enough for a message."""
    text = node.sql("duckdb", normalize_functions=False, comments=False)
    return text if len(text) <= 60 else text[:57] + "..."
