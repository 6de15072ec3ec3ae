"""Files of the tables of runs in one folder: those of the published database stay, all others are removed."""

from __future__ import annotations

from pathlib import Path

from refinery.common.connections import file_name
from refinery.common.lazy import duckdb
from refinery.storage.store import Store

_MARK = "/table="
# Views over parts, in the database of a run whose tables are parts.
OVER_PARTS = ("quarantine", "duplicates", "clusters", "ledger", "stats", "row_outcomes")


def folder_in(path: str) -> str:
    """The folder of a run's parts in the store of tables, from the path of a part."""
    return path.rpartition(_MARK)[0].replace("/step=", "/").rpartition("/")[2]


def folder_of(database: Path) -> str | None:
    """The folder of the parts that a database has views over; "" for none, None if it cannot be known."""
    if not database.is_file():
        return ""
    try:
        with duckdb.connect(file_name(database), read_only=True) as con:
            paths = con.execute("SELECT path FROM table_parts LIMIT 1").fetchall()
    except duckdb.CatalogException:  # a run of an earlier version
        return ""
    except duckdb.Error:
        return None
    return folder_in(paths[0][0]) if paths else ""


def keep_only(store: Store, database: Path | None) -> None:
    """Remove all folders of parts but that of a database; without a database, all. If it cannot be known, none."""
    if folders := {name.partition("/")[0] for name in store.names()}:  # opening a database takes 25 ms
        folder = "" if database is None else folder_of(database)
        if folder is None:
            return
        for other in sorted(folders - {folder}):
            store.remove(f"{other}/")
    store.tidy()
