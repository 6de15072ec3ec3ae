"""Views of a run's database over Parquet parts of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refinery.compiler.templates import ident, lit
from refinery.results.database import Database
from refinery.storage.drivers import filesystem
from refinery.storage.store import Store

# Tables whose rows are parts; `facts` is seen as `stats` and `row_outcomes`.
OF_PARTS = ("quarantine", "duplicates", "clusters", "ledger")


def create_views(db: Database, store: Store, parts: Sequence[dict[str, Any]], stats: Sequence[str]) -> None:
    """Create the views. stats: quoted columns of the table `stats`.

    Views name each file, so that a missing part is an error and no other file is ever read.
    """
    if not store.on_this_machine:
        db.con.register_filesystem(filesystem(store.url)[0])
    for table in OF_PARTS:
        db.run(f"CREATE VIEW {table} AS {_select(db, store, parts, table)}")
    facts = _select(db, store, parts, "facts")
    kept = ", ".join(["_row", "_dropped IS NULL AS kept", *stats])
    _, source = facts.split(" FROM ", 1)
    names = [name for name in _columns(db, source) if name not in stats]
    db.run(f"CREATE TEMP VIEW facts AS {facts}")
    db.run(f"CREATE VIEW stats AS SELECT {kept} FROM {source}")
    db.run(f"CREATE VIEW row_outcomes AS SELECT {', '.join(names)} FROM {source}")
    db.run("CREATE VIEW fates AS SELECT * FROM row_outcomes")


def _select(db: Database, store: Store, parts: Sequence[dict[str, Any]], table: str) -> str:
    """The query of all rows of a table, in order: by step, where its parts are apart by steps, then by block."""
    own = sorted((part["step"] or 0, part["name"]) for part in parts if part["table"] == table)
    source = f"read_parquet({lit([place_of(store, name) for _, name in own])}, hive_partitioning = false)"
    return f"SELECT {', '.join(_columns(db, source))} FROM {source}"


def _columns(db: Database, source: str) -> list[str]:
    return [ident(name) for name, *_ in db.rows(f"DESCRIBE SELECT * FROM {source}")]


def place_of(store: Store, name: str) -> str:
    """The absolute path or URL of a file, as views name it."""
    return str(store.fetch(name)) if store.on_this_machine else f"{store.url}/{name}"
