"""Parts that the views of samples share: the run's input, its searches, and the values of a request that make a filter."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from refinery.common.lazy import duckdb
from refinery.errors import DataError, RefineryError
from refinery.explore.model import Query
from refinery.explore.run import ExploredRun
from refinery.inspect.browse.conditions import KINDS, SampleCondition
from refinery.inspect.browse.input_rows import InputRows
from refinery.inspect.browse.row_filter import RowFilter, RunColumns
from refinery.inspect.browse.row_pages import matching
from refinery.inspect.browse.search import Search, SearchProgress
from refinery.inspect.diff.diff import rows_with

T = TypeVar("T")
# Searches that are kept, and seconds that one request searches.
_SEARCHES, SECONDS = 8, 1.0


def optional(read: Callable[[str], T], query: Query, name: str) -> T | None:
    """A value of a request, or None where it has none or an empty one."""
    return read(name) if query.values.get(name, "") != "" else None


def input_of(run: ExploredRun) -> InputRows:
    """The input of the run."""
    rows: InputRows = run.remember("input rows", lambda: InputRows(run.folder))
    return rows


def columns_of(run: ExploredRun, con: duckdb.DuckDBPyConnection) -> RunColumns:
    """Statistics and steps of the run."""
    columns: RunColumns = run.remember("run columns", lambda: RunColumns(con))
    return columns


def filter_of(query: Query) -> RowFilter:
    """The filter that a request describes."""
    return RowFilter(
        fate=optional(query.text, query, "fate"),
        step=optional(query.integer, query, "step"),
        reason=optional(query.text, query, "reason"),
        changed=optional(query.integer, query, "changed"),
        stat=optional(query.text, query, "stat"),
        low=optional(query.number, query, "low"),
        high=optional(query.number, query, "high"),
        value=optional(query.text, query, "value"),
        file=optional(query.text, query, "file"),
    )


def conditions_of(query: Query, text_key: str) -> list[SampleCondition]:
    """The conditions on fields that a request describes: words in `in`, and one on `field`."""
    conditions = []
    if (words := optional(query.text, query, "q")) is not None:
        conditions.append(SampleCondition(query.values.get("in") or text_key, "contains", words))
    if (field := optional(query.text, query, "field")) is not None:
        conditions.append(SampleCondition(field, query.choice("how", KINDS), query.text("what", "")))
    return conditions


def other_run(run: ExploredRun, number: int) -> Path:
    """The folder of another run, by its number. Raises DataError if the command line names no such run."""
    if not 0 <= number < len(run.others):
        raise DataError(f"there is no other run {number}. Name its folder: refinery explore RUN --with OTHER")
    return run.others[number]


def compared_rows(run: ExploredRun, query: Query) -> np.ndarray | None:
    """The rows with an outcome in this run and one in another run, if a request names them."""
    number = optional(query.integer, query, "with")
    if number is None:
        return None
    other, here, there = other_run(run, number), query.text("a"), query.text("b")
    rows: np.ndarray = run.remember(
        ("compared rows", number, here, there), lambda: rows_with(run.folder, other, here, there)
    )
    return rows


class Searches:
    """The last searches of a page, by their conditions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Search] = OrderedDict()

    def advance(
        self, run: ExploredRun, con: duckdb.DuckDBPyConnection, wanted: RowFilter, conditions: list[SampleCondition]
    ) -> SearchProgress:
        """Go on with the search for some conditions for a second. One that fails begins again when it is asked for next."""
        key = json.dumps([repr(wanted), [repr(condition) for condition in conditions]])
        with self._lock:
            search = self._known.get(key)
            if search is None:
                candidates = matching(con, columns_of(run, con), wanted)
                search = self._known[key] = Search(input_of(run), con, conditions, candidates)
            self._known.move_to_end(key)
            while len(self._known) > _SEARCHES:
                self._known.popitem(last=False)
        try:
            return search.progress() if search.progress().done else search.advance(SECONDS)
        except RefineryError:
            with self._lock:
                self._known.pop(key, None)
            raise


def searches_of(run: ExploredRun) -> Searches:
    """The searches of the run's page."""
    searches: Searches = run.remember("searches", Searches)
    return searches


def rows_of(query: Query) -> list[int]:
    """The rows that a request names, as a JSON list."""
    try:
        rows: Any = json.loads(query.text("rows"))
    except ValueError:
        rows = None
    known = rows if isinstance(rows, list) else []
    return [row for row in known if isinstance(row, int) and not isinstance(row, bool) and row >= 0][:200]
