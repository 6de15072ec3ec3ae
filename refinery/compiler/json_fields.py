"""SQL that reads a field of JSON lines as its exact type."""

from __future__ import annotations

import re

from refinery.compiler.model import Schema
from refinery.compiler.templates import json_path, lit

# Types whose values JSON has as texts: converted back, they are other texts.
_AS_TEXT = re.compile(r"\b(DATE|TIME\w*|INTERVAL|UUID|BLOB|BIT|ENUM)\b", re.I)


def json_column(name: str, schema: Schema, line: str) -> str:
    """SQL for field `name` of a JSON line, NULL where it is missing or null."""
    kind, path = schema.columns.get(name, "VARCHAR"), lit(json_path((name,)))
    if not kind:
        raise ValueError(f"the type of field {name!r} was not looked at; declare it in `fields`")
    if name in schema.declared:
        return _declared(name, kind, f"{line} -> {path}", f"{line} ->> {path}")
    if kind == "VARCHAR":
        return f"{line} ->> {path}"
    value = f"({line} -> {path})"
    if holds_json(kind):
        value = f"CAST(json_by_value(CAST({value} AS VARCHAR)) AS JSON)"
    if name in schema.structures:
        return f"from_json({value}, {lit(schema.structures[name])})"
    return value if kind == "JSON" else f"CAST({value} AS {kind})"


def _declared(name: str, kind: str, value: str, text: str) -> str:
    """SQL for a field whose type the recipe declares; a value that does not fit exactly is an error of its row."""
    if kind.upper() == "VARCHAR":
        scalar = f"json_type({value}) NOT IN ('ARRAY', 'OBJECT')"
        return f"CASE WHEN coalesce({scalar}, TRUE) THEN {text} ELSE {_misfit(name, kind, text)} END"
    if kind.upper() == "JSON":
        return f"CAST(json_by_value(CAST({value} AS VARCHAR)) AS JSON)"
    found = f"TRY_CAST(({value}) AS {kind})"
    if _AS_TEXT.search(kind):
        fits = f"{found} IS NOT NULL OR coalesce(json_type({value}), 'NULL') = 'NULL'"
    else:
        wide = re.sub(r"\b(FLOAT4?|REAL)\b", "DOUBLE", kind, flags=re.I)
        back = f"to_json(TRY_CAST(({value}) AS {wide}))"
        fits = f"json_fits(CAST({value} AS VARCHAR), CAST({back} AS VARCHAR))"
    return f"CASE WHEN {fits} THEN {found} ELSE {_misfit(name, kind, text)} END"


def _misfit(name: str, kind: str, text: str) -> str:
    shown = f"left(coalesce({text}, 'null'), 100)"
    return f"error({lit(f'field {name} is declared as {kind}, which does not hold ')} || {shown})"


def functions_of(name: str, schema: Schema) -> set[str]:
    """Functions that the SQL of `json_column` calls."""
    kind = schema.columns.get(name, "VARCHAR")
    found = {"json_by_value"} if holds_json(kind) else set()
    return found | ({"json_fits"} if name in schema.declared and kind.upper() not in ("VARCHAR", "JSON") else set())


def holds_json(kind: str) -> bool:
    """True for JSON, and for a type with JSON in it."""
    return re.search(r"\bJSON\b", re.sub(r'"(?:[^"]|"")*"', '""', kind), re.I) is not None
