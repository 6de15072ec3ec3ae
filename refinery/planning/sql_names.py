"""Names in a recipe's SQL that may be fields of a sample. Some are not; a field that SQL names is never left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AnySet
from typing import Any

from refinery.common.fields import keys_of
from refinery.compiler.kept_order import order_of
from refinery.compiler.templates import arguments
from refinery.operators import Library, Operator, is_shipped
from refinery.recipe.by_column import ByColumn

# Texts and comments, functions, types of casts, members behind a point, names, and names in quotes.
_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | --[^\n]* | /\*.*?\*/ | ::\s*[^\W\d]\w* | \.\s*[^\W\d]\w* | \.\s*"(?:[^"]|"")*"
      | (?P<quoted>"(?:[^"]|"")*") | (?P<name>[^\W\d][\w$]*)(?P<call>\s*\()? | \d[\w.]*""",
    re.X | re.S,
)
_NAME = re.compile(r'"(?:[^"]|"")*"|[^\W\d][\w$]*')
# Where texts may hold quotes in other ways, their words count as names.
_UNUSUAL = re.compile(r"\\'|\$\w*\$")
# Statements and expressions of templates.
_JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.S)
# Words that are no name without quotes.
_RESERVED = {
    "all", "and", "any", "array", "as", "asc", "between", "both", "case", "cast", "collate", "desc", "distinct", "else", "end",
    "escape", "exists", "false", "filter", "first", "from", "having", "ilike", "in", "is", "last", "lambda", "like", "limit",
    "not", "null", "nulls", "on", "or", "order", "over", "select", "similar", "then", "true", "try_cast", "using", "when",
    "where", "with",
}  # fmt: skip


def names_in_sql(
    expressions: Sequence[str], steps: Sequence[Any], library: Library, text_key: str, kept: Sequence[str]
) -> frozenset[str]:
    """Names, in lower case, of all fields of samples that the SQL of a recipe may read, but for its texts.

    expressions: SQL of the recipe besides its steps. kept: fields that the tables keep.
    """
    names = {name for sql in expressions for name in names_in(sql)}
    stats: set[str] = set()
    for step in steps:
        operator = library.operators[step.name]
        names |= {name for name in _of_step(step, operator) if name not in stats}
        for stat in operator.stats_of(step.params):
            stats |= {stat, f"{stat}_{step.index}"}
    names = {name.lower() for name in names} - {"_row", ""}
    kept = [name for name in kept if name != text_key]
    return frozenset(names - _texts(steps, text_key)) | {head.lower() for name in kept for head in _heads(name)}


def names_in(sql: str) -> AnySet[str]:
    """Names in SQL that may be columns."""
    if _UNUSUAL.search(sql):
        return {_plain(name) for name in _NAME.findall(sql)}
    return {name for token in _TOKEN.finditer(sql) if (name := _name(token))}


def _name(token: re.Match[str]) -> str:
    if token["quoted"]:
        return _plain(token["quoted"])
    return "" if token["call"] or not token["name"] or token["name"].lower() in _RESERVED else token["name"]


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _of_step(step: Any, operator: Operator) -> Iterator[str]:
    """Names in the SQL of a step, and those that its operator's SQL reads."""
    for name, param in operator.params.items():
        if param.type == "sql" and step.params.get(name) is not None:
            yield from names_in(str(step.params[name]))
    for value in step.params.values():
        if isinstance(value, ByColumn):
            yield from names_in(value.column)
    if operator.kind == "deduplicator" and isinstance(step.params.get("keep"), str):
        yield from names_in(order_of(step.params))
    for body in filter(None, (operator.sql, operator.compare, operator.apply)):
        yield from _of_body(step, body, is_shipped(operator.path))


def _of_body(step: Any, body: str, shipped: bool) -> Iterator[str]:
    """Names in the body of an operator. shipped: it reads fields by `field(...)` alone."""
    for asked in arguments(body, "field"):
        value = step.params.get(asked.text) if asked.is_variable else asked.text
        yield from _heads(value)
    if not shipped:
        yield from names_in(_JINJA.sub(" ", body))
        for value in step.params.values():
            yield from _heads(value)
            yield from names_in(value) if isinstance(value, str) else ()


def _heads(value: Any) -> Sequence[str]:
    """A field's name as it is, and the first part of a nested one."""
    if not isinstance(value, str) or not value:
        return ()
    try:
        return value, keys_of(value)[0]
    except ValueError:
        return (value,)


def _texts(steps: Sequence[Any], text_key: str) -> set[str]:
    """`text`, where it is always the text that a step works on."""
    named = [text_key, *(step.params.get("text_key") or text_key for step in steps)]
    return {"text"} if all(keys_of(name)[-1] == "text" for name in named) else set()
