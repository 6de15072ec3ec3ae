"""What SQL may know of the input's columns before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import pyarrow as pa

from refinery.compiler.chain import Schema
from refinery.compiler.env import lit
from refinery.errors import DataError
from refinery.library import Library, Operator
from refinery.samples.read import read
from refinery.samples.sources import Shard

# Lines looked at per file to tell the types of a JSON file's fields.
_SAMPLE = 20_480


def names_columns(operator: Operator) -> bool:
    """Whether an operator's SQL may name columns of the input other than the text."""
    return "field(" in operator.sql or any(param.type == "sql" for param in operator.params.values())


def infer(lines: bool, shards: Sequence[Shard], steps: Sequence[Any], library: Library) -> Schema:
    """The schema of a batch; types of JSON fields are inferred only when a step may ask for them."""
    if not lines:
        return Schema(False, typed_columns(shards))
    if not any(names_columns(library.operators[step.name]) for step in steps):
        return Schema(True)
    return Schema(True, json_columns(shards))


def typed_columns(shards: Sequence[Shard]) -> dict[str, str]:
    """DuckDB types of the first batch's columns."""
    for shard in shards:
        for batch in read(shard, 1 << 20):
            return _describe(batch.table.slice(0, 0))
    return {}


def json_columns(shards: Sequence[Shard]) -> dict[str, str]:
    """Types of the fields of JSON lines, from the first lines of every file; fields of mixed types are JSON."""
    with duckdb.connect() as con:
        texts: list[str] = []
        seen: set[str] = set()
        for shard in shards:
            if shard.source.path in seen:
                continue
            seen.add(shard.source.path)
            batch = next(iter(read(shard, 4 << 20)), None)
            if batch is not None:
                texts += batch.table["_line"].slice(0, _SAMPLE).to_pylist()
        con.register("lines", pa.table({"line": pa.array(texts, pa.large_string())}))
        rows = con.execute("SELECT json_group_structure(line) FROM lines WHERE json_valid(line)").fetchall()
        structure = rows[0][0] if rows else None
        if not structure or not structure.startswith("{"):
            return {}
        sql = f"SELECT UNNEST(from_json('{{}}', {lit(structure)}))"
        return {name: _loose(kind) for name, kind, *_ in con.execute(f"DESCRIBE {sql}").fetchall()}


def _loose(kind: str) -> str:
    return "BIGINT" if kind == "UBIGINT" else kind


def _describe(table: pa.Table) -> dict[str, str]:
    with duckdb.connect() as con:
        con.register("_columns", table)
        return {name: kind for name, kind, *_ in con.execute("DESCRIBE SELECT * FROM _columns").fetchall()}


def require_text(schema: Schema, keys: tuple[str, ...], files: str) -> None:
    """Typed input must have the text column, and it must hold text. Raises DataError naming the columns there are."""
    from refinery.errors import did_you_mean

    if schema.lines or not schema.columns:
        return
    kind = schema.columns.get(keys[0])
    if kind is None:
        known = ", ".join(list(schema.columns)[:20])
        cure = did_you_mean(keys[0], schema.columns) or ". Name the column that holds the text in text_keys"
        raise DataError(f"{files}: no column {keys[0]!r} among {known}{cure}")
    if len(keys) == 1 and kind != "VARCHAR":
        raise DataError(f"{files}: column {keys[0]!r} is {kind}, not text; name another in text_keys")
