"""Rows of a query as dicts by column, for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refinery.common.lazy import duckdb


def dicts(con: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """All rows of a query."""
    cursor = con.execute(query, list(values))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
