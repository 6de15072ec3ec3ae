"""The run database: one DuckDB file of plain tables, built from the shards' parts and published whole."""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect, file_name
from refinery.common.duckdb_facts import settings
from refinery.common.lazy import duckdb
from refinery.compiler.templates import ident, lit
from refinery.errors import ConservationError
from refinery.kernels.core.arrow import ints, of_texts
from refinery.results.files import file_table, line_table, part_table, passed_over_table
from refinery.results.stage_result import StageResult
from refinery.results.tables import MANY, TableStatement, quarantine_source
from refinery.storage.run_folder import aside
from refinery.workers.machine import cores

# Megabytes for each thread of DuckDB, so that memory does not grow with the number of samples; beyond that DuckDB
# spills. A statement that runs out of memory gets more.
_THREADS, _EACH, _MORE = 4, 64, "1GB"

# Tables that no statement for another table reads, made from files alone.
_ALONE = {"clusters"}
# Tables that are made in the background while others are made from the same facts; half of the time of all.
_BESIDE = {"ledger", "row_outcomes"}

# Rows of a row group, in which DuckDB writes a table: a full one is compressed and written as soon as it is there, on all
# threads. DuckDB's 122,880 take a third longer for two million rows, and a run of fewer is written by one thread at the end.
_GROUP = 15 * settings.VECTOR
_NAME = "run_tables"  # of the database file in SQL

# Types of columns, of at most eight bytes, whose rows are kept in memory, and most bytes of them.
_SHORT = {"boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"}
_SHORT |= {"float", "double"}
_IN_MEMORY = 128 << 20

T = TypeVar("T")


@dataclass(frozen=True)
class Counts:
    """Rows of a whole run; `read` = `kept` + `removed` + `quarantined`, or the run fails."""

    read: int
    kept: int
    removed: int
    quarantined: int


class Database:
    """Builds the tables in a file beside the final name; `publish` renames it.

    Its SQL can read files of the folder that it is built in, and of `folders`.
    """

    def __init__(
        self,
        path: Path,
        folders: Sequence[str | Path] = (),
        base: Path | None = None,
        spill: str | None = None,
        unfinished: Path | None = None,
    ) -> None:
        """base: a database whose tables it begins with. spill: folder for data that does not fit into memory; by default that of the file.

        unfinished: the file that is built, on the disk of `path`; by default a file beside `path`.
        """
        self.path = path
        self._aside = unfinished or aside(path)
        self._remove()
        if base is not None:
            shutil.copyfile(base, self._aside)
        self._beside, self._running = ThreadPoolExecutor(1), list[Future[None]]()
        self._shared: dict[str, pa.Table] = {}
        self._threads = min(_THREADS, cores())
        self._memory = f"{self._threads * _EACH}MB"
        temporary = spill or str(self._aside.parent)
        self.con = connect([self._aside.parent, *folders], self._threads, self._memory, temporary)
        self.run(settings.NO_FSYNC)  # `publish` brings the file to the disk whole
        storage = f", STORAGE_VERSION '{settings.STORAGE}'" if base is None else ""  # a copy keeps that of its base
        options = f"ROW_GROUP_SIZE {_GROUP}{storage}"
        self.run(f"ATTACH {lit(file_name(self._aside))} AS {_NAME} ({options})")
        self.run(f"USE {_NAME}")

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self._beside.shutdown()
        self.con.close()
        self._remove()

    def _remove(self) -> None:
        for path in (self._aside, self._aside.with_name(f"{self._aside.name}.wal")):
            path.unlink(missing_ok=True)

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Another connection to the tables, for another thread."""
        with self.con.cursor() as con:
            con.execute(f"USE {_NAME}").fetchall()
            yield con

    def run(self, sql: str) -> None:
        """Run one statement to its end."""
        self.rows(sql)

    def beside(self, *statements: str) -> None:
        """Run statements in order on a connection of their own, in the background until `settle`."""

        def run() -> None:
            with self.cursor() as con:
                for name, rows in shared.items():
                    con.register(name, rows)
                for sql in statements:
                    self.with_room(partial(_run, con, sql))

        shared = dict(self._shared)

        self._running.append(self._beside.submit(run))

    def share(self, name: str, query: str, most: int) -> None:
        """Keep the rows of a query in memory, as a relation of this connection and of those in the background.

        A temporary table takes twice as long to make, and only its own connection has it. It is made where columns may be
        long, as texts, or all together: DuckDB spills it. most: rows.
        """
        relation = self.con.sql(query)
        if {kind.id for kind in relation.types} <= _SHORT and most * len(relation.types) * 8 <= _IN_MEMORY:
            self._shared[name] = self.with_room(relation.to_arrow_table)
            self.con.register(name, self._shared[name])
        else:
            self.run(f"CREATE OR REPLACE TEMP TABLE {ident(name)} AS {query}")

    def shares(self, name: str) -> bool:
        """True for a relation that statements in the background can read."""
        return name in self._shared

    def settle(self) -> None:
        """Wait for the statements in the background. Raises their errors."""
        while self._running:
            self._running.pop().result()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        return self.with_room(lambda: self.con.execute(sql).fetchall())

    def with_room(self, work: Callable[[], T]) -> T:
        """Do work on the connection and return its result; if memory runs out, do it again with more memory."""
        try:
            return work()
        except duckdb.OutOfMemoryException:
            self._give(_MORE)
        try:
            return work()
        finally:
            with suppress(duckdb.OutOfMemoryException):  # keep the larger limit if the memory is still in use
                self._give(self._memory)

    def _give(self, memory: str) -> None:
        """Set the limit of all connections by one of its own: a statement in the background may ask while another one runs."""
        with self.con.cursor() as con:
            con.execute("SET memory_limit = ?", [memory]).fetchall()

    def count(self, sql: str) -> int:
        """The single number of a query's result."""
        return int(self.rows(sql)[0][0])

    def table(self, name: str, rows: pa.Table, order: str | None = None) -> None:
        """Create a table from Arrow rows."""
        self.con.register("_rows", rows)
        self.run(
            f"CREATE OR REPLACE TABLE {ident(name)} AS SELECT * FROM _rows" + (f" ORDER BY {order}" if order else "")
        )
        self.con.unregister("_rows")

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Run statements on one thread."""
        self.run(settings.ONE_THREAD)
        yield
        self.run(f"SET threads = {self._threads}")

    def publish(self) -> None:
        """Close the file, wait until the disk has it, and give it its name."""
        self.run(f"CHECKPOINT {_NAME}")
        self.con.close()
        with self._aside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(self._aside, self.path)


def _run(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    con.execute(sql).fetchall()


def fill(db: Database, done: Sequence[StageResult], statements: Sequence[TableStatement]) -> None:
    """Build the relation facts, and quarantine, duplicates, clusters, ledger, stats, row_outcomes and steps from the parts.

    statements: those of `tables.statements` for these stages.
    """
    fill_places(db, done)
    first_rows = f"SET VARIABLE first_rows = CAST({lit(_first_rows(done))} AS BIGINT[])"
    db.run(first_rows)
    for statement in (one for one in statements if one.table in _ALONE):
        db.beside(first_rows, statement.sql)
    _look_at(db, done, slice(None))
    broken = [path for stage in done for path in stage.files("quarantine")]
    db.run(f"CREATE TEMP TABLE broken AS {quarantine_source(broken)}")
    execute(db, done, [statement for statement in statements if statement.table not in _ALONE])


def fill_places(db: Database, done: Sequence[StageResult], parts: Sequence[tuple[str, str, int, int]] = ()) -> None:
    """Build the tables shards, files, lines, passed_over and table_parts. parts: see `part_table`."""
    shards = shard_table(done)
    db.table("shards", shards)
    db.table("lines", line_table(shards, done[0].results))
    db.table("files", file_table(done[0].shards, done[0].results))
    db.table("passed_over", passed_over_table(done[0].results))
    db.table("table_parts", part_table(parts))


def execute(db: Database, done: Sequence[StageResult], statements: Sequence[TableStatement]) -> None:
    """Run the statements that make tables, with the steps' seconds as a table for them."""
    spent = _seconds(done)
    seconds = {
        "step": ints(np.array(list(spent), np.int32)),
        "seconds": ints(np.array(list(spent.values()), np.float64)),
    }
    db.table("_seconds", pa.table(seconds))
    pieces = _pieces(done)
    for statement in statements:
        if statement.more:
            for piece in pieces:
                _look_at(db, done, piece)
                db.run(statement.more if piece.start else statement.sql)
        elif statement.query:
            db.share(statement.table, statement.sql, _first_rows(done)[-1])
        elif statement.table in _BESIDE and db.shares("facts"):
            db.beside(statement.sql)
        else:
            db.run(statement.sql)
    db.run("DROP TABLE _seconds")


def _first_rows(done: Sequence[StageResult]) -> list[int]:
    """The number of each shard's first sample; the number of all samples at the end."""
    return [0, *np.cumsum([result.rows for result in done[0].results]).tolist()]


def _look_at(db: Database, done: Sequence[StageResult], shards: slice) -> None:
    """Set the variables that restrict statements to some shards."""
    first_rows = _first_rows(done)
    db.run(f"SET VARIABLE first_row = {first_rows[shards.start or 0]}")
    db.run(f"SET VARIABLE last_row = {first_rows[-1 if shards.stop is None else shards.stop] - 1}")
    for stage in done:
        files = lit(stage.files("facts", shards))
        db.run(f"SET VARIABLE facts_{stage.planned.stage.number} = CAST({files} AS VARCHAR[])")


def _pieces(done: Sequence[StageResult]) -> list[slice]:
    """Consecutive shards, in groups of at least MANY samples."""
    slices, start, samples = [], 0, 0
    for shard, result in enumerate(done[0].results):
        samples += result.rows
        if samples >= MANY or shard + 1 == len(done[0].results):
            slices.append(slice(start, shard + 1))
            start, samples = shard + 1, 0
    return slices


def _seconds(done: Sequence[StageResult]) -> dict[int, float]:
    """Seconds of each step: of the workers, and of deduplicators."""
    seconds: dict[int, float] = defaultdict(float)
    for stage in done:
        for result in stage.results:
            for step, spent in result.seconds.items():
                seconds[step] += spent
        if stage.findings is not None:
            seconds[stage.findings.step] += stage.findings.seconds
    return {step: round(spent, 6) for step, spent in seconds.items()}


# Count of the row numbers of facts that are greater than the one before: the count of all, if no two are equal.
_ASCENDING = """
SELECT count(*) FROM (SELECT _row, lag(_row, 1, -1) OVER () AS before FROM facts) WHERE _row > before
"""


@dataclass(frozen=True)
class Sums:
    """Rows in the tables. unreadable: of quarantine, at step 0. facts: rows by table that has all samples.

    distinct: numbers of rows that are accounted for.
    """

    kept: int
    removed: int
    quarantined: int
    unreadable: int
    facts: Mapping[str, int]
    distinct: int


def check(db: Database, done: Sequence[StageResult]) -> Counts:
    """Compare the rows that were read, that the tables have, and that were written.

    Raises ConservationError, naming the sums that differ.
    """
    db.settle()
    distinct = db.count(_ASCENDING) + db.count(
        "SELECT count(DISTINCT _row) FROM quarantine ANTI JOIN facts USING (_row)"
    )
    return compare(
        db,
        done,
        Sums(
            kept=db.count("SELECT count(*) FROM facts WHERE _dropped IS NULL"),
            removed=db.count("SELECT count(*) FROM ledger"),
            quarantined=db.count("SELECT count(*) FROM quarantine"),
            unreadable=db.count("SELECT count(*) FROM quarantine WHERE step = 0"),
            facts={table: db.count(f"SELECT count(*) FROM {table}") for table in ("facts", "stats")},
            distinct=distinct,
        ),
    )


def compare(db: Database, done: Sequence[StageResult], sums: Sums) -> Counts:
    """Compare the rows in tables with those that were read and written. Raises ConservationError."""
    read = sum(result.rows for result in done[0].results)
    counts = Counts(read, sums.kept, sums.removed, sums.quarantined)
    problems = _broken_stages(done)
    accounted = counts.kept + counts.removed + counts.quarantined
    if counts.read != accounted:
        problems.append(
            f"{counts.read} rows were read, but {counts.kept} kept + {counts.removed} removed + "
            f"{counts.quarantined} quarantined = {accounted}"
        )
    for table, rows in sums.facts.items():
        if rows != counts.kept + counts.removed:
            problems.append(f"{table} has {rows} rows, but {counts.kept} were kept and {counts.removed} removed")
    check_written(counts, sum(result.kept for result in done[-1].results))
    if sums.distinct != counts.read:
        problems.append(f"{counts.read} rows were read, but {sums.distinct} row numbers are accounted for")
    order = [number for stage in done for number in stage.planned.stage.numbers()]
    problems += _broken_steps(db, counts, counts.read - sums.unreadable, order)
    if problems:
        raise ConservationError("rows do not add up: " + "; ".join(problems))
    return counts


def check_written(counts: Counts, written: int, repeats: int = 0) -> None:
    """Check that as many rows were written as were kept. repeats: written besides, by `repeat_by`. Raises ConservationError."""
    if counts.kept + repeats != written:
        expected = f"{counts.kept} were kept" + (f", to be written {counts.kept + repeats} times" if repeats else "")
        raise ConservationError(f"rows do not add up: {expected}, but {written} written")


def check_removed(removed: int, written: int) -> None:
    """Check that as many removed rows were written as the ledger has. Raises ConservationError."""
    if removed != written:
        raise ConservationError(f"rows do not add up: {removed} were removed, but {written} of them written")


def _broken_steps(db: Database, counts: Counts, expected: int, order: Sequence[int]) -> list[str]:
    """Problems of steps whose input is not the output of the step before, or whose sum is wrong.

    expected: rows that the first step was given. order: of the steps, as they ran.
    """
    problems = []
    columns = "step, operator, rows_in, removed, quarantined, rows_out"
    counted = {row[0]: row for row in db.rows(f"SELECT {columns} FROM steps")}
    for step, name, rows_in, removed, quarantined, rows_out in (
        counted[number] for number in order if number in counted
    ):
        if rows_in != expected:
            problems.append(f"step {step} ({name}) was given {rows_in} rows where {expected} were left")
        if rows_in != removed + quarantined + rows_out:
            problems.append(
                f"step {step} ({name}): {rows_in} in, {removed} removed, {quarantined} quarantined, {rows_out} out"
            )
        expected = rows_out
    if expected != counts.kept:
        problems.append(f"{expected} rows were left after the last step, but {counts.kept} kept")
    return problems


def _broken_stages(done: Sequence[StageResult]) -> list[str]:
    """Problems of stages whose input is not the output of the stage before."""
    problems = []
    for before, after in zip(done, done[1:], strict=False):
        removed = before.findings.count if before.findings else 0
        left = sum(result.kept for result in before.results) - removed
        received = sum(result.rows for result in after.results)
        if left != received:
            problems.append(f"stage {after.planned.stage.number} was given {received} rows where {left} were left")
    return problems


def shard_table(done: Sequence[StageResult]) -> pa.Table:
    """Table of shards: first row in the whole input, first line in its file, number of rows."""
    rows = lines = 0
    shard_rows: list[dict[str, Any]] = []
    for shard, result in zip(done[0].shards, done[0].results, strict=True):
        if shard.starts_file or not shard_rows or shard_rows[-1]["file"] != shard.source.path:
            lines = 0
        shard_rows.append(
            {
                "shard": shard.index,
                "file": shard.source.path,
                "start": shard.start,
                "end": shard.end,
                "first_row": rows,
                "first_line": lines,
                "rows": result.rows,
                "reused": sum(stage.results[len(shard_rows)].reused for stage in done),
            }
        )
        rows, lines = rows + result.rows, lines + result.lines
    names = ("shard", "file", "start", "end", "first_row", "first_line", "rows", "reused")
    columns = {name: [item[name] for item in shard_rows] for name in names}
    return pa.table({n: of_texts(v) if n == "file" else ints(np.array(v, np.int64)) for n, v in columns.items()})
