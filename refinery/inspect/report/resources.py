"""Use of the machine by a run, for the section on time."""

from __future__ import annotations

from refinery.inspect.report.tables import Row, RunTables


def read_resources(tables: RunTables) -> list[Row]:
    """Read a row for each part of the run; none for an older run without the table `monitor`."""
    if not tables.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = 'monitor'"):
        return []
    return tables.query("resources")
