"""Views over the tables of a run: samples with their places, removals, changes, clusters, and the waterfall."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from refinery.api import Run
from refinery.results.open_tables import open_tables
from refinery.results.views.comments import comment_of, texts
from refinery.results.views.create import OF_VERDICTS, VIEWS
from tests.conftest import ROOT
from tests.runs import refine

pytestmark = pytest.mark.usefixtures("comments")

STEPS: list[Any] = [
    {"whitespace_normalization_mapper": None},
    {"text_length_filter": {"min_len": 5, "max_len": 100}, "name": "long enough"},
    {"document_deduplicator": None},
    {"sql_mapper": {"text": "replace(text, 'old', 'brand new')"}},
]


def rows_of(run: Run, query: str) -> list[tuple[Any, ...]]:
    return run.sql(query).fetchall()


# Blank lines, an unreadable one and a copy; small shards.
LINES: list[Any] = [
    {"text": "an old\u00a0text"},
    "",
    "   ",
    {"text": "tiny"},
    "not json",
    {"text": "nothing to do here"},
    "",
    {"text": "nothing to do here"},
    {"text": "old and long enough"},
]
PLACES = {0: 1, 1: 4, 2: 5, 3: 6, 4: 8, 5: 9}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("views")
    return refine(folder, LINES, STEPS, shard_size=60, open_tracer=True, trace_num=1)


def test_every_sample_has_its_place_and_fate(run: Run) -> None:
    rows = rows_of(run, "SELECT _row, line, fate, step, operator, name, reason FROM samples ORDER BY _row")
    assert {row: line for row, line, *_ in rows} == PLACES
    assert [(row, fate, step, operator, name) for row, _, fate, step, operator, name, _ in rows] == [
        (0, "kept", None, None, None),
        (1, "removed", 2, "text_length_filter", "long enough"),
        (2, "quarantined", 0, None, None),
        (3, "kept", None, None, None),
        (4, "removed", 3, "document_deduplicator", None),
        (5, "kept", None, None, None),
    ]
    assert rows[1][-1] == "text_len below min_len" and rows[4][-1] == "duplicate of row 3"
    assert "JSON" in rows[2][-1]
    assert rows_of(run, "SELECT DISTINCT parse_filename(file) FROM samples") == [("in.jsonl",)]
    assert len(rows_of(run, "FROM shards")) > 2


def test_sizes_are_those_of_the_input_and_of_the_last_step(run: Run) -> None:
    assert rows_of(run, "SELECT _row, bytes_in, bytes_out FROM samples ORDER BY _row") == [
        (0, 12, 17),
        (1, 4, 4),
        (2, None, None),
        (3, 18, 18),
        (4, 18, 18),
        (5, 19, 25),
    ]


def test_removed_samples_have_places(run: Run) -> None:
    assert rows_of(run, "SELECT _row, line, step, value, bound, kept_instead FROM removed ORDER BY _row") == [
        (1, 4, 2, 4.0, 5.0, None),
        (4, 8, 3, None, None, 3),
    ]


def test_changes_have_texts_where_they_were_traced(run: Run) -> None:
    assert rows_of(run, "FROM changed ORDER BY step, _row") == [
        (0, 1, "whitespace_normalization_mapper", None, 12, 11, "an old\u00a0text", "an old text"),
        (0, 4, "sql_mapper", None, 11, 17, "an old text", "an brand new text"),
        (5, 4, "sql_mapper", None, 19, 25, None, None),
    ]


def test_members_of_a_cluster_have_their_match(run: Run) -> None:
    columns = "step, cluster, size, _row, line, survivor, kept, via"
    assert rows_of(run, f"SELECT {columns} FROM cluster_members ORDER BY _row") == [
        (3, 0, 2, 3, 6, True, None, None),
        (3, 0, 2, 4, 8, False, 3, 3),
    ]


def test_the_waterfall_begins_with_reading(run: Run) -> None:
    columns = "step, operator, name, rows_in, removed, quarantined, rows_out, removed_share, left_share"
    assert rows_of(run, f"SELECT {columns} FROM waterfall ORDER BY step") == [
        (0, "read", None, 6, 0, 1, 5, 0.0, 5 / 6),
        (1, "whitespace_normalization_mapper", None, 5, 0, 0, 5, 0.0, 5 / 6),
        (2, "text_length_filter", "long enough", 5, 1, 0, 4, 0.2, 4 / 6),
        (3, "document_deduplicator", None, 4, 1, 0, 3, 0.25, 3 / 6),
        (4, "sql_mapper", None, 3, 0, 0, 3, 0.0, 3 / 6),
    ]


def test_everything_has_a_comment(run: Run) -> None:
    with duckdb.connect(str(run.database), read_only=True) as con:
        for kind in ("tables", "views", "columns"):
            assert not con.execute(f"FROM duckdb_{kind}() WHERE NOT internal AND comment IS NULL").fetchall()
        [(comment,)] = con.execute("SELECT comment FROM duckdb_columns() WHERE column_name = 'text_len'").fetchall()
    assert comment == "step 2, text_length_filter: long enough: Characters in the text."


def test_an_attached_database_has_its_views(run: Run) -> None:
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{run.database}' AS other (READ_ONLY)")
        assert con.execute("SELECT count(*) FROM other.samples").fetchall() == [(6,)]
        assert con.execute("SELECT count(*) FROM other.waterfall").fetchall() == [(5,)]


def test_a_database_of_an_earlier_version_gets_views_and_is_not_written(run: Run, tmp_path: Path) -> None:
    older = tmp_path / "refinery.duckdb"
    shutil.copyfile(run.database, older)
    with duckdb.connect(str(older)) as con:
        for view in VIEWS:
            con.execute(f"DROP VIEW {view}")
        con.execute("DROP TABLE lines")
        for table in ("steps", "ledger"):
            con.execute(f"ALTER TABLE {table} DROP COLUMN name")
    content = older.read_bytes()
    with open_tables(older) as con:
        rows = con.execute("SELECT _row, line, fate, name FROM samples ORDER BY _row").fetchall()
        added = VIEWS.keys() - OF_VERDICTS.keys()
        counts = {view: con.execute(f"SELECT count(*) FROM {view}").fetchall()[0][0] for view in added}
    assert [row[2] for row in rows] == ["kept", "removed", "quarantined", "kept", "removed", "kept"]
    assert [row[1] for row in rows] == [None, None, 5, None, None, None]  # the table quarantine has its lines
    assert counts == {view: rows_of(run, f"SELECT count(*) FROM {view}")[0][0] for view in added}
    assert older.read_bytes() == content


def test_a_run_of_nothing_has_views(tmp_path: Path) -> None:
    run = refine(tmp_path, [], [{"text_length_filter": {"min_len": 5}}])
    with open_tables(run.database) as con:
        rows = {view: len(con.execute(f"FROM {view}").fetchall()) for view in VIEWS}
    assert rows == dict.fromkeys(VIEWS, 0) | {"waterfall": 2}


def test_no_comment_is_left_over(run: Run) -> None:
    """A comment for a table or column that no run has is a mistake, or a table was renamed."""
    present: dict[str, set[str]] = {}
    for table, column in rows_of(run, "SELECT table_name, column_name FROM information_schema.columns"):
        present.setdefault(table, set()).add(column)
    analysis = {"sketches", "quantiles", "correlations", "suggestions"}
    assert texts().keys() - present.keys() == {"columns", *analysis}
    for table, columns in texts().items():
        assert table in {"columns", *analysis} or columns.keys() - {""} <= present[table]


def test_comments_are_the_descriptions_of_the_page() -> None:
    pages = [(ROOT / "docs" / name).read_text("utf-8") for name in ("tables.md", "views.md")]
    table, described = "", 0
    for line in "".join(pages).splitlines():
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)
        if heading := re.match(r"## (\w+): (.+)", plain):
            table = heading[1]
            assert comment_of(table, "") == heading[2]
        elif table and (column := re.match(r"\| `(\w+)` \| [^|]+ \| (.+) \|$", plain)):
            assert comment_of(table, column[1]) == column[2]
            described += 1
    assert described > 200
