"""The kept samples of a run, read from its export: as Arrow tables, as a relation of DuckDB."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property, reduce
from typing import Any

import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.lazy import duckdb
from refinery.common.lazy_dataclass import dataclass
from refinery.compiler.templates import ident, lit
from refinery.errors import DataError
from refinery.io.batch import LINE
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.io.readers.registry import reader_of
from refinery.io.sources import carrier, cut, find
from refinery.storage.drivers import located
from refinery.storage.urls import is_url

# The structure of JSON values, as DuckDB's `json_group_structure` describes it: a type's name, a list, or a mapping.
Structure = Any
_INTEGERS = {"UBIGINT", "BIGINT", "HUGEINT"}
_SHARD = 64 << 20


@dataclass(frozen=True)
class KeptSamples:
    """The samples in exported files. paths: paths or URLs, in order. rows: their number, as the run has counted them."""

    paths: tuple[str, ...]
    rows: int

    @cached_property
    def shards(self) -> list[Shard]:
        """Pieces of the files, in order."""
        return cut(find(self.paths)[0], _SHARD) if self.paths else []

    @cached_property
    def lines(self) -> bool:
        """True if the samples are JSON."""
        return bool(self.paths) and carrier(find(self.paths)[0]) == "lines"

    @cached_property
    def structure(self) -> Structure:
        """The fields of all samples of JSON, for which all of them are read. Raises DataError."""
        return reduce(merged, (structure_of(shard) for shard in self.shards), "NULL")

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        if not self.lines:
            found = self.shards[0].schema if self.shards else None
            return found if found is not None else pa.schema([])
        fields = _fields(self.structure)
        if not fields:
            return pa.schema([])
        with connect(threads=1) as con:
            return con.sql(f"{_typed('NULL', fields)} LIMIT 0").to_arrow_table().schema

    def tables(self, shard: Shard, schema: pa.Schema) -> Iterator[pa.Table]:
        """The samples of a piece as tables of one schema. Raises DataError."""
        return tables_of(shard, schema, self.structure if self.lines else None)

    def reader(self) -> pa.RecordBatchReader:
        """All samples in order; the reader raises DataError at the end if it has found another number of them."""
        schema = self.schema
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        rows = 0
        for shard in self.shards:
            for table in self.tables(shard, schema):
                rows += len(table)
                yield from table.to_batches()
        if rows != self.rows and schema.names:
            what = f"the run has left {self.rows:,} samples here, now there are {rows:,}"
            raise DataError(f"{', '.join(self.paths[:3])}: {what}: the export has changed since the run")

    def table(self) -> pa.Table:
        """All samples as one table."""
        schema = self.schema
        return pa.Table.from_batches(self._batches(schema), schema)

    def relation(self, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """A relation of a connection that reads the files."""
        for driver in {id(fs): fs for fs in (located(path)[0] for path in self.paths if is_url(path))}.values():
            if not any(con.filesystem_is_registered(name) for name in _protocols(driver)):
                con.register_filesystem(driver)
        if not self.paths or (self.lines and not _fields(self.structure)):
            raise DataError("no sample was kept, so the columns of a relation are unknown")
        files = ", ".join(map(lit, self.paths))
        if not self.lines:
            return con.sql(f"SELECT * FROM read_parquet([{files}], union_by_name = true)")
        on_lines = any(reader_of(shard.source).cut_anywhere for shard in self.shards)
        columns = ", ".join(f"{lit(name)}: {lit(sql_type(kind, 'JSON'))}" for name, kind in _fields(self.structure))
        form = "newline_delimited" if on_lines else "array"
        return con.sql(f"SELECT * FROM read_json([{files}], format = {lit(form)}, columns = {{{columns}}})")


def _protocols(driver: Any) -> tuple[str, ...]:
    found = driver.protocol
    return (found,) if isinstance(found, str) else tuple(found)


def structure_of(shard: Shard) -> Structure:
    """The fields of a piece of JSON. Raises DataError."""
    found: Structure = "NULL"
    with connect(threads=1) as con:
        con.execute("SET arrow_large_buffer_size = true").fetchall()
        for batch in read(shard):
            con.register("_lines", batch.table)
            query = f"SELECT json_group_structure({ident(LINE)}::JSON) FROM _lines"
            [(text,)] = con.execute(query).fetchall()
            found = merged(found, json.loads(text) if text is not None else "NULL")
    return found


def tables_of(shard: Shard, schema: pa.Schema, structure: Structure | None) -> Iterator[pa.Table]:
    """The samples of a piece. structure: of JSON; None for tables. Raises DataError for values that do not fit."""
    if structure is None:
        for batch in read(shard):
            if len(batch):
                yield batch.table.select(schema.names).cast(schema)
        return
    fields = _fields(structure)
    with connect(threads=1) as con:
        con.execute("SET arrow_large_buffer_size = true").fetchall()
        for batch in read(shard) if fields else ():
            con.register("_lines", batch.table)
            try:
                table = con.sql(_typed(ident(LINE), fields, "FROM _lines")).to_arrow_table()
            except duckdb.Error as error:
                reason = str(error).splitlines()[0]
                raise DataError(f"{shard.source.path}: samples have no common types: {reason}") from error
            if len(table):
                yield table.cast(schema)


def merged(one: Structure, other: Structure) -> Structure:
    """The structure that holds the values of both; `JSON` for values that have no common type."""
    if one == other or other == "NULL":
        return one
    if one == "NULL":
        return other
    if isinstance(one, dict) and isinstance(other, dict):
        names = dict.fromkeys([*one, *other])
        return {name: merged(one.get(name, "NULL"), other.get(name, "NULL")) for name in names}
    if isinstance(one, list) and isinstance(other, list):
        return [merged(one[0], other[0])]
    if isinstance(one, str) and isinstance(other, str):
        if {one, other} <= _INTEGERS:
            return "HUGEINT"
        if {one, other} <= _INTEGERS | {"DOUBLE"}:
            return "DOUBLE"
    return "JSON"


def sql_type(kind: Structure, mixed: str = "VARCHAR") -> str:
    """The type of DuckDB for a structure: whole numbers are BIGINT. mixed: type of values without a common type."""
    if isinstance(kind, dict):
        fields = ", ".join(f"{ident(name)} {sql_type(below, mixed)}" for name, below in kind.items())
        return f"STRUCT({fields})" if fields else mixed
    if isinstance(kind, list):
        return f"{sql_type(kind[0], mixed)}[]"
    if kind in _INTEGERS:
        return "BIGINT"
    return {"NULL": "VARCHAR", "JSON": mixed}.get(kind, str(kind))


def _fields(structure: Structure) -> list[tuple[str, Structure]]:
    """The columns. Raises DataError for names that DuckDB cannot tell apart."""
    found = list(structure.items()) if isinstance(structure, dict) else []
    if len({name.lower() for name, _ in found}) < len(found):
        raise DataError("fields of the kept samples differ in letter case only, so they cannot be columns")
    return found


def _typed(line: str, fields: Sequence[tuple[str, Structure]], source: str = "") -> str:
    """SELECT of a line's fields. Whole numbers are read wide and then cast, so that one that is too large is an error."""
    wide = json.dumps({name: _wide(kind) for name, kind in fields}, ensure_ascii=False)
    columns = ", ".join(f"CAST(row.{ident(name)} AS {sql_type(kind)}) AS {ident(name)}" for name, kind in fields)
    return f"SELECT {columns} FROM (SELECT json_transform({line}::JSON, {lit(wide)}) AS row {source})"


def _wide(structure: Structure) -> Structure:
    if isinstance(structure, dict):
        return {name: _wide(below) for name, below in structure.items()} or "JSON"
    if isinstance(structure, list):
        return [_wide(structure[0])]
    return "HUGEINT" if structure in _INTEGERS else "VARCHAR" if structure == "NULL" else structure
