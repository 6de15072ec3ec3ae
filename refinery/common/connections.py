"""DuckDB connections that reach only given files, load no extension, and whose settings can be locked."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from refinery.common.duckdb_facts import settings
from refinery.common.duckdb_facts.messages import file_out_of_reach
from refinery.common.lazy import duckdb


def file_name(database: str | os.PathLike[str]) -> str:
    """The name of a database file for DuckDB: absolute, since it takes letters before a colon for an extension's name.

    Links to folders are resolved: for DuckDB, `link/..` is the folder that has the link, not the parent of its target.
    """
    folder, name = os.path.split(database)
    return os.path.join(os.path.realpath(folder), name)


def connect(
    folders: Iterable[str | os.PathLike[str]] = (),
    threads: int | None = None,
    memory: str | None = None,
    temporary: str | None = None,
    database: str = ":memory:",
) -> duckdb.DuckDBPyConnection:
    """Open a connection that reaches files below `folders` and `temporary` only; its settings can still be changed.

    memory: as DuckDB writes it, None for its default. temporary: the folder to spill to.
    """
    con = duckdb.connect(database)
    hide_progress_bar(con)
    if threads is not None:
        con.execute(f"SET threads = {int(threads)}").fetchall()
    if memory:
        con.execute("SET memory_limit = ?", [memory]).fetchall()
    if temporary:
        con.execute("SET temp_directory = ?", [spill_folder(temporary)]).fetchall()
    confine(con, folders)
    return con


def hide_progress_bar(con: duckdb.DuckDBPyConnection) -> None:
    """Turn off DuckDB's own progress bar. In a notebook without ipywidgets it has none, and refuses the setting."""
    with suppress(duckdb.InvalidInputException):
        con.execute(settings.NO_PROGRESS_BAR).fetchall()


def confine(con: duckdb.DuckDBPyConnection, folders: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Let a connection reach files below `folders` only. Its spill folder must be set before."""
    reached = sorted({_folder(folder) for folder in folders})
    for statement in settings.CLOSED:
        con.execute(statement).fetchall()
    if reached:
        con.execute("SET allowed_directories = ?", [reached]).fetchall()
    con.execute(settings.NO_OTHER_FILES).fetchall()


def lock(con: duckdb.DuckDBPyConnection) -> None:
    """Lock the connection's settings."""
    con.execute(settings.LOCKED).fetchall()


def spill_folder(temporary: str) -> str:
    """The folder that DuckDB creates within `temporary` when it spills.

    DuckDB lets SQL read files below its spill folder, so that must hold no other files.
    """
    os.makedirs(temporary, exist_ok=True)
    return os.path.join(os.path.abspath(temporary), "refinery-spill")


def _folder(path: str | os.PathLike[str]) -> str:
    """The folder as DuckDB compares it: with links resolved on both sides. A URL stays as it is."""
    if "://" in str(path):
        return f"{str(path).rstrip('/')}/"
    return os.path.join(os.path.realpath(os.path.expanduser(path)), "")


def refused(error: Exception, folders: Iterable[str] = ()) -> str | None:
    """Message for SQL that DuckDB kept from a file, or that named an unknown one; None for any other error."""
    if (name := file_out_of_reach(error)) is None:
        return None
    where = ", ".join(sorted({_folder(folder) for folder in folders}))
    cure = f"SQL of a recipe reads files below {where} only" if where else "SQL reads no files here"
    return f"{name!r} cannot be read; {cure}"
