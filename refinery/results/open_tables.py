"""Open the database of a finished run for reading; where its tables are parts, find the parts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from refinery.common.connections import file_name
from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.errors import DataError
from refinery.results.part_files import OVER_PARTS, folder_in
from refinery.results.reading_memory import limit_memory
from refinery.results.views.comments import comments_kept
from refinery.results.views.create import add_views
from refinery.storage.drivers import filesystem
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_url

_PARTS = "SELECT path, bytes FROM table_parts ORDER BY path"
_VIEWS = f"SELECT view_name, sql FROM duckdb_views() WHERE NOT internal AND view_name IN {OVER_PARTS}"


def open_tables(database: Path) -> duckdb.DuckDBPyConnection:
    """Open a run's database read-only. Views of a run folder that was moved or copied are changed to its own parts.

    The connection has the views of `results.views`, also where an earlier version has made the database.
    Raises DataError if it cannot be opened or if parts are missing.
    """
    con = _opened(database)
    add_views(con)
    return con


def _opened(database: Path) -> duckdb.DuckDBPyConnection:
    try:
        con = _connected(database)
        parts = parts_of(con)
        reach(con, parts)
        if parts and is_url(parts[0][0]):
            return con
        if parts and (target := _moved(database, parts)):
            con.close()
            _point(database, str(_root(parts)), target)
            return _connected(database)
        if missing := [path for path, size in parts if _size(path) != size]:
            con.close()
            raise DataError(
                f"{database}: {len(missing)} of {len(parts)} files of its tables are missing or damaged, the first is "
                f"{missing[0]}. Bring back the folder, or run the recipe again; to move a database without its run folder, "
                "write the tables into it first: refinery tables RUN --materialise"
            )
    except duckdb.Error as error:
        raise DataError(f"{database}: cannot be opened: {str(error).splitlines()[0]}") from error
    return con


def parts_of(con: duckdb.DuckDBPyConnection) -> list[tuple[str, int]]:
    """Path and bytes of each part of a run's tables; none where the database holds all rows."""
    try:
        return con.execute(_PARTS).fetchall()
    except duckdb.CatalogException:  # a run of an earlier version
        return []


def reach(con: duckdb.DuckDBPyConnection, parts: Sequence[tuple[str, int]]) -> None:
    """Let a connection read parts at URLs, through the drivers that runs use."""
    if parts and is_url(parts[0][0]):
        con.register_filesystem(filesystem(parts[0][0])[0])


def _connected(database: Path) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(file_name(database), read_only=True)
    limit_memory(con, recipe_of(con), database)
    return con


def recipe_of(con: duckdb.DuckDBPyConnection) -> str:
    """The text of a run's recipe; "" if an earlier version has stored none."""
    try:
        return "\n".join(str(recipe) for (recipe,) in con.execute("SELECT recipe FROM runs").fetchall())
    except (duckdb.CatalogException, duckdb.BinderException):
        return ""


def _root(parts: Sequence[tuple[str, int]]) -> Path:
    """The folder of a run's parts."""
    path, folder = parts[0][0], folder_in(parts[0][0])
    return Path(path[: path.index(f"/{folder}/")]) / folder


def _moved(database: Path, parts: Sequence[tuple[str, int]]) -> str:
    """The folder beside the database that has all of its parts, if its views name another one; else ""."""
    named, own = _root(parts), RunDir(database.parent).tables.absolute() / _root(parts).name
    if not own.is_dir() or (named.is_dir() and named.samefile(own)):
        return ""
    here = [(str(own / Path(path).relative_to(named)), size) for path, size in parts]
    return str(own) if all(_size(path) == size for path, size in here) else ""


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return -1


def _point(database: Path, old: str, new: str) -> None:
    """Change the views of a database, and its list of parts, to another folder. Raises DataError if it is read-only."""
    try:
        with duckdb.connect(file_name(database)) as con:
            con.execute("BEGIN").fetchall()
            with comments_kept(con):
                for _, sql in con.execute(_VIEWS).fetchall():
                    changed = sql.replace(lit(f"{old}/")[1:-1], lit(f"{new}/")[1:-1])
                    con.execute(changed.replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1)).fetchall()
            con.execute("UPDATE table_parts SET path = ? || substr(path, ?)", [new, len(old) + 1]).fetchall()
            con.execute("COMMIT").fetchall()
    except duckdb.Error as error:
        raise DataError(
            f"{database}: its folder was moved, so its views must be changed to {new}, but the database cannot be written: "
            f"{str(error).splitlines()[0]}. Make it writable, or move the folder back to {old}"
        ) from error
