"""The tables of a finished run in a connection of its own, which later runs in the same folder do not disturb.

Connections that `duckdb.connect` opens on one path share a database within a process, even after another file has
taken its place; a database that is attached to a connection in memory is read from its own file.
"""

from __future__ import annotations

from pathlib import Path

from refinery.common.connections import file_name
from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.errors import DataError
from refinery.results.open_tables import open_tables, parts_of, reach, recipe_of
from refinery.results.reading_memory import limit_memory
from refinery.results.views.create import add_views

# Name of the attached database.
RUN = "run"


def attached_tables(database: Path) -> duckdb.DuckDBPyConnection:
    """A connection in memory to which a run's database is attached read-only; its tables need no prefix.

    Raises DataError as `open_tables`.
    """
    con = duckdb.connect()
    try:
        _attach(con, database)
        if parts_of(con):  # views over them may name those of another folder, until the database is opened
            con.execute(f"USE memory; DETACH {RUN}").fetchall()
            open_tables(database).close()
            _attach(con, database)
        limit_memory(con, recipe_of(con), database)
        con.execute(
            "SET python_scan_all_frames = true"
        ).fetchall()  # so that SQL can name the caller's tables and frames
        reach(con, parts_of(con))
        add_views(con)
    except duckdb.Error as error:
        con.close()
        raise DataError(f"{database}: cannot be opened: {str(error).splitlines()[0]}") from error
    return con


def _attach(con: duckdb.DuckDBPyConnection, database: Path) -> None:
    con.execute(f"ATTACH {lit(file_name(database))} AS {RUN} (READ_ONLY)").fetchall()
    con.execute(f"USE {RUN}").fetchall()
