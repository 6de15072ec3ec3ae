"""Conditions on the rows of a run, as SQL over its tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refinery.common.lazy import duckdb
from refinery.compiler.templates import ident
from refinery.errors import DataError, did_you_mean

FATES = ("kept", "removed", "quarantined")
# Every row that the run read, with the step that ended its way. changed: SQL of the flag of a mapper.
_ROWS = """
  SELECT
    _row, _dropped AS step, CASE WHEN _dropped IS NULL THEN 'kept' ELSE 'removed' END AS fate, _bytes_0 AS bytes, {changed} AS changed
  FROM row_outcomes
  UNION ALL
  SELECT DISTINCT ON (_row) _row, nullif(step, 0), 'quarantined', NULL, NULL FROM quarantine
"""


@dataclass(frozen=True)
class RowFilter:
    """Conditions that all hold for a row; None holds for every row.

    step: removed or quarantined the row. changed: a mapper that changed it. reason: of the removal, exactly, or the beginning of
    an error. stat: a statistic, which is within
    the bounds low and high, both included, or whose text is `value`. file: an input file.
    """

    fate: str | None = None
    step: int | None = None
    reason: str | None = None
    changed: int | None = None
    stat: str | None = None
    low: float | None = None
    high: float | None = None
    value: str | None = None
    file: str | None = None


@dataclass(frozen=True)
class RowQuery:
    """SQL for rows (`_row`, `step`, `fate`, and `sort`), with the values of its parameters."""

    sql: str
    values: tuple[Any, ...]


class RunColumns:
    """Statistics and steps of a run, against which names in a filter are checked."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        columns = con.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns "
            "WHERE table_name IN ('stats', 'row_outcomes') ORDER BY ordinal_position"
        ).fetchall()
        own = {"_row", "kept"}
        self.stats = {name: kind for table, name, kind in columns if table == "stats" and name not in own}
        self.outcomes = {name: kind for table, name, kind in columns if table == "row_outcomes"}
        self.steps = dict(con.execute("SELECT step, operator FROM steps ORDER BY step").fetchall())

    def require_stat(self, name: str) -> str:
        """SQL of a statistic. Raises DataError if the run has no such statistic."""
        if name not in self.stats:
            raise DataError(f"the run has no statistic {name!r}{did_you_mean(name, self.stats)}")
        return f"stats.{ident(name)}"

    def require_step(self, step: int) -> int:
        """The number of a step. Raises DataError if the recipe has no such step."""
        if step not in self.steps:
            raise DataError(f"the recipe has no step {step}; its steps are 1 to {len(self.steps)}")
        return step


def rows_query(con: duckdb.DuckDBPyConnection, columns: RunColumns, wanted: RowFilter, sort: str = "row") -> RowQuery:
    """The rows for which a filter holds. sort: "row", "bytes", or "stat:NAME". Raises DataError for an unknown name."""
    clauses: list[tuple[str, Sequence[Any]]] = []
    if wanted.fate is not None:
        clauses.append(("fate = ?", [_require_fate(wanted.fate)]))
    if wanted.step is not None:
        clauses.append(("step = ?", [columns.require_step(wanted.step)]))
    if wanted.reason is not None:
        clauses.append((_REASON, [wanted.reason, wanted.reason]))
    if wanted.changed is not None:
        clauses.append(("changed", []))
    if wanted.file is not None:
        clauses.append(_in_file(con, wanted.file))
    clauses += _within(columns, wanted)
    sort_sql = _sort(columns, sort)
    tables = ["rows"]
    if wanted.stat is not None or sort.startswith("stat:"):
        tables.append("LEFT JOIN stats ON stats._row = rows._row")
    where = " AND ".join(sql for sql, _ in clauses) or "TRUE"
    rows = _ROWS.format(changed="NULL" if wanted.changed is None else _changed(columns, wanted.changed))
    named = f"SELECT rows._row, step, fate, {sort_sql} AS sort FROM {' '.join(tables)}"
    sql = f"WITH rows AS ({rows}) {named} WHERE {where}"
    return RowQuery(sql, tuple(value for _, values in clauses for value in values))


_REASON = "rows._row IN (SELECT _row FROM ledger WHERE reason = ? UNION ALL SELECT _row FROM quarantine WHERE starts_with(error, ?))"


def _require_fate(fate: str) -> str:
    if fate not in FATES:
        raise DataError(f"a row is {', '.join(FATES[:-1])} or {FATES[-1]}, not {fate!r}")
    return fate


def _changed(columns: RunColumns, step: int) -> str:
    name = f"_changed_{columns.require_step(step)}"
    if name not in columns.outcomes:
        raise DataError(f"step {step} ({columns.steps[step]}) changes no texts; name a mapper's step")
    return ident(name)


def _within(columns: RunColumns, wanted: RowFilter) -> list[tuple[str, Sequence[Any]]]:
    if wanted.stat is None:
        if (wanted.low, wanted.high, wanted.value) != (None, None, None):
            raise DataError("bounds and values need a statistic; choose one")
        return []
    name = columns.require_stat(wanted.stat)
    number = f"TRY_CAST({name} AS DOUBLE)"
    conditions = (
        (f"{number} >= ?", wanted.low),
        (f"{number} <= ?", wanted.high),
        (f"CAST({name} AS VARCHAR) = ?", wanted.value),
    )
    return [(sql, [value]) for sql, value in conditions if value is not None]


def _in_file(con: duckdb.DuckDBPyConnection, file: str) -> tuple[str, Sequence[Any]]:
    """Rows of a file, whose rows follow each other."""
    places = con.execute("SELECT first_row, first_row + rows FROM files WHERE file = ?", [file]).fetchall()
    if not places:
        known = [name for (name,) in con.execute("SELECT DISTINCT file FROM files LIMIT 1000").fetchall()]
        raise DataError(f"the run has read no file {file!r}{did_you_mean(file, known)}")
    sql = " OR ".join("rows._row >= ? AND rows._row < ?" for _ in places)
    return f"({sql})", [value for place in places for value in place]


def _sort(columns: RunColumns, sort: str) -> str:
    if sort == "row":
        return "NULL"
    if sort == "bytes":
        return "bytes"
    if sort.startswith("stat:"):
        return columns.require_stat(sort.removeprefix("stat:"))
    raise DataError(f"rows are sorted by row, bytes or stat:NAME, not by {sort!r}")


def cursor_of(sort: Any, row: int) -> str:
    """The place of a row in a sorted list, as text that a URL can carry."""
    return json.dumps([None if sort is None else str(sort), row], ensure_ascii=False)


def place_of(cursor: str) -> tuple[str | None, int]:
    """The sort value and row of a cursor. Raises DataError for text that is no cursor."""
    try:
        value, row = json.loads(cursor)
    except (ValueError, TypeError):
        value, row = 0, None
    if not isinstance(row, int) or isinstance(row, bool) or not isinstance(value, (str, type(None))):
        raise DataError(f"{cursor!r} is no place in a list; start at its first page")
    return value, row
