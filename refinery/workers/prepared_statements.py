"""Statements over the relation `batch` that DuckDB plans once and runs for every batch.

To parse, bind and optimise the statement of a dozen steps takes 20 ms of a processor, a tenth of what it takes to run it
over a batch. DuckDB plans a prepared statement anew at every EXECUTE if it reads a table or view of a catalog, and a
registered object is a view. So `batch` is no name in a catalog: each statement defines it, over a source in the
connection's registry of Python objects. A statement that also reads files is planned anew for every batch.
"""

from __future__ import annotations

import warnings
from typing import Any

import pyarrow as pa

from refinery.common.lazy import duckdb

# A prepared statement has no lazy relation. The copy of a batch's results costs a fraction of the planning saved.
_COPY = "Arrow output on a DB-API result makes an extra copy"


class _Samples:
    """The relation `batch` as DuckDB reads it: `table` at the time when a statement runs, no rows without one."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.table: pa.Table | None = None

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        table = self.schema.empty_table() if self.table is None else self.table
        return table.__arrow_c_stream__(requested_schema)


class PreparedStatements:
    """Prepared statements of one connection, used by one thread; all read `batch`, with columns of the same types."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        warnings.filterwarnings("ignore", _COPY)  # not at import: a program may change the filters afterwards
        self._con = con
        self._samples: _Samples | None = None
        self._source: duckdb.DuckDBPyRelation | None = None  # the registry has the samples as long as this lives
        self._names: dict[str, str] = {}

    def run(self, sql: str, relation: pa.Table) -> tuple[pa.Table, str]:
        """Run SQL over a relation of samples; returns its rows, and DuckDB's profile as JSON."""
        samples = self.columns(relation.schema)
        name = self._names.get(sql) or self._prepare(sql, relation.schema)
        samples.table = relation
        try:
            self._con.execute(f"EXECUTE {name}")
            profile = self._con.get_profiling_information("json")  # lost at the next statement
            reader = self._con.to_arrow_reader()
            assert reader is not None
            return reader.read_all(), profile
        finally:
            samples.table = None

    def columns(self, schema: pa.Schema) -> _Samples:
        """Give `batch` these columns, and no rows; statements over other columns are forgotten."""
        if self._samples is None or not self._samples.schema.equals(schema, check_metadata=True):
            for name in self._names.values():
                self._con.execute(f"DEALLOCATE {name}").fetchall()
            self._names = {}
            self._samples = _Samples(schema)
            self._source = self._con.from_arrow(self._samples)
        return self._samples

    def with_batch(self, sql: str, schema: pa.Schema) -> str:
        """SQL over `batch`, with its definition: a relation with these columns."""
        self.columns(schema)
        assert self._source is not None
        batch = f"WITH batch AS NOT MATERIALIZED ({self._source.sql_query()})"
        ctes = sql.removeprefix("WITH ")
        return f"{batch} {sql}" if ctes == sql else f"{batch}, {ctes}"

    def _prepare(self, sql: str, schema: pa.Schema) -> str:
        name = f"over_batch_{len(self._names)}"
        self._con.execute(f"PREPARE {name} AS {self.with_batch(sql, schema)}").fetchall()
        self._names[sql] = name
        return name
