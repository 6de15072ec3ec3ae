"""The match keys of all samples as one relation of a DuckDB connection that may spill to disk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.duckdb_facts import settings
from refinery.compiler.deduplicators import sql_of
from refinery.compiler.templates import lit
from refinery.dedup.matchers import MatchColumn
from refinery.dedup.matchers.model import SetQuery

# Most bytes of match keys that are copied into memory.
_IN_MEMORY = 256 << 20


@dataclass(frozen=True)
class SqlLimits:
    """Resources of set SQL: threads, memory (in DuckDB's notation; None: DuckDB's default), a folder to spill to."""

    threads: int
    memory: str | None
    folder: str


class MatchKeys:
    """The relation `marks`: match keys of samples by `_row`, the sample's number (see workers.match_keys).

    form: of the match keys; without it there is no relation `compared`. folders: read and
    written besides those of `files`. where: condition for the samples to take.
    """

    def __init__(
        self,
        files: Sequence[str],
        form: Sequence[MatchColumn],
        room: SqlLimits,
        folders: Sequence[str | Path] = (),
        where: str = "true",
    ) -> None:
        self.threads = room.threads
        self.con = connect([*map(os.path.dirname, files), *folders], room.threads, room.memory, room.folder)
        self.run(settings.ANY_ORDER)
        source = f"SELECT * FROM read_parquet({lit(list(files))}, union_by_name = true)"
        self.run(f"CREATE VIEW marks AS SELECT * FROM ({source}) WHERE {where}")
        self.columns = [name for name, *_ in self.con.execute("DESCRIBE marks").fetchall()]
        self.small = self._kept = False
        if form:
            self._compared(form)

    def _compared(self, form: Sequence[MatchColumn]) -> None:
        """Create the relation `compared`: the match keys without columns that only describe pairs."""
        compared = [column for column in form if column.compared]
        names = [name for name in self.columns if name == "_row" or any(column.holds(name) for column in compared)]
        rows = int(self.rows("SELECT count(*) FROM marks")[0][0])
        self.small = rows * len(names) * 8 <= _IN_MEMORY and all(column.number for column in compared)
        self.run(f"CREATE VIEW compared AS SELECT {', '.join(names)} FROM marks")

    def keep(self) -> None:
        """Copy `compared` into memory if it is small: statements for few samples take most of their time to open files."""
        if self.small and not self._kept:
            self.run("CREATE TABLE kept AS SELECT * FROM compared")
            self.run("CREATE OR REPLACE VIEW compared AS SELECT * FROM kept")
            self._kept = True

    def sql(self, query: SetQuery) -> str:
        """The text of a query."""
        return sql_of(query)

    def run(self, sql: str) -> None:
        """Run one statement to its end."""
        self.con.execute(sql).fetchall()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query."""
        return self.con.execute(sql).fetchall()

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """The result of a query, batch by batch."""
        yield from self.con.sql(sql).to_arrow_reader(1 << 20)

    def table(self, names: Sequence[str]) -> pa.Table:
        """Columns of `compared`."""
        return self.con.sql(f"SELECT {', '.join(names)} FROM compared").to_arrow_table()

    def write(self, sql: str, path: str) -> int:
        """Write a query's result to a Parquet file; return the number of rows."""
        return int(self.rows(f"COPY ({sql}) TO {lit(path)} (FORMAT parquet, COMPRESSION zstd)")[0][0])

    @contextmanager
    def relation(self, name: str, table: pa.Table) -> Iterator[None]:
        """Register a table under a name for SQL."""
        self.con.register(name, table)
        try:
            yield
        finally:
            self.con.unregister(name)

    def close(self) -> None:
        """Close the connection, which removes spilled data."""
        self.con.close()

    def __enter__(self) -> MatchKeys:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
