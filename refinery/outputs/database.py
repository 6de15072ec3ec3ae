"""The run database: one DuckDB file of plain tables, built aside from the shards' parts and published whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from refinery.compiler.chain import Chain, bytes_name
from refinery.compiler.env import ident, lit, template
from refinery.compiler.ledger import ledger_columns
from refinery.compiler.program import Program, pretty
from refinery.engine.worker import ShardResult
from refinery.errors import ConservationError
from refinery.library import read_sql
from refinery.rundir import aside
from refinery.samples.sources import Shard

# Beyond this the tables are sorted on disk: traces of every row are as large as the input.
_MEMORY = "1GB"


@dataclass(frozen=True)
class Counts:
    """Rows of a whole run; `read` = `kept` + `removed` + `quarantined`, or the run fails."""

    read: int
    kept: int
    removed: int
    quarantined: int


class Database:
    """Builds the tables in a file beside the final name; `publish` renames it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._aside = aside(path)
        self._remove()
        self.con = duckdb.connect(str(self._aside))
        self.run(f"SET memory_limit = '{_MEMORY}'")

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()
        self._remove()

    def _remove(self) -> None:
        for path in (self._aside, self._aside.with_name(f"{self._aside.name}.wal")):
            path.unlink(missing_ok=True)

    def run(self, sql: str) -> None:
        """Run one statement to its end."""
        self.con.execute(sql).fetchall()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        return self.con.execute(sql).fetchall()

    def count(self, sql: str) -> int:
        """The one number that a query gives."""
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
        self.run("SET threads = 1")
        yield
        self.run("RESET threads")

    def publish(self) -> None:
        """Close the file and give it its name."""
        self.run("CHECKPOINT")
        self.con.close()
        os.replace(self._aside, self.path)


def fill(
    db: Database,
    program: Program,
    chain: Chain,
    shards: Sequence[Shard],
    results: Sequence[ShardResult],
    parameters: Mapping[int, str],
) -> None:
    """Build facts (temporary), quarantine, ledger, stats, stat_summary and steps from what the shards left."""
    db.table("shards", shard_table(shards, results))

    def render(name: str, **values: Any) -> None:
        db.run(pretty(template(read_sql(f"tables/{name}.sql")).render(values)))

    render("facts", files=lit([result.facts for result in results]))
    render("quarantine", source=_quarantine_source(results))
    render("ledger", facts="facts", **ledger_columns(chain, chain.steps))
    columns = [(lit(stat.column), ident(stat.column)) for stat in program.stats]
    render("stats", facts="facts", columns=[column for _, column in columns])
    with db.one_thread():  # sums of floating-point numbers depend on their order
        render("stat_summary", columns=columns)
    render("steps", steps=_steps(program, chain, results, parameters))
    db.run("ALTER TABLE shards DROP facts")
    db.run("ALTER TABLE shards DROP quarantine")


def check(db: Database, program: Program, results: Sequence[ShardResult]) -> Counts:
    """Hold the books against each other: what was read, what the tables say, what was written.

    Raises ConservationError naming the sums that differ.
    """
    counts = Counts(
        read=sum(result.rows for result in results),
        kept=db.count("SELECT count(*) FROM facts WHERE _dropped IS NULL"),
        removed=db.count("SELECT count(*) FROM ledger"),
        quarantined=db.count("SELECT count(*) FROM quarantine"),
    )
    problems = []
    accounted = counts.kept + counts.removed + counts.quarantined
    if counts.read != accounted:
        problems.append(
            f"{counts.read} rows were read, but {counts.kept} kept + {counts.removed} removed + "
            f"{counts.quarantined} quarantined = {accounted}"
        )
    for table in ("facts", "stats"):
        told = db.count(f"SELECT count(*) FROM {table}")
        if told != counts.kept + counts.removed:
            problems.append(f"{table} has {told} rows, but {counts.kept} were kept and {counts.removed} removed")
    check_written(counts, sum(result.kept for result in results))
    distinct = db.count(
        "SELECT count(DISTINCT _row) FROM (SELECT _row FROM facts UNION ALL SELECT _row FROM quarantine)"
    )
    if distinct != counts.read:
        problems.append(f"{counts.read} rows were read, but {distinct} row numbers are accounted for")
    problems += _broken_steps(db, counts)
    if problems:
        raise ConservationError("rows do not add up: " + "; ".join(problems))
    return counts


def check_written(counts: Counts, written: int) -> None:
    """As many rows must have been written as were kept. Raises ConservationError."""
    if counts.kept != written:
        raise ConservationError(f"rows do not add up: {counts.kept} were kept, but {written} written")


def _broken_steps(db: Database, counts: Counts) -> list[str]:
    """Steps that were not given what the step before left, or whose own sum is wrong."""
    problems = []
    expected = counts.read - db.count("SELECT count(*) FROM quarantine WHERE step = 0")
    columns = "step, operator, rows_in, removed, quarantined, rows_out"
    for step, name, rows_in, removed, quarantined, rows_out in db.rows(f"SELECT {columns} FROM steps ORDER BY step"):
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


def shard_table(shards: Sequence[Shard], results: Sequence[ShardResult]) -> pa.Table:
    """Where each shard's rows and lines begin in the whole input and in its file."""
    rows = lines = 0
    found: list[dict[str, Any]] = []
    for shard, result in zip(shards, results, strict=True):
        if shard.starts_file or not found or found[-1]["file"] != shard.source.path:
            lines = 0
        found.append(
            {
                "shard": shard.index,
                "file": shard.source.path,
                "start": shard.start,
                "end": shard.end,
                "first_row": rows,
                "first_line": lines,
                "rows": result.rows,
                "facts": result.facts,
                "quarantine": result.quarantine,
            }
        )
        rows, lines = rows + result.rows, lines + result.lines
    numbers = ("shard", "start", "end", "first_row", "first_line", "rows")
    names = ("shard", "file", "start", "end", "first_row", "first_line", "rows", "facts", "quarantine")
    return pa.table({n: pa.array([f[n] for f in found], pa.int64() if n in numbers else pa.string()) for n in names})


def _quarantine_source(results: Sequence[ShardResult]) -> str:
    files = [result.quarantine for result in results if result.quarantine]
    if files:
        return f"read_parquet({lit(files)}, filename = true)"
    columns = (
        "0::BIGINT AS _row, '' AS file, 0::BIGINT AS line, 0 AS step, '' AS operator, '' AS error, ''::BLOB AS raw"
    )
    return f"(SELECT {columns}, '' AS filename WHERE FALSE)"


def _steps(
    program: Program, chain: Chain, results: Sequence[ShardResult], parameters: Mapping[int, str]
) -> list[dict[str, Any]]:
    changed = {change.step: change.changed for change in program.changes}
    version, found = 0, []
    for step in program.steps:
        before = version
        version = step.index if step.index in chain.versions else version
        found.append(
            {
                "index": step.index,
                "name": step.name,
                "kind": step.kind,
                "where": step.where,
                "params": parameters.get(step.index, "{}"),
                "changed": changed.get(step.index),
                "bytes_before": bytes_name(before),
                "bytes_after": bytes_name(version),
                "seconds": round(sum(result.seconds.get(step.index, 0.0) for result in results), 6),
            }
        )
    return found


def parameters_json(steps: Sequence[Any]) -> dict[int, str]:
    """Each step's complete parameters as JSON."""
    return {step.index: json.dumps(dict(step.params), ensure_ascii=False, default=list) for step in steps}
