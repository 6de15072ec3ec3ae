"""JSON lines as columns: one exact type for each field, by the profile of all lines, and tables of these types.

Profiles of parts are merged (`InputProfile.merge`), so the types depend neither on the order of lines nor on the parts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

from refinery.common.field_profile import InputProfile
from refinery.common.field_types import NOTHING, Structure, sql_of, structure_of
from refinery.errors import DataError
from refinery.io.batch import LINE
from refinery.io.layouts import DIGITS

_ARROW = {
    "BOOLEAN": pa.bool_(),
    "BIGINT": pa.int64(),
    "UBIGINT": pa.uint64(),
    "HUGEINT": pa.decimal128(DIGITS, 0),
    "DOUBLE": pa.float64(),
    NOTHING: pa.null(),
}
# Columns that a note names.
_NAMES = 5


@dataclass(frozen=True)
class JsonColumns:
    """Columns of JSON lines. structures: their types by name, as DuckDB's `from_json` takes them; `JSON`: text of JSON."""

    structures: dict[str, Structure]

    @staticmethod
    def of(profile: InputProfile) -> JsonColumns:
        """The columns for all fields of a profile; beyond BIGINT, integers without a sign are UBIGINT."""
        return JsonColumns({name: structure_of(profile.fields[name], unsigned=True) for name in profile.names})

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of `tables`. Fields that are always null have Arrow's null type, which fits any other."""
        return pa.schema([(name, _arrow(structure)) for name, structure in self.structures.items()])

    @property
    def alike(self) -> bool:
        """True if names differ in letter case alone, so that DuckDB has no columns for them."""
        return len({name.lower() for name in self.structures}) < len(self.structures)

    @property
    def types(self) -> dict[str, str]:
        """DuckDB's types of the columns."""
        return {name: sql_of(structure) for name, structure in self.structures.items()}

    def table(self, con: Any, lines: pa.Table) -> pa.Table:
        """Lines as a table of the schema. con: a connection of DuckDB. Raises DataError for values of another type."""
        import duckdb

        if not self.structures:
            return pa.table({"": pa.nulls(len(lines))}).select([])
        con.register("_lines", lines)
        try:
            return self._cast(con.sql(self._query).to_arrow_table())
        except duckdb.Error:  # names that no column of DuckDB can have
            return self._by_python(lines)
        finally:
            con.unregister("_lines")

    @cached_property
    def _query(self) -> str:
        text = json.dumps(_for_duckdb(self.structures), ensure_ascii=False).replace("'", "''")
        return f"SELECT UNNEST(from_json({LINE}, '{text}')) FROM _lines"

    def _cast(self, table: pa.Table) -> pa.Table:
        try:
            columns = [column.cast(field.type) for column, field in zip(table.columns, self.schema, strict=True)]
        except pa.ArrowException as error:
            raise DataError(f"values do not fit the types of all samples: {error}") from error
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _by_python(self, lines: pa.Table) -> pa.Table:
        rows = [json.loads(line) for line in lines[LINE].to_pylist()]
        columns = [
            pa.array([_fit(row.get(name), structure) for row in rows], field.type)
            for (name, structure), field in zip(self.structures.items(), self.schema, strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)


def _for_duckdb(structure: Any) -> Any:
    """The structure with the name of the null type in quotes."""
    if isinstance(structure, dict):
        return {name: _for_duckdb(inner) for name, inner in structure.items()}
    if isinstance(structure, list):
        return [_for_duckdb(structure[0])]
    return f'"{NOTHING}"' if structure == NOTHING else structure


def _arrow(structure: Structure) -> pa.DataType:
    if isinstance(structure, dict):
        return pa.struct([(name, _arrow(inner)) for name, inner in structure.items()])
    if isinstance(structure, list):
        return pa.list_(_arrow(structure[0]))
    if structure.startswith("DECIMAL"):
        return pa.decimal128(*_digits(structure))
    return _ARROW.get(structure, pa.string())


def _digits(structure: str) -> tuple[int, int]:
    width, _, scale = structure.removeprefix("DECIMAL(").removesuffix(")").partition(",")
    return int(width), int(scale)


def _fit(value: Any, structure: Structure) -> Any:
    """A value of JSON in the type of its column."""
    if value is None:
        return None
    if isinstance(structure, dict):
        return {name: _fit(value.get(name), inner) for name, inner in structure.items()}
    if isinstance(structure, list):
        return [_fit(item, structure[0]) for item in value]
    if structure == "JSON":
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if structure == "DOUBLE":
        return float(value)
    return Decimal(str(value)) if structure.startswith(("DECIMAL", "HUGEINT")) else value


def mixed_note(columns: JsonColumns, path: str) -> str | None:
    """Note on the columns of an export that are text of JSON, as no type holds all of their values exactly."""
    mixed = [name for name, structure in columns.structures.items() if _has_json(structure)]
    if not mixed:
        return None
    names = ", ".join(map(repr, mixed[:_NAMES])) + (f" and {len(mixed) - _NAMES} more" if len(mixed) > _NAMES else "")
    which = f"column {names} is" if len(mixed) == 1 else f"columns {names} are"
    return f"{path}: {which} text of JSON, whole or in parts: no type has all values exactly"


def _has_json(structure: Structure) -> bool:
    if isinstance(structure, dict):
        return any(map(_has_json, structure.values()))
    return _has_json(structure[0]) if isinstance(structure, list) else structure == "JSON"
