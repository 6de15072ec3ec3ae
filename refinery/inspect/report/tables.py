"""A finished run's tables, open for reading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refinery.common.connections import hide_progress_bar
from refinery.common.lazy import duckdb
from refinery.compiler.templates import template
from refinery.errors import DataError
from refinery.operators import read_sql
from refinery.results.open_tables import open_tables
from refinery.storage.run_folder import RunDir

NEEDED = {"runs", "steps", "ledger", "stats", "trace", "quarantine", "duplicates", "clusters", "shards", "files"}

Row = dict[str, Any]


class RunTables:
    """The database of a run folder, read-only. Raises DataError when no run has ended well there."""

    def __init__(self, work_dir: Path) -> None:
        self.run_dir = RunDir.of_finished(work_dir)
        database = self.run_dir.database
        if not database.is_file():
            raise DataError(
                f"{work_dir}: no finished run here (no {database.name}). Name the folder of a run that ended well, "
                "which is its recipe's work_dir"
            )
        self.con = open_tables(database)
        present = {name for (name,) in self.con.execute("SELECT table_name FROM information_schema.tables").fetchall()}
        if missing := sorted(NEEDED - present):
            self.con.close()
            raise DataError(f"{database}: is not a run's database, it has no table {', '.join(missing)}")
        hide_progress_bar(self.con)

    def __enter__(self) -> RunTables:
        return self

    def __exit__(self, *_: object) -> None:
        self.con.close()

    def aligned(self) -> bool:
        """True if the table `row_outcomes` exists, with the samples of `stats` in the same order."""
        try:
            gaps = self.con.execute(
                "SELECT 1 FROM stats POSITIONAL JOIN row_outcomes WHERE stats._row IS DISTINCT FROM row_outcomes._row LIMIT 1"
            )
        except duckdb.CatalogException:
            return False
        return not gaps.fetchall()

    def query(self, name: str, **values: Any) -> list[Row]:
        """Rows of the query `sql/report/<name>.sql`, a template rendered with `values`."""
        return self.rows(template(read_sql(f"report/{name}.sql")).render(values))

    def rows(self, sql: str) -> list[Row]:
        """Rows of a query, by column. Raises DataError when another version of refinery wrote the tables."""
        try:
            cursor = self.con.execute(sql)
        except (duckdb.BinderException, duckdb.CatalogException) as error:
            database, what = self.run_dir.database, str(error).splitlines()[0]
            raise DataError(f"{database}: is of another version of refinery ({what}). Run its recipe again") from error
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
