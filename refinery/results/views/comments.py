"""Comments on every table, view and column of a run's database."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from refinery.common.lazy import duckdb
from refinery.compiler.templates import ident, lit
from refinery.results.views.catalog import Catalog

# Comments of columns that depend on the recipe, by a pattern of their names.
_PATTERNS = {
    r"_changed_(\d+)": "true if step {0} changed the text; NULL if an earlier stage removed the sample",
    r"_bytes_0": "UTF-8 bytes of the text in the input",
    r"_bytes_(\d+)": "UTF-8 bytes of the text after step {0}; NULL if an earlier stage removed the sample",
    r"_term_(\d+)": "code of the term of step {0} that was not true, and of the value that was NULL",
    r"_key_(\w+)": "key of the sample in the group {0} of `stat_summary`",
    r"_partition_(\d+)": "value {0} of `partition_by`",
    r"_chars_(\d+)": "code points of the text that step {0} measured",
    r"_field_(\d+)": "field {0} of `keep_fields`, as stored; the view `fields` has its name and type",
    r"_tokens": "number of tokens of the sample",
}
Comments = Mapping[tuple[str, str], str]
_COMMENTS = """
SELECT table_name, column_name, comment FROM duckdb_columns()
WHERE database_name = current_database() AND NOT internal AND comment IS NOT NULL
UNION ALL
SELECT table_name, '', comment FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal AND comment IS NOT NULL
UNION ALL
SELECT view_name, '', comment FROM duckdb_views()
WHERE database_name = current_database() AND NOT internal AND comment IS NOT NULL
"""


@cache
def texts() -> dict[str, dict[str, str]]:
    """Comments by table and column; the column "" is the table itself, the table `columns` is any."""
    return tomllib.loads(Path(__file__).with_name("comments.toml").read_text(encoding="utf-8"))


def comment_on_all(con: duckdb.DuckDBPyConnection, own: Comments | None = None) -> None:
    """Set the comments of the database that a connection writes, in one transaction. own: of further columns."""
    catalog = Catalog.of(con)
    places = [(table, column) for table, columns in catalog.tables.items() for column in ("", *columns)]
    comments = {place: (own or {}).get(place) or comment_of(*place) for place in places}
    con.execute("BEGIN").fetchall()
    _set(con, catalog, comments)
    con.execute("COMMIT").fetchall()


@contextmanager
def comments_kept(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Set comments again that tables and views lose when they are replaced in the block by others of the same names."""
    before = dict(_comments(con))
    yield
    now = dict(_comments(con))
    _set(con, Catalog.of(con), {place: text for place, text in before.items() if now.get(place) != text})


def _comments(con: duckdb.DuckDBPyConnection) -> Iterator[tuple[tuple[str, str], str]]:
    for table, column, comment in con.execute(_COMMENTS).fetchall():
        yield (table, column), comment


def _set(con: duckdb.DuckDBPyConnection, catalog: Catalog, comments: Comments) -> None:
    statements = []
    for (table, column), comment in comments.items():
        kind = "COLUMN" if column else "VIEW" if table in catalog.views else "TABLE"
        name = f"{ident(table)}.{ident(column)}" if column else ident(table)
        statements += [f"COMMENT ON {kind} {name} IS {lit(comment)}"] if comment else []
    if statements:
        con.execute("; ".join(statements)).fetchall()


def comment_of(table: str, column: str) -> str:
    """The comment of a column, or of the table for the column ""; empty if there is none."""
    table = "row_outcomes" if table == "fates" and column else table
    found = texts().get(table, {})
    return found.get(column) or (texts()["columns"].get(column) if column else None) or _by_pattern(column)


def _by_pattern(column: str) -> str:
    for pattern, comment in _PATTERNS.items():
        if match := re.fullmatch(pattern, column):
            return comment.format(*match.groups())
    return ""
