"""Fields of the input that a run stores for every sample, by the recipe's `keep_fields`."""

from __future__ import annotations

import re
from collections.abc import Callable

from refinery.common.fields import keys_of, quoted
from refinery.compiler.expression_types import type_of_sql
from refinery.compiler.json_fields import field_of
from refinery.compiler.model import Schema

# Types of DuckDB that Parquet or Arrow do not hold; a column is stored as text in their place.
_NOT_IN_PARQUET = re.compile(
    r"\b(U?HUGEINT|INTERVAL|UUID|BIT|BIGNUM|ENUM|TIMETZ|TIME WITH TIME ZONE|TIME_NS|TIMESTAMP_S|TIMESTAMP_MS|JSON|UNION|"
    r"VARIANT|GEOMETRY|NULL)\b",
    re.I,
)
_QUOTED = re.compile(r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'')
_VALUES = re.compile(r"ENUM\([^)]*\)", re.I)
_NESTED = re.compile(r"[\[(]")


def read_field(name: str, schema: Schema, read: Callable[[str], str]) -> tuple[str, str]:
    """SQL that makes the stored value of a field, and the type of its value.

    read: returns the column of a field of the input. Raises ValueError for a name that the samples do not have.
    """
    head, *inner = (name,) if name in schema.columns else keys_of(name)
    value = field_of(name, schema, {}, read)
    kind = schema.columns.get(head, "VARCHAR") or "VARCHAR"
    if inner:
        path = ".".join(map(quoted, (head, *inner)))
        kind = "JSON" if kind.upper() == "JSON" else type_of_sql(path, ((head, kind),)) or "VARCHAR"
    return stored(value, "VARCHAR" if kind.strip('"').upper() == "NULL" else kind)


def stored(value: str, kind: str) -> tuple[str, str]:
    """SQL for a value in the form in which facts hold it, and the type that it gets back.

    A list or structure with members of a type that Parquet lacks becomes JSON.
    """
    plain = _VALUES.sub("ENUM", _QUOTED.sub("", kind))
    if not _NOT_IN_PARQUET.search(plain):
        return value, kind
    if _NESTED.search(plain):
        return f"CAST(to_json({value}) AS VARCHAR)", "JSON"
    return f"CAST({value} AS VARCHAR)", kind
