"""The tables of a run, amended where a new decision changes them, in place of tables made anew.

Most of the values that a run has stored are those of the changed recipe as well: where all are known, a copy of the
database in which some samples have another end is made five times as fast as one that is written from the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import refinery
from refinery.analysis.stored import Stored
from refinery.compiler.env import ident, lit, template
from refinery.library import read_sql
from refinery.outputs import database
from refinery.outputs.database import Database
from refinery.outputs.summary import BLOCK
from refinery.outputs.tables import Statement
from refinery.staging import Done

# What is in the copy and stays there. Everything else is made anew or goes, such as tables of an analysis.
_STAY = ("stats", "fates", "quarantine", "duplicates", "clusters")
# What is made anew by its own statement.
_ANEW = ("ledger", "steps")


@dataclass(frozen=True)
class Amended:
    """The tables of a run and what is other than in them. See `refinery.staging.Tables`.

    database: of the run. changes: a Parquet file with a row for each sample that ends otherwise. kept: how many samples
    the changed recipe keeps.
    """

    database: Path
    changes: Path
    kept: int

    def fill(self, db: Database, done: Sequence[Done], statements: Sequence[Statement]) -> None:
        """Amend `stats` and `fates`, make the others anew, and the view `facts` over both."""
        for schema, name, kind in db.rows(f"SELECT * FROM ({_RELATIONS}) WHERE name NOT IN {_STAY}"):
            db.run(f"DROP {kind} {ident(schema)}.{ident(name)} CASCADE")
        database.fill_places(db, done)
        select = f"SELECT *, _dropped IS NULL AS kept FROM read_parquet({lit(str(self.changes))})"
        db.run(f"CREATE TEMP VIEW changes AS {select}")
        for table in ("stats", "fates"):
            columns = _differing(db, table)
            if columns:
                db.run(template(read_sql("analysis/amend.sql")).render(table=table, columns=columns))
        db.run("DROP VIEW changes")
        kind = "VIEW" if db.count("SELECT count(*) FROM fates") <= BLOCK else "TABLE"  # blocks are told by their places
        db.run(
            f"CREATE TEMP {kind} facts AS SELECT fates.*, stats.* EXCLUDE (_row, kept) FROM fates POSITIONAL JOIN stats"
        )
        database.execute(db, done, [statement for statement in statements if statement.table in _ANEW])


_RELATIONS = """
SELECT schema_name, table_name AS name, 'TABLE' AS kind FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT schema_name, view_name, 'VIEW' FROM duckdb_views() WHERE NOT internal
"""


def _differing(db: Database, table: str) -> list[str]:
    """Columns of a table that the changes change, quoted."""
    columns = [ident(name) for name in _columns(db.con, table)]
    query = template(read_sql("analysis/amended_columns.sql")).render(table=table, columns=columns)
    return [column for column, differs in zip(columns, db.rows(query)[0], strict=True) if differs]


def _columns(con: Any, relation: str) -> list[str]:
    return [column[0] for column in con.execute(f"SELECT * FROM {relation} LIMIT 0").description]


def amend(stored: Stored, sql: str, rows: int, changes: Path) -> Amended | None:
    """What changes of a run of one stage; None where samples have to be run again, or the tables are not as they would be.

    sql: sql/analysis/known.sql for the whole run. rows: that the shards have. changes: the file to write.
    """
    con, read = stored.con, f"read_parquet({lit(str(changes))})"
    if stored.manifest["versions"]["refinery"] != refinery.__version__ or not _sound(stored, rows):
        return None
    con.execute(f"COPY ({sql}) TO {lit(str(changes))} (FORMAT parquet, COMPRESSION uncompressed)").fetchall()
    stats, fates = _columns(con, "stats"), _columns(con, "fates")
    told = [name for name in _columns(con, read) if name != "_again"]
    if sorted([*told, "kept"]) != sorted({*stats, *fates}) or told != [*fates[:2], *stats[2:], *fates[2:]]:
        return None
    query = f"SELECT count(*), count(*) FILTER (_again), count(*) FILTER (_dropped IS NULL) FROM {read}"
    [(count, again, kept)] = con.execute(query).fetchall()
    if again:
        return None
    left = f"SELECT count(*) FROM fates ANTI JOIN {read} USING (_row) WHERE _dropped IS NULL"
    return Amended(
        stored.run_dir.database, changes, kept + (stored.count(left) if count else stored.manifest["rows"]["kept"])
    )


def _sound(stored: Stored, rows: int) -> bool:
    """Whether the tables are as the run left them: a row for each sample that could be read, in the same order in both."""
    database_file = stored.run_dir.database
    if database_file.with_name(f"{database_file.name}.wal").exists():
        return False
    if stored.count("SELECT count(*) FROM quarantine WHERE step > 0"):
        return False
    if stored.count("SELECT count(*) FROM stats POSITIONAL JOIN fates WHERE stats._row IS DISTINCT FROM fates._row"):
        return False
    return stored.count("SELECT (SELECT count(*) FROM fates) + (SELECT count(*) FROM quarantine)") == rows
