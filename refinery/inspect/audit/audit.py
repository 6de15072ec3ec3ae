"""`refinery audit`: the audit that a run has stored, or one that is made now over its recomputed texts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refinery.common.lazy import duckdb
from refinery.execution.audited_texts import audited_steps, text_key_of
from refinery.inspect.audit.replayed_texts import ReplayedTexts
from refinery.inspect.why.query import RowHistories
from refinery.results.audit import record
from refinery.results.audit.draw import MOST
from refinery.results.open_tables import open_tables
from refinery.results.views.create import add_views
from refinery.storage.run_folder import RunDir

Row = dict[str, Any]

_ORDERS = {
    "audit_summary": "step, source NULLS FIRST, measure DESC, threshold",
    "hubs": "step, connected DESC, via",
    "chains": "step, cluster_size DESC, similarity, _row",
    "audit": "step, _row, unit",
}


@dataclass(frozen=True)
class RunAudit:
    """An audit. summary, hubs, chains, pairs: rows of the tables `audit_summary`, `hubs`, `chains` and `audit`.

    stored: the run has made it. notes: on steps of which fewer than half of what they removed is like what stays.
    """

    run: str
    stored: bool
    summary: list[Row]
    hubs: list[Row]
    chains: list[Row]
    pairs: list[Row]
    notes: list[str]


def audit_of(work_dir: Path, pairs: int | None = None) -> RunAudit:
    """The audit of a finished run. pairs: make one with so many of each step; by default the stored one, if there is one.

    Nothing is written. Raises DataError if there is no run, or if its rows cannot be recomputed.
    """
    if pairs is None and (found := _stored(work_dir)) is not None:
        return found
    with RowHistories(work_dir) as histories:
        prepared = histories.prepared
        steps = audited_steps(prepared.stages, prepared.library.operators)
        texts = ReplayedTexts(prepared, histories.con, histories.replay)
        made = record.measured(histories.con, steps, text_key_of(prepared.stages), texts, pairs or MOST)
    with duckdb.connect() as con:
        made.write(con)
        add_views(con)
        return _read(con, work_dir, False, record.notes_of(made, steps, con))


def _stored(work_dir: Path) -> RunAudit | None:
    """The audit that a run has stored; None if it has none."""
    database = RunDir.of_finished(work_dir).database
    if not database.is_file():
        return None
    with open_tables(database) as con:
        return stored_audit(con, work_dir)


def stored_audit(con: duckdb.DuckDBPyConnection, work_dir: Path) -> RunAudit | None:
    """The audit in a run's tables; None if they have none. con: of the database, with its views."""
    there = con.execute("SELECT 1 FROM information_schema.tables WHERE table_name = 'audit'").fetchall()
    if not there or not con.execute("SELECT 1 FROM audit LIMIT 1").fetchall():
        return None
    return _read(con, work_dir, True, [])


def _read(con: duckdb.DuckDBPyConnection, work_dir: Path, stored: bool, notes: list[str]) -> RunAudit:
    rows = {}
    for table, order in _ORDERS.items():
        cursor = con.execute(f"SELECT * FROM {table} ORDER BY {order}")
        names = [column[0] for column in cursor.description or ()]
        rows[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return RunAudit(str(work_dir), stored, rows["audit_summary"], rows["hubs"], rows["chains"], rows["audit"], notes)
