"""Rows of a run, page by page: each page begins after the last row of the one before it (keyset paging)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.errors import DataError
from refinery.inspect.browse.row_filter import RowFilter, RowQuery, RunColumns, cursor_of, place_of, rows_query
from refinery.kernels.core.arrow import ints

# Most rows of one page.
MOST = 200
_MATCHES = "matching_rows"


@dataclass(frozen=True)
class PageRequest:
    """The rows of a page. sort: see `rows_query`. after: cursor of the row before the first one. matches: only these rows."""

    filter: RowFilter = RowFilter()
    sort: str = "row"
    descending: bool = False
    after: str | None = None
    limit: int = 50
    matches: np.ndarray | None = None


@dataclass(frozen=True)
class RowPage:
    """Rows by column, the number of all rows for which the filter holds, and the cursor of the next page, if there is one."""

    rows: list[dict[str, Any]]
    total: int
    next: str | None


def page(con: duckdb.DuckDBPyConnection, columns: RunColumns, request: PageRequest) -> RowPage:
    """One page of rows. con: a cursor that no other thread uses. Raises DataError for an unknown name or cursor."""
    limit = max(1, min(request.limit, MOST))
    if request.matches is not None and request.sort == "row":
        total, rows = len(request.matches), _of_matches(request, limit)
    else:
        total, rows = _queried(con, columns, request, limit)
    last = rows[limit - 1] if len(rows) > limit else None
    about = described(con, [row for row, _ in rows[:limit]])
    listed = [about[row] | {"sort": sort, "cursor": cursor_of(sort, row)} for row, sort in rows[:limit]]
    return RowPage(listed, total, None if last is None else cursor_of(last[1], last[0]))


def _of_matches(request: PageRequest, limit: int) -> list[tuple[int, Any]]:
    """Rows of a search in their own order, one more than the limit."""
    matches = request.matches
    assert matches is not None
    row = None if request.after is None else place_of(request.after)[1]
    if request.descending:
        end = len(matches) if row is None else int(np.searchsorted(matches, row))
        chosen = matches[max(0, end - limit - 1) : end][::-1]
    else:
        start = 0 if row is None else int(np.searchsorted(matches, row, side="right"))
        chosen = matches[start : start + limit + 1]
    return [(row, None) for row in chosen.tolist()]


def _queried(
    con: duckdb.DuckDBPyConnection, columns: RunColumns, request: PageRequest, limit: int
) -> tuple[int, list[tuple[int, Any]]]:
    """The number of all rows, and the rows of the page with the value that they are sorted by, one more than the limit."""
    query = rows_query(con, columns, request.filter, request.sort)
    if request.matches is not None:
        con.register(_MATCHES, pa.table({"_row": ints(request.matches)}))
        query = RowQuery(f"{query.sql} AND rows._row IN (SELECT _row FROM {_MATCHES})", query.values)
    [(total,)] = con.execute(f"SELECT count(*) FROM ({query.sql})", list(query.values)).fetchall()
    where, values = _after(columns, request)
    direction = "DESC" if request.descending else "ASC"
    order = f"_row {direction}" if request.sort == "row" else f"sort {direction} NULLS LAST, _row"
    sql = f"SELECT _row, sort FROM ({query.sql}) WHERE {where} ORDER BY {order} LIMIT {limit + 1}"
    try:
        return int(total), con.execute(sql, [*query.values, *values]).fetchall()
    except duckdb.ConversionException as error:
        raise DataError(f"{request.after!r} is no place in this list; start at its first page") from error


def matching(con: duckdb.DuckDBPyConnection, columns: RunColumns, wanted: RowFilter) -> np.ndarray:
    """Numbers of all rows for which a filter holds, ascending."""
    query = rows_query(con, columns, wanted)
    numbers: np.ndarray = con.execute(f"SELECT _row FROM ({query.sql}) ORDER BY _row", list(query.values)).fetchnumpy()[
        "_row"
    ]
    return numbers


def _after(columns: RunColumns, request: PageRequest) -> tuple[str, list[Any]]:
    """SQL for the rows behind a cursor, in the order of the request; NULL is last in both directions."""
    if request.after is None:
        return "TRUE", []
    value, row = place_of(request.after)
    beyond = "<" if request.descending else ">"
    if request.sort == "row":
        return f"_row {beyond} ?", [row]
    if value is None:
        return "sort IS NULL AND _row > ?", [row]
    kind = "BIGINT" if request.sort == "bytes" else columns.stats[request.sort.removeprefix("stat:")]
    place = f"CAST(? AS {kind})"
    return f"(sort {beyond} {place} OR (sort = {place} AND _row > ?) OR sort IS NULL)", [value, value, row]


def described(con: duckdb.DuckDBPyConnection, rows: list[int]) -> dict[int, dict[str, Any]]:
    """Fate, place, and the removal or error of rows, from the view `samples`."""
    if not rows:
        return {}
    columns = (
        "_row AS row, fate, nullif(step, 0) AS step, operator, name, reason, value, bound, kept_instead, file, line"
    )
    cursor = con.execute(f"SELECT {columns} FROM samples WHERE _row IN {lit(rows)}")
    names = [column[0] for column in cursor.description or ()]
    by_row: dict[int, dict[str, Any]] = {}
    for row in cursor.fetchall():
        by_row.setdefault(row[0], dict(zip(names, row, strict=True)))
    return by_row
