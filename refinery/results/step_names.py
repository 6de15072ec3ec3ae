"""Names of steps in the tables of finished runs."""

from __future__ import annotations

from refinery.common.lazy import duckdb


def name_column(con: duckdb.DuckDBPyConnection, steps: str = "steps") -> str:
    """SQL for the names of the steps in the table `steps`; NULL in runs of earlier versions, which lack the column."""
    columns = con.execute(f"SELECT * FROM {steps} LIMIT 0").description or ()
    return "name" if any(column[0] == "name" for column in columns) else "CAST(NULL AS VARCHAR)"
