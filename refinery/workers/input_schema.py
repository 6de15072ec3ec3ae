"""Schema of the input's columns, inferred before a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.lazy import duckdb
from refinery.compiler.model import Schema
from refinery.compiler.templates import lit
from refinery.errors import DataError
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.kernels.core.arrow import of_texts
from refinery.operators import Library, Operator

# Lines per JSON file from which the types of its fields are inferred.
_SAMPLE = 20_480


def names_columns(operator: Operator, params: Mapping[str, Any]) -> bool:
    """Return whether a step's SQL may name columns of the input other than the text."""
    if operator.kind == "deduplicator" and params.get("keep", "first") != "first":
        return True
    return "field(" in operator.sql or any(param.type == "sql" for param in operator.params.values())


def infer(lines: bool, shards: Sequence[Shard], steps: Sequence[Any], library: Library, named: bool = False) -> Schema:
    """Schema of a batch; types of JSON fields are inferred only when a step may name them, or when `named` is set."""
    if lines and not named and not any(names_columns(library.operators[step.name], step.params) for step in steps):
        return Schema(True)
    columns = json_columns(shards) if lines else typed_columns(shards)
    return Schema(lines, columns, unknown=not columns)


def typed_columns(shards: Sequence[Shard]) -> dict[str, str]:
    """DuckDB types of the first batch's columns."""
    for shard in shards:
        for batch in read(shard, 1 << 20):
            try:
                return _describe(batch.table.slice(0, 0))
            except duckdb.Error as error:
                raise DataError(f"{shard.source.path}: DuckDB cannot read its columns: {error}") from error
    return {}


def json_columns(shards: Sequence[Shard]) -> dict[str, str]:
    """Types of the fields of JSON lines, from the first samples of every file; fields of mixed types are JSON."""
    with connect() as con:
        texts: list[str] = []
        seen: set[str] = set()
        for shard in shards:
            if shard.source.path in seen:
                continue
            for batch in read(shard, 4 << 20):
                if len(batch):
                    seen.add(shard.source.path)
                    texts += batch.table["_line"].slice(0, _SAMPLE).to_pylist()
                    if len(shard.sources) == 1:  # a shard of several files: read batches of all files
                        break
        con.register("lines", pa.table({"line": of_texts(texts)}))
        sql = "SELECT json_group_structure(TRY_CAST(line AS JSON)) FROM lines WHERE json_type(TRY_CAST(line AS JSON)) = 'OBJECT'"
        rows = con.execute(sql).fetchall()
        structure = json.loads(rows[0][0]) if rows and rows[0][0] else {}
        if not isinstance(structure, dict):  # objects without any member give the plain type JSON
            return {}
        written = {name: json.dumps(kind) for name, kind in structure.items()}
        kinds = {text: _field_type(con, json.loads(text)) for text in set(written.values())}
        return {name: kinds[text] for name, text in written.items()}


def _field_type(con: duckdb.DuckDBPyConnection, structure: Any) -> str:
    """Type of one field; a STRUCT of all fields cannot hold two names that differ only in case."""
    if structure == "NULL":
        return "VARCHAR"
    try:
        sql = f"DESCRIBE SELECT from_json('{{}}', {lit(json.dumps(structure))}) AS field"
        kind = str(con.execute(sql).fetchall()[0][1])
    except duckdb.Error:
        return "JSON"
    # Any later line may hold a negative number, or a value where only nulls and empty lists were seen.
    return "JSON" if '"NULL"' in kind else kind.replace("UBIGINT", "BIGINT")


def _describe(table: pa.Table) -> dict[str, str]:
    if not table.num_columns:
        return {}
    with connect() as con:
        con.register("_columns", table)
        kinds = [kind for _, kind, *_ in con.execute("DESCRIBE SELECT * FROM _columns").fetchall()]
    return dict(zip(table.column_names, kinds, strict=True))  # DuckDB renames columns that differ only in letter case
