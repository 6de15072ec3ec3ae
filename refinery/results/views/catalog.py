"""Tables and columns that the database of a run has, whichever version of refinery made it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from refinery.common.lazy import duckdb

_COLUMNS = """
SELECT table_name, column_name, data_type FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal
ORDER BY table_name, column_index
"""
_VIEWS = """
SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal
"""


@dataclass(frozen=True)
class Catalog:
    """Types of columns by table. views: the tables among them that are views."""

    tables: Mapping[str, Mapping[str, str]]
    views: frozenset[str]

    @staticmethod
    def of(con: duckdb.DuckDBPyConnection) -> Catalog:
        """The catalog of the database that a connection uses."""
        tables: dict[str, dict[str, str]] = {}
        for table, column, kind in con.execute(_COLUMNS).fetchall():
            tables.setdefault(table, {})[column] = kind
        return Catalog(tables, frozenset(name for (name,) in con.execute(_VIEWS).fetchall()))

    def has(self, table: str, column: str) -> bool:
        """Return whether a table has a column."""
        return column in self.tables.get(table, {})

    def steps_with(self, prefix: str) -> list[int]:
        """Numbers of the steps that have a column `<prefix><step>` in `row_outcomes`, ascending."""
        columns = self.tables.get("row_outcomes", {})
        return sorted(int(found[1]) for name in columns if (found := re.fullmatch(rf"{prefix}(\d+)", name)))
