"""SQL that reads a field of JSON lines as its exact type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from refinery.common.fields import field_name, keys_of, quoted
from refinery.compiler.column_names import Keys
from refinery.compiler.model import Schema
from refinery.compiler.templates import json_path, lit

# Types that round; a value fits if DOUBLE holds it.
_FLOAT = re.compile(r"\b(FLOAT4?|REAL)\b", re.I)
# Types whose values JSON has as texts: converted back, they are other texts.
_AS_TEXT = re.compile(r"\b(DATE|TIME\w*|INTERVAL|UUID|BLOB|BIT|ENUM)\b", re.I)


def json_column(name: str, schema: Schema, line: str) -> str:
    """SQL for field `name` of a JSON line, NULL where it is missing or null.

    A value that does not fit the declared type exactly is an error of its row.
    """
    column = _column(name, schema, line)
    checks = [_misfit(keys, kind, line) for keys, kind in schema.declared.items() if keys[0] == name]
    return f"CASE {' '.join(filter(None, checks))} ELSE {column} END" if any(checks) else column


def _column(name: str, schema: Schema, line: str) -> str:
    kind, path = schema.columns.get(name, "VARCHAR"), lit(json_path((name,)))
    if not kind:
        raise ValueError(f"the type of field {name!r} was not looked at; declare it in `fields`")
    if kind.upper() == "VARCHAR":
        return f"{line} ->> {path}"
    value = f"({line} -> {path})"
    if holds_json(kind):
        value = f"CAST(json_by_value(CAST({value} AS VARCHAR)) AS JSON)"
    if name in schema.structures:
        return f"from_json({value}, {lit(schema.structures[name])})"
    cast = "TRY_CAST" if (name,) in schema.declared else "CAST"
    return value if kind.upper() == "JSON" else f"{cast}({value} AS {kind})"


def _misfit(keys: Keys, kind: str, line: str) -> str:
    """A branch of CASE for lines whose value of a field does not fit its declared type exactly; "" if all values fit."""
    if kind.upper() == "JSON":
        return ""
    path = lit(json_path(keys))
    value, name = f"({line} -> {path})", field_name(keys)
    if kind.upper() == "VARCHAR":
        wrong = f"json_type({value}) IN ('ARRAY', 'OBJECT')"
    elif _AS_TEXT.search(kind):
        wrong = f"TRY_CAST({value} AS {kind}) IS NULL AND json_type({value}) <> 'NULL'"
    else:
        wide = _FLOAT.sub("DOUBLE", kind)
        wrong = f"NOT json_fits(CAST({value} AS VARCHAR), CAST(to_json(TRY_CAST({value} AS {wide})) AS VARCHAR))"
    shown = f"left(CAST({value} AS VARCHAR), 100)"
    message = lit(f"field {name} is declared as {kind}, which does not hold ")
    return f"WHEN {wrong} THEN error({message} || {shown})"


def field_of(name: str, schema: Schema, written: Mapping[Keys, str], read: Callable[[str], str]) -> str:
    """SQL for a field that a parameter names; a nested one, unless a field has the whole name.

    written: columns of fields that mappers have written. read: returns the column of a field of the input.
    """
    head, *inner = (name,) if name in schema.columns or (name,) in written else keys_of(name)
    if not inner:
        return written.get((head,)) or read(head)
    column = read(head)
    if schema.columns.get(head, "").upper() == "JSON":
        return f"({column} -> {lit(json_path(tuple(inner)))})"
    return ".".join([column, *map(quoted, inner)])


def functions_of(name: str, schema: Schema) -> set[str]:
    """Functions that the SQL of `json_column` calls."""
    names = {"json_by_value"} if holds_json(schema.columns.get(name, "VARCHAR")) else set()
    checks = [_misfit(keys, kind, "") for keys, kind in schema.declared.items() if keys[0] == name]
    return names | ({"json_fits"} if any("json_fits" in check for check in checks) else set())


def holds_json(kind: str) -> bool:
    """True for JSON, and for a type with JSON in it."""
    return re.search(r"\bJSON\b", re.sub(r'"(?:[^"]|"")*"', '""', kind), re.I) is not None
