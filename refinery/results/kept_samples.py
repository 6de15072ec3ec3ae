"""The kept samples of a run, read from its export: as Arrow tables, as a relation of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.duckdb_facts import settings
from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.errors import DataError
from refinery.io.field_scan import profile_of_all
from refinery.io.json_columns import JsonColumns
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.io.readers.registry import reader_of
from refinery.io.sources import carrier, cut, find
from refinery.storage.drivers import located
from refinery.storage.urls import is_url

_SHARD = 64 << 20
# Bytes of the longest sample that DuckDB reads from a file.
_LONGEST = 1 << 30


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
    def columns(self) -> JsonColumns:
        """The columns of samples of JSON, for which all of them are read. Raises DataError."""
        return JsonColumns.of(profile_of_all(self.shards))

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        if self.lines:
            return self.columns.schema
        schema = self.shards[0].schema if self.shards else None
        return schema if schema is not None else pa.schema([])

    def tables(self, shard: Shard, schema: pa.Schema) -> Iterator[pa.Table]:
        """The samples of a piece as tables of one schema. Raises DataError."""
        return tables_of(shard, schema, self.columns if self.lines else None)

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
        if not self.paths or (self.lines and not self.schema.names):
            raise DataError("no sample was kept, so the columns of a relation are unknown")
        files = ", ".join(map(lit, self.paths))
        if not self.lines:
            return con.sql(f"SELECT * FROM read_parquet([{files}], union_by_name = true)")
        if self.columns.alike:
            raise DataError("fields of the kept samples differ in letter case only, so they cannot be columns")
        return con.sql(f"SELECT * FROM read_json([{files}], {self._options})")

    @property
    def _options(self) -> str:
        """Options of `read_json` for the files."""
        on_lines = any(reader_of(shard.source).cut_anywhere for shard in self.shards)
        columns = ", ".join(f"{lit(name)}: {lit(kind)}" for name, kind in self.columns.types.items())
        form = "newline_delimited" if on_lines else "array"
        return f"format = {lit(form)}, maximum_object_size = {_LONGEST}, columns = {{{columns}}}"


def _protocols(driver: Any) -> tuple[str, ...]:
    protocol = driver.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def tables_of(shard: Shard, schema: pa.Schema, columns: JsonColumns | None) -> Iterator[pa.Table]:
    """The samples of a piece. columns: of JSON; None for tables. Raises DataError for values that do not fit."""
    if columns is None:
        for batch in read(shard):
            if len(batch):
                yield batch.table.select(schema.names).cast(schema)
        return
    with connect(threads=1) as con:
        con.execute(settings.LARGE_TEXTS).fetchall()
        for batch in read(shard) if schema.names else ():
            if len(batch):
                yield columns.table(con, batch.table)
