"""`fields`: types of JSON fields that the recipe declares."""

from __future__ import annotations

import re

from refinery.common.connections import connect
from refinery.common.duckdb_facts.names import TYPES
from refinery.common.fields import field_name, keys_of
from refinery.common.lazy import duckdb
from refinery.errors import suggestion
from refinery.recipe.key import RecipeKey
from refinery.recipe.tree import Entry, Mapping, Problems, Scalar
from refinery.recipe.values import take

_TYPE = RecipeKey("fields", "str", "")
_PARAMETERS = re.compile(r"\(.*\)|\[.*\]", re.S)


def read_fields(entry: Entry | None, problems: Problems) -> tuple[tuple[str, str], ...]:
    """Pairs of a field and its type in SQL, as the recipe has them; errors are added to `problems`."""
    node = entry.node if entry is not None else None
    if isinstance(node, Scalar):
        node = node.collection
    if not isinstance(node, Mapping):
        return ()  # the check of all keys reports a value that is no mapping
    fields: dict[str, str] = {}
    for name, declared in node.entries.items():
        kind = take(declared.node, _TYPE, f"fields.{name}", problems, "").strip()
        wrong = _wrong(name, kind)
        if wrong is not None:
            problems.add(declared.node.place, *wrong)
        else:
            fields[field_name(keys_of(name))] = kind
    return tuple(fields.items())


def _wrong(name: str, kind: str) -> tuple[str, str | None] | None:
    """Fault of a declaration, with the cure; None for a sound one."""
    if not all(keys_of(name)):
        return f"fields names the field {name!r}, which has an empty part", None
    cure = suggestion(_PARAMETERS.sub("", kind).strip().upper(), TYPES)
    if kind and is_type(kind):
        return None
    return (
        f"fields.{name}: there is no type {kind!r}",
        cure or f"Types are {', '.join(TYPES[:8])} and others of DuckDB.",
    )


def is_type(kind: str) -> bool:
    """Return whether DuckDB has the type, and it holds values of JSON."""
    with connect() as con:
        try:
            (row,) = con.execute("SELECT typeof(TRY_CAST('{}'::JSON AS " + _alone(kind) + "))").fetchall()
        except (duckdb.Error, ValueError):
            return False
    return row[0] != '"NULL"'


def _alone(kind: str) -> str:
    """The type. Raises ValueError for text that may be more than a type."""
    if re.search(r"[;'\0]|--|/\*", kind) or kind.count("(") != kind.count(")"):
        raise ValueError(kind)
    return kind
