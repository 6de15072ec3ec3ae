"""Figures of a card: the result of a query on the run's database, with the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from refinery.common.lazy import duckdb

# Rows of a table in a card; the query of a table ends with this limit.
MOST = 50


@dataclass(frozen=True)
class Figure:
    """The result of a query. note: what the figure means, or leaves out. none: a sentence in place of no rows."""

    title: str
    sql: str
    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    note: str = ""
    none: str = "No rows"

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class NotMeasured:
    """A figure that the run cannot give. reason: why not, and what would give it."""

    title: str
    reason: str


Entry: TypeAlias = Figure | NotMeasured


@dataclass(frozen=True)
class Section:
    """A part of a card, with its figures."""

    name: str
    title: str
    entries: Sequence[Entry]

    @property
    def figures(self) -> list[Figure]:
        """The figures that the run gives."""
        return [entry for entry in self.entries if isinstance(entry, Figure)]

    @property
    def missing(self) -> list[NotMeasured]:
        """The figures that it does not give."""
        return [entry for entry in self.entries if isinstance(entry, NotMeasured)]


def figure(con: duckdb.DuckDBPyConnection, title: str, sql: str, note: str = "", none: str = "No rows") -> Entry:
    """The result of a query; a query that fails, such as one over an export that is gone, is a figure not measured."""
    try:
        cursor = con.execute(sql)
        rows = cursor.fetchall()
    except duckdb.Error as error:
        return NotMeasured(title, f"the query failed: {str(error).splitlines()[0]}")
    return Figure(title, sql, [column[0] for column in cursor.description or ()], rows, note, none)


def measured(con: duckdb.DuckDBPyConnection, title: str, sql: str, why_not: str, note: str = "") -> Entry:
    """The result of a query that has rows if the run measured the figure; `why_not`: the reason if it has none."""
    entry = figure(con, title, sql, note)
    return NotMeasured(title, why_not) if isinstance(entry, Figure) and not entry.rows else entry
