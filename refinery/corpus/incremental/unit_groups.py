"""Deduplicators of units: a change compares the units whose keys entering and leaving rows have, before and after it.

The statement that finds the units to remove treats every key by itself (`sql/deduplicators/_units_*.sql`), so units with other keys
stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect
from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.corpus.incremental.delta import RowDelta
from refinery.corpus.incremental.state import StageState
from refinery.dedup.match_keys import SqlLimits
from refinery.dedup.units import statement_of
from refinery.kernels.core.arrow import ints, numbers
from refinery.planning.plan import CompiledStage, Plan

_KEYS = pa.schema([("_row", pa.int64()), ("unit", pa.int64()), ("key", pa.uint64())])
# All units of the stage's rows, also earlier ones of rows that came more than once.
_STORED = "SELECT _row, unit, key, change FROM read_parquet({})"
_OF_LEFT = """
CREATE TABLE leaving AS
SELECT key FROM ({stored}) AS stored SEMI JOIN left_rows ON left_rows._row = stored._row AND left_rows.at = stored.change
"""
_SAME_KEY = """
CREATE TABLE same_key AS
SELECT * FROM ({stored}) SEMI JOIN (SELECT key FROM entering UNION SELECT key FROM leaving) USING (key)
"""
_OLD = """
CREATE TABLE old AS
SELECT _row, unit, key FROM same_key SEMI JOIN present ON present._row = same_key._row AND present.at = same_key.change
"""
_NEW = "SELECT * FROM old ANTI JOIN left_rows USING (_row) UNION ALL SELECT _row, unit, key FROM entering"
# Units of rows that are in the stage before and after the change: those that only one of both removes.
_CHANGES = """
SELECT _row, unit, false AS goes
FROM removed_before ANTI JOIN removed_after USING (_row, unit) ANTI JOIN left_rows USING (_row)
UNION ALL
SELECT _row, unit, true FROM removed_after ANTI JOIN removed_before USING (_row, unit) ANTI JOIN entered USING (_row)
"""
_OF_ENTERED = "SELECT _row, unit, true AS goes FROM removed_after SEMI JOIN entered USING (_row)"
_LISTS = """
WITH known AS (SELECT _row, unnest(units) AS unit FROM stored_units),
removed AS (
  SELECT * FROM known ANTI JOIN (SELECT * FROM changes WHERE NOT goes) USING (_row, unit)
  UNION SELECT _row, unit FROM changes WHERE goes
)
SELECT changed._row, coalesce(list(unit ORDER BY unit) FILTER (unit IS NOT NULL), []) AS units
FROM (SELECT _row FROM changes UNION SELECT _row FROM stored_units) AS changed LEFT JOIN removed USING (_row)
GROUP BY changed._row ORDER BY changed._row
"""


@dataclass(frozen=True)
class UnitGroups:
    """The deduplicator of units at the end of a stage. change: number of the change."""

    plan: Plan
    planned: CompiledStage
    state: StageState
    change: int
    room: SqlLimits

    def apply(self, delta: RowDelta, keys: pa.Table | None) -> RowDelta:
        """Decide anew which units go. delta: of the rows that the steps keep. keys: of the entering rows.

        Returns the delta of the rows as the deduplicator leaves them.
        """
        left, _, left_at = self.state.status_of(delta.leave)
        folders = [self.state.keys.folder]
        with connect(folders, self.room.threads, self.room.memory, self.room.folder) as con:
            con.register("left_rows", pa.table({"_row": ints(left), "at": ints(left_at)}))
            con.register("entered", pa.table({"_row": ints(delta.enter)}))
            con.register("entering", (keys if keys is not None else _KEYS.empty_table()).select(_KEYS.names))
            self._compare(con, bool(len(left)))
            changes = con.sql(_CHANGES).to_arrow_table()
            others = np.unique(numbers(changes["_row"])).astype(np.int64)
            entered = con.sql(_OF_ENTERED).to_arrow_table()
            again = delta.enter[self.state.units.known(delta.enter)]
            lists = [
                self._lists(con, changes, self.state.units.take(others)),
                self._lists(con, entered, pa.table({"_row": ints(again), "units": _nothing(len(again))})),
            ]
        self.state.units.append(self.change, pa.concat_tables(lists).sort_by("_row"))
        self.state.settle(self.change, left, delta.enter)
        return RowDelta(np.union1d(left, others), np.union1d(delta.enter, others))

    def _compare(self, con: duckdb.DuckDBPyConnection, leaves: bool) -> None:
        """Make the tables `removed_before` and `removed_after` of the units with touched keys."""
        files = self.state.keys.names()
        stored = _STORED.format(lit(files)) if files else "SELECT *, 0 AS change FROM entering WHERE false"
        _run(con, _OF_LEFT.format(stored=stored if leaves else "SELECT *, 0 AS change FROM entering WHERE false"))
        _run(con, _SAME_KEY.format(stored=stored))
        rows = np.sort(numbers(con.sql("SELECT DISTINCT _row FROM same_key").to_arrow_table()["_row"]).astype(np.int64))
        row, _, at = self.state.status_of(rows)
        con.register("present", pa.table({"_row": ints(row), "at": ints(at)}))
        _run(con, _OLD)
        for name, marks in (("removed_before", "SELECT * FROM old"), ("removed_after", _NEW)):
            step = self.planned.stage.after
            assert step is not None
            _run(con, f"CREATE OR REPLACE VIEW marks AS {marks}")
            statement = statement_of(self.plan.library.operators[step.name], step.params)
            _run(con, f"CREATE TABLE {name} AS\n{statement}")

    def _lists(self, con: duckdb.DuckDBPyConnection, changes: pa.Table, known: pa.Table) -> pa.Table:
        """The removed units of rows that changes name, from those that are known of them."""
        if not len(known):
            known = pa.table({"_row": ints(np.zeros(0, np.int64)), "units": _nothing(0)})
        con.register("changes", changes)
        con.register("stored_units", known)
        lists = con.sql(_LISTS).to_arrow_table()
        kind = pa.schema([("_row", pa.int64()), ("units", pa.list_(pa.int64()))])
        return lists.cast(kind)


def _nothing(count: int) -> pa.Array:
    """As many empty lists."""
    return pa.array([[]] * count, pa.list_(pa.int64()))


def _run(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    con.execute(sql).fetchall()
