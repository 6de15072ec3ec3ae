"""Write the parts of a run's tables into its database, which then is one file that can be moved anywhere."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from refinery.common.connections import connect, file_name
from refinery.compiler.templates import ident
from refinery.errors import DataError, OutputError
from refinery.io.writers.temp_files import aside_of
from refinery.io.writers.write import writing
from refinery.results.open_tables import open_tables, parts_of, reach
from refinery.results.part_files import OVER_PARTS, keep_only
from refinery.results.views.comments import comments_kept
from refinery.storage.open import open_store
from refinery.storage.run_folder import RunDir

_THREADS, _MEMORY = 4, "512MB"
_VIEWS = f"SELECT view_name FROM duckdb_views() WHERE NOT internal AND view_name IN {OVER_PARTS} ORDER BY 1"


@dataclass(frozen=True)
class TableLayout:
    """Place of the rows of a run's tables. parts, bytes: files of tables; 0 where the database holds all rows."""

    database: str
    folder: str
    parts: int
    bytes: int


def layout_of(work_dir: Path) -> TableLayout:
    """The layout of the tables of a run folder. Raises DataError when no run has ended well there, or parts are missing."""
    database = _database(work_dir)
    with open_tables(database) as con:
        parts = parts_of(con)
    folder = os.path.dirname(parts[0][0]).partition("/table=")[0] if parts else ""
    return TableLayout(str(database), folder, len(parts), sum(size for _, size in parts))


def materialise(work_dir: Path, output: str | None = None, overwrite: bool = False) -> Path:
    """Write all rows into the database of a run, and remove its parts; or into a copy, and leave the run as it is.

    output: the file of the copy. Raises DataError, OutputError.
    """
    database = _database(work_dir)
    if output is None:
        with RunDir(work_dir).held():
            with writing(str(database)):
                _write(database, database)
            local = open_store(str(RunDir(work_dir).tables))
            keep_only(local, None)
        return database
    target = Path(os.path.expanduser(output))
    if target.exists() and not overwrite:
        raise OutputError(f"{target}: exists. Name another file, or add --overwrite")
    with writing(str(target)):
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(database, target)
    return target


def _database(work_dir: Path) -> Path:
    database = RunDir.of_finished(work_dir).database
    if not database.is_file():
        raise DataError(f"{work_dir}: no finished run here (no {database.name}); name a run's folder")
    return database


def _write(database: Path, target: Path) -> None:
    """Write a copy of the database with all rows, in the order of the views, under a temporary name; then rename it."""
    with open_tables(database) as con:  # with its views at its own parts
        parts = parts_of(con)
    aside = Path(aside_of(str(target)))
    try:
        shutil.copyfile(database, aside)
        _fill(aside, parts)
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(aside, target)
    finally:
        for left in (aside, aside.with_name(f"{aside.name}.wal")):
            left.unlink(missing_ok=True)


def _fill(database: Path, parts: list[tuple[str, int]]) -> None:
    """Turn the views over parts into tables."""
    folders = {path.partition("/table=")[0] for path, _ in parts}
    with connect([database.parent, *folders], _THREADS, _MEMORY, None, file_name(database)) as con:
        reach(con, parts)
        with comments_kept(con):
            for (name,) in con.execute(_VIEWS).fetchall():
                con.execute(f"CREATE TABLE _rows AS SELECT * FROM {ident(name)}").fetchall()
                con.execute(f"DROP VIEW {ident(name)}").fetchall()
                con.execute(f"ALTER TABLE _rows RENAME TO {ident(name)}").fetchall()
        con.execute("DELETE FROM table_parts").fetchall()
        con.execute("CHECKPOINT").fetchall()
