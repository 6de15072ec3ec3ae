"""A DuckDB connection with a program's functions, on which SQL runs over the relation `batch`; it is planned once, and runs for every batch.

To parse, bind and optimise the statement of a dozen steps takes 20 ms of a processor, a tenth of what it takes to run it
over a batch. DuckDB plans a prepared statement anew at every EXECUTE if it reads a table or view of a catalog, and a
registered object is a view. So `batch` is no name in a catalog: each statement defines it, over a source in the
connection's registry of Python objects. A statement that also reads files is planned anew for every batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect, lock
from refinery.common.duckdb_facts import settings
from refinery.common.lazy import duckdb
from refinery.compiler.model import BatchColumn
from refinery.compiler.program import Program
from refinery.io.batch import Batch
from refinery.kernels.core.arrow import from_zero, ints, numbers, of_texts
from refinery.operators import Function
from refinery.workers.function_results import Contract
from refinery.workers.functions import register, sliced
from refinery.workers.observer import WorkerObserver
from refinery.workers.statement_limits import StatementLimit
from refinery.workers.undeclared_files import Undeclared

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


class Session(NamedTuple):
    """A connection of DuckDB with the functions of a program."""

    con: duckdb.DuckDBPyConnection
    limit: StatementLimit
    contract: Contract
    statements: PreparedStatements


class ProgramConnection:
    """One connection, used by one thread; `stop` may come from another. observer: hears of every statement."""

    def __init__(
        self, program: Program, memory_limit: str | None, temporary: str | None, threads: int, observer: WorkerObserver
    ) -> None:
        self.program, self._observer = program, observer
        self._profile, self._stopped = "{}", False
        self.undeclared = Undeclared(program.beside)
        self._resources = threads, memory_limit, temporary
        self._session = None if program.copies else self._opened()

    def _opened(self) -> Session:
        threads, memory_limit, temporary = self._resources
        con = connect(self.program.folders, threads, memory=memory_limit, temporary=temporary)
        for statement in (settings.LARGE_TEXTS, settings.KEEP_ORDER):
            con.execute(statement).fetchall()
        limit = StatementLimit(con, self.program.seconds, self.program.label)
        watched, around = self.undeclared.watched, partial(self._around, limit)
        contract = register(con, self.program.functions, watched, around, self._observer.row_watch)
        con.execute(settings.PROFILING).fetchall()
        lock(con)
        return Session(con, limit, contract, PreparedStatements(con))

    @property
    def session(self) -> Session:
        """The session; a program that copies seldom needs one, so its session is opened here."""
        if self._session is None:
            self._session = self._opened()
        return self._session

    def _around(self, limit: StatementLimit, function: Function, run: Callable[..., Any]) -> Callable[..., Any]:
        run = sliced(function, run, self.program.calls.get(function.name))
        return self._observer.wrapped(function, limit.timed(run))

    def query(self, sql: str, batch: Batch, first_row: int) -> pa.Table:
        """Run SQL over a batch; its rows come in the order of `_i`. first_row: of the shard in the whole input."""
        if not len(batch.rows):
            return self.over(sql, self.relation(batch, first_row))
        self._observer.begins(int(batch.rows[0]), int(batch.rows[-1]))
        done = self.over(sql, self.relation(batch, first_row))
        self._observer.ended()
        return done

    def over(self, sql: str, relation: pa.Table) -> pa.Table:
        """Run SQL over a relation of samples."""
        session = self.session
        if self._stopped:
            raise duckdb.InterruptException("stopped")
        with session.contract.kept(), session.limit.kept():
            done, self._profile = session.statements.run(sql, relation)
        return _in_order(done)

    def relation(self, batch: Batch, first_row: int) -> pa.Table:
        """The columns of a batch that the program reads."""
        rows = len(batch.rows)
        columns: dict[str, Any] = {"_i": ints(np.arange(rows, dtype=np.int64))}
        if self.program.lines:
            columns["_line"] = batch.table["_line"]
            if len(self.program.text_key) == 1:
                columns["_text"] = batch.member(self.program.text_key[0]).texts
        columns |= {column.column: self._values(column, batch, first_row) for column in self.program.batch_columns}
        return from_zero(pa.table(columns))

    def _values(self, column: BatchColumn, batch: Batch, first_row: int) -> Any:
        """The batch's values for a column of the relation."""
        if column.kind == "row":
            return ints(batch.rows + first_row)
        if column.kind == "suffix":
            return of_texts(batch.suffixes())
        if column.kind == "rest":
            return batch.rest(self.program.text_key[0])
        if column.kind in ("carried", "removed"):
            return batch.carried[column.name] if batch.carried is not None else pa.nulls(len(batch.rows))
        if len(batch.rows) or column.name in batch.table.column_names:
            return batch.table[column.name]
        return pa.nulls(0, pa.string())  # an empty file has no columns

    def no_samples(self) -> Batch:
        """A batch without rows."""
        return Batch.empty(
            self.program.lines, [column.name for column in self.program.batch_columns if column.kind == "input"]
        )

    def explain(self, batch: Batch) -> str:
        """DuckDB's plan of the program's statement. batch: without rows."""
        session = self.session
        sql = session.statements.with_batch(self.program.pass_sql, self.relation(batch, 0).schema)
        with session.limit.kept():
            plan = session.con.execute("EXPLAIN " + sql).fetchall()[0][1]
        return str(plan)

    def profile(self) -> str:
        """DuckDB's profile of the last query, as JSON."""
        return self._profile

    def stop(self) -> None:
        """Interrupt the running query, and start no other; called from another thread."""
        self._stopped = True
        if self._session is not None:
            self._session.con.interrupt()

    def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            self._session.con.close()


def _in_order(done: pa.Table) -> pa.Table:
    """The rows of a result in the order of `_i`, if it has that column."""
    if "_i" in done.column_names:
        order = numbers(done["_i"])
        if len(order) > 1 and not (order[1:] > order[:-1]).all():
            return done.take(ints(np.argsort(order, kind="stable")))
    return done
