"""Resolves the names in a user's SQL: statistics, the sample's text, the sample's other columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from refinery.common.lazy import exp
from refinery.compiler.literals import require_numbers
from refinery.compiler.mistakes import Mistakes
from refinery.compiler.stability import reads_elsewhere, unstable
from refinery.compiler.templates import ident, json_path, lit
from refinery.errors import did_you_mean
from refinery.recipe.sql import parse as parse
from refinery.recipe.sql import quoted_columns
from refinery.recipe.sql_files import function_name, shown

Lookup = Callable[[str], "exp.Expr | None"]

# Functions that return several rows or columns for one row.
_MULTIPLYING = {"unnest", "explode", "posexplode", "generate_subscripts", "regexp_split_to_table"}


def own_expression(
    sql: str,
    lookup: Lookup,
    known: Iterable[str],
    finish: Callable[[exp.Expr], exp.Expr] = lambda resolved: resolved,
    types: Mapping[str, str] | None = None,
) -> str:
    """A user's expression over one sample, with its names resolved, in parentheses.

    finish: changes what is resolved. types: of columns, as far as they are known.

    Raises ValueError, with the cure where there is one, for SQL that is no expression, looks at other samples, differs
    from run to run, or names what is not there (`Mistakes`, when it names several).
    """
    try:
        expression = parse(quoted_columns(sql))
    except ValueError as error:
        raise ValueError(f"the SQL cannot be read: {error}") from None
    if not _can_be_selected(sql) or isinstance(expression, exp.Query) and not isinstance(expression, exp.Subquery):
        raise ValueError("this is a statement, and an expression is needed; put a SELECT of one value in parentheses")
    if isinstance(expression, exp.Alias):
        raise ValueError(f"an expression needs no name; leave out AS {expression.alias}")
    if isinstance(expression.unnest(), exp.Collate):
        raise ValueError("a collation is lost where the value is stored; write lower(...) or strip_accents(...)")
    require_one_sample(expression)
    require_numbers(expression, types or {})
    return f"({finish(resolve(expression, lookup, known)).sql('duckdb', normalize_functions=False)})"


def _can_be_selected(sql: str) -> bool:
    try:
        statement = parse(f"SELECT 1 + (\n{quoted_columns(sql)}\n)")
    except ValueError:
        return False
    return isinstance(statement, exp.Select) and len(statement.expressions) == 1


def require_one_sample(expression: exp.Expr) -> None:
    """Raise ValueError for an expression that does not have one value per sample, the same in every run."""
    if reason := unstable(expression) or _not_of_one_sample(expression):
        raise ValueError(reason)


def _not_of_one_sample(expression: exp.Expr) -> str | None:
    """Reason that an expression does not have exactly one value per sample, or None."""
    for node in expression.walk():
        inside = reads_elsewhere(node)
        if not inside and (isinstance(node, (exp.Star, exp.Columns)) or function_name(node) in _MULTIPLYING):
            return f"{shown(node)} gives more than one value for a sample"
        if isinstance(node, (exp.Placeholder, exp.Parameter)):
            return f"nothing is put in place of {shown(node)}; write the value itself"
    return None


def resolve(expression: exp.Expr, lookup: Lookup, known: Iterable[str]) -> exp.Expr:
    """Replace every column reference by the result of `lookup` for its first part.

    As in DuckDB, letter case decides only where two names differ in nothing else. What stands in a subquery with a
    FROM of its own is left alone. Raises Mistakes with every name that nothing is known of, and the nearest known one.
    """
    names = list(known)
    wrong: list[ValueError] = []

    def find(head: str) -> exp.Expr:
        column = lookup(head)
        alike = {name for name in names if name.lower() == head.lower()} if column is None else set()
        if len(alike) == 1:
            column = lookup(alike.pop())
        elif alike:
            raise ValueError(f"{head!r} could be {' or '.join(map(repr, sorted(alike)))}; write it as one of them")
        if column is None:
            raise ValueError(f"no column or statistic {head!r}{did_you_mean(head, names)}")
        return column.copy()

    def replace(node: exp.Expr) -> exp.Expr:
        # sqlglot parses `text.lower()` not as a column, but as a chain of dots that starts with a name.
        first = isinstance(node, exp.Identifier) and isinstance(node.parent, exp.Dot) and node.arg_key == "this"
        if not (first or isinstance(node, exp.Column)) or _within_from(node) or _bound(node):
            return node
        head, *rest = [node.name] if first else [part.name for part in cast(exp.Column, node).parts]
        try:
            result = find(head)
        except ValueError as error:
            wrong.append(error)
            return node
        for part in rest:
            result = exp.Dot(this=result, expression=exp.to_identifier(part, quoted=not part.isidentifier()))
        return result

    resolved = expression.transform(replace)
    if wrong:
        raise Mistakes(wrong)
    return resolved


def _within_from(node: exp.Expr) -> bool:
    """Return whether DuckDB looks the name up in a subquery's own rows first."""
    select = node.find_ancestor(exp.Select)
    return select is not None and select.parent is not None and reads_elsewhere(node)


def _bound(node: exp.Expr) -> bool:
    """Return whether the name is the variable of a lambda or of a list comprehension."""
    name = node.parts[0].name if isinstance(node, exp.Column) else node.name
    ancestor = node.find_ancestor(exp.Lambda, exp.Comprehension)
    while ancestor is not None:
        variables = ancestor.expressions if isinstance(ancestor, exp.Lambda) else [ancestor.args["expression"]]
        if any(name == identifier.name for variable in variables for identifier in variable.find_all(exp.Identifier)):
            return True
        ancestor = ancestor.find_ancestor(exp.Lambda, exp.Comprehension)
    return False


def json_of_numbers(value: str, name: str) -> str:
    """SQL for a list of numbers as JSON, each as short as its type allows; numbers that JSON lacks are an error."""
    whole = f"coalesce(list_bool_and(list_transform({value}, lambda x: coalesce(isfinite(x), FALSE))), TRUE)"
    wrong = lit(f"{name} would have a value that is no finite number")
    return f"CASE WHEN {whole} THEN replace(CAST({value} AS VARCHAR), ' ', '') ELSE error({wrong}) END"


def json_of_text(value: str) -> str:
    """SQL for a text as JSON."""
    return f"CAST(to_json({value}) AS VARCHAR)"


def text_of_line(keys: tuple[str, ...], line: str) -> str:
    """SQL for a text field of a JSON line; NULL unless the value is a string."""
    path = lit(json_path(keys))
    return f"CASE WHEN json_type({line}, {path}) = 'VARCHAR' THEN {line} ->> {path} END"


def text_of_columns(keys: tuple[str, ...]) -> str:
    """SQL for a text field of typed columns."""
    return ".".join(ident(key) for key in keys)
