"""Pages of rows: together they are all rows in order, each once, whatever they are filtered and sorted by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

from refinery.errors import DataError
from refinery.inspect.browse.row_filter import RowFilter, RunColumns
from refinery.inspect.browse.row_pages import PageRequest, matching, page
from refinery.results.open_tables import open_tables
from tests.inspect.browse.conftest import SAMPLES


@pytest.fixture(scope="module")
def con(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_tables(folder / "run" / "refinery.duckdb") as con:
        yield con


@pytest.fixture(scope="module")
def columns(con: duckdb.DuckDBPyConnection) -> RunColumns:
    return RunColumns(con)


def all_pages(con: duckdb.DuckDBPyConnection, columns: RunColumns, **request: object) -> list[int]:
    """Row numbers of all pages of seven rows."""
    rows: list[int] = []
    after = None
    while True:
        found = page(con.cursor(), columns, PageRequest(limit=7, after=after, **request))  # type: ignore[arg-type]
        rows += [row["row"] for row in found.rows]
        assert len(rows) <= found.total
        if found.next is None:
            assert len(rows) == found.total
            return rows
        after = found.next


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", ["row", "bytes", "stat:num_words"])
def test_pages_are_all_rows_once(
    con: duckdb.DuckDBPyConnection, columns: RunColumns, sort: str, descending: bool
) -> None:
    rows = all_pages(con, columns, sort=sort, descending=descending)
    assert sorted(rows) == list(range(len(SAMPLES)))
    if sort == "row":
        assert rows == sorted(rows, reverse=descending)
        return
    table, column = ("row_outcomes", "_bytes_0") if sort == "bytes" else ("stats", "num_words")
    known = dict(con.execute(f"SELECT _row, {column} FROM {table}").fetchall())
    values = [known.get(row) for row in rows]
    measured = [value for value in values if value is not None]
    assert measured == sorted(measured, reverse=descending) and values[len(measured) :] == [None] * (
        len(rows) - len(measured)
    )
    for value in set(measured):  # ties are in row order
        tied = [row for row in rows if known.get(row) == value]
        assert tied == sorted(tied)


def test_a_search_is_paged_in_both_directions(con: duckdb.DuckDBPyConnection, columns: RunColumns) -> None:
    matches = np.arange(3, 100, 5)
    for sort in ("row", "stat:num_words"):
        assert sorted(all_pages(con, columns, matches=matches, sort=sort)) == matches.tolist()
    assert all_pages(con, columns, matches=matches, descending=True) == matches.tolist()[::-1]


@pytest.mark.parametrize(
    ("wanted", "sql"),
    [
        (RowFilter(fate="kept"), "SELECT _row FROM row_outcomes WHERE _dropped IS NULL"),
        (RowFilter(fate="removed", step=2), "SELECT _row FROM ledger WHERE step = 2"),
        (RowFilter(fate="quarantined"), "SELECT _row FROM quarantine"),
        (
            RowFilter(reason="num_words below min_num"),
            "SELECT _row FROM ledger WHERE reason = 'num_words below min_num'",
        ),
        (RowFilter(reason="malformed JSON"), "SELECT _row FROM quarantine WHERE starts_with(error, 'malformed JSON')"),
        (RowFilter(changed=1), "SELECT _row FROM row_outcomes WHERE _changed_1"),
        (RowFilter(stat="num_words", low=3, high=8), "SELECT _row FROM stats WHERE num_words BETWEEN 3 AND 8"),
        (RowFilter(stat="num_words", value="1"), "SELECT _row FROM stats WHERE num_words = 1"),
        (RowFilter(stat="num_words"), "SELECT _row FROM row_outcomes UNION SELECT _row FROM quarantine"),
    ],
)
def test_filters(con: duckdb.DuckDBPyConnection, columns: RunColumns, wanted: RowFilter, sql: str) -> None:
    expected = sorted(row for (row,) in con.execute(sql).fetchall())
    assert expected and all_pages(con, columns, filter=wanted) == expected
    assert matching(con.cursor(), columns, wanted).tolist() == expected


def test_rows_of_a_file(con: duckdb.DuckDBPyConnection, columns: RunColumns, folder: Path) -> None:
    first = str(folder / "in" / "a 'first'.jsonl")
    assert all_pages(con, columns, filter=RowFilter(file=first)) == list(range(70))
    assert all_pages(con, columns, filter=RowFilter(file=first, fate="quarantined")) == [40]


def test_a_row_has_its_outcome_file_and_reason(
    con: duckdb.DuckDBPyConnection, columns: RunColumns, folder: Path
) -> None:
    rows = {row["row"]: row for row in page(con.cursor(), columns, PageRequest(limit=200)).rows}
    assert rows[10]["fate"] == "removed" and rows[10]["step"] == 2 and rows[10]["value"] == 1 and rows[10]["bound"] == 3
    assert rows[11]["kept_instead"] == 1 and rows[11]["operator"] == "document_deduplicator"
    assert (
        rows[40]["fate"] == "quarantined" and rows[40]["line"] == 41 and rows[40]["reason"].startswith("malformed JSON")
    )
    assert (
        rows[71]["file"] == str(folder / "in" / "b.jsonl") and rows[3]["fate"] == "kept" and rows[3]["reason"] is None
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (PageRequest(filter=RowFilter(stat="numwords", low=1)), "Did you mean 'num_words'"),
        (PageRequest(filter=RowFilter(low=1)), "choose one"),
        (PageRequest(filter=RowFilter(fate="gone")), "not 'gone'"),
        (PageRequest(filter=RowFilter(step=9)), "no step 9; its steps are 1 to 5"),
        (PageRequest(filter=RowFilter(changed=2)), "step 2 .words_num_filter. changes no texts"),
        (PageRequest(filter=RowFilter(file="b.json")), "has read no file 'b.json'"),
        (PageRequest(sort="words"), "not by 'words'"),
        (PageRequest(after="[1]"), "no place in a list"),
        (PageRequest(after='["x", true]'), "no place in a list"),
    ],
)
def test_unknown_names_are_refused(
    con: duckdb.DuckDBPyConnection, columns: RunColumns, request_: PageRequest, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        page(con.cursor(), columns, request_)


def test_a_cursor_of_another_list_is_refused(con: duckdb.DuckDBPyConnection, columns: RunColumns) -> None:
    with pytest.raises(DataError, match="no place in this list"):
        page(con.cursor(), columns, PageRequest(sort="stat:num_words", after='["many", 3]'))
