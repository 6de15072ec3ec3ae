"""`keep_fields`: fields of the input in the tables of a run, with their types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.api import Run
from refinery.errors import RecipeError
from refinery.execution import table_maker
from refinery.inspect.refilter.refilter import refilter
from tests.runs import content, refine, settings, write_lines

pytestmark = pytest.mark.usefixtures("comments")

STEPS: list[Any] = [{"text_length_filter": {"min_len": 10}}, {"document_deduplicator": None}]
KEPT = ["id", "url", "step", "_row", "Name", "big", "meta.source", "meta", '"odd ""x"".y"', "mixed", "text", "gone"]
LINES: list[Any] = [
    {"id": 1, "text": "long enough to stay", "url": "http://a.example/1", "step": 3, "_row": "x", "Name": "n"},
    {"id": 2, "text": "short", "big": 2**70, "meta": {"source": "s", "n": 2**80}, 'odd "x".y': True, "mixed": 1},
    "not json",
    {"text": "long enough to stay", "big": 1, "meta": {"source": None}, "mixed": "a", "gone": None},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return refine(tmp_path_factory.mktemp("fields"), LINES, STEPS, keep_fields=KEPT, shard_size=80)


def test_fields_have_their_types_and_names_that_no_column_has(run: Run) -> None:
    relation = run.sql("FROM fields")
    assert dict(zip(relation.columns, map(str, relation.types), strict=True)) == {
        "_row": "BIGINT",
        "id": "BIGINT",
        "url": "VARCHAR",
        "input_step": "BIGINT",
        "input__row": "VARCHAR",
        "input_Name": "VARCHAR",
        "big": "HUGEINT",
        "meta.source": "VARCHAR",
        "meta": "JSON",
        'odd "x".y': "BOOLEAN",
        "mixed": "JSON",
        "text": "VARCHAR",
        "gone": "VARCHAR",
    }


def test_every_readable_sample_has_them(run: Run) -> None:
    assert run.sql("FROM fields ORDER BY _row").fetchall() == [
        (0, 1, "http://a.example/1", 3, "x", "n", None, None, None, None, None, "long enough to stay", None),
        (1, 2, None, None, None, None, 2**70, "s", f'{{"source":"s","n":{2**80}}}', True, "1", "short", None),
        (
            3,
            None,
            None,
            None,
            None,
            None,
            1,
            None,
            '{"source":null,"n":null}',
            None,
            '"a"',
            "long enough to stay",
            None,
        ),
    ]


@pytest.mark.parametrize("view", ["samples", "removed", "cluster_members"])
def test_other_views_have_them_too(run: Run, view: str) -> None:
    columns = run.sql("FROM fields").columns
    assert run.sql(f"FROM {view}").columns[-len(columns) + 1 :] == columns[1:]
    shown = ", ".join(f'"{column.replace(chr(34), chr(34) * 2)}"' for column in columns)
    missing = f"SELECT {shown} FROM {view} WHERE _row <> 2 EXCEPT SELECT {shown} FROM fields"
    assert run.sql(missing).fetchall() == []
    assert run.sql(f"SELECT count(*) FROM {view}").fetchall() == [({"samples": 4}.get(view, 2),)]


def test_a_quarantined_sample_has_none(run: Run) -> None:
    assert run.sql("SELECT fate, id, big, meta FROM samples WHERE _row = 2").fetchall() == [
        ("quarantined", None, None, None)
    ]


def test_columns_say_which_field_they_hold(run: Run) -> None:
    query = "SELECT comment FROM duckdb_columns() WHERE table_name = 'samples' AND column_name = 'input_step'"
    assert run.sql(query).fetchall() == [("field step of the input",)]


def test_typed_files_keep_their_types(tmp_path: Path) -> None:
    values = {
        "amount": "12.34::DECIMAL(30, 2)",
        "day": "DATE '2024-02-29'",
        "moment": "TIMESTAMPTZ '2024-01-01 12:00:00+00'",
        "small": "7::UTINYINT",
        "uuid": "'6b9f4d0e-0000-4000-8000-000000000001'::UUID",
        "mood": "'sad'::ENUM('sad', 'glad')",
        "list": "[1, 2]::SMALLINT[]",
        "nested": "{'a': 1::UBIGINT, 'b c': [DATE '2024-01-01']}",
        "map": "MAP {'k': 1.5::FLOAT}",
        "bytes": "'\\xFF'::BLOB",
    }
    columns = ", ".join(f"{sql} AS {name}" for name, sql in values.items())
    path = tmp_path / "in.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT 'a text of some length' AS text, {columns}) TO '{path}' (FORMAT parquet)")
        expected = con.execute(f"SELECT * EXCLUDE (text) FROM '{path}'").fetchall()
        kinds = [str(kind) for kind in con.sql(f"SELECT * EXCLUDE (text) FROM '{path}'").types]
    run = refinery.run(settings(tmp_path, STEPS, dataset_path=path, keep_fields=[*values]))
    relation = run.sql("SELECT * EXCLUDE (_row) FROM fields")
    read_as = [str(kind) for kind in relation.types]
    assert [kind for kind in zip(kinds, read_as, strict=True) if kind[0] != kind[1]] == []
    assert relation.fetchall() == expected


def test_runs_in_parts_have_the_same_fields(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_maker, "HERE", -1)
    monkeypatch.setattr(table_maker, "SIZE", 2)
    parts = refine(tmp_path, LINES, STEPS, keep_fields=KEPT, shard_size=80)
    assert parts.sql("SELECT count(*) > 3 FROM table_parts").fetchall() == [(True,)]
    assert content(parts, "shards", "quarantine") == content(run, "shards", "quarantine")


def test_refiltered_runs_have_the_fields_of_the_run(run: Run, tmp_path: Path) -> None:
    result = refilter(run.work_dir, ["process.1.min_len=3"], work_dir=str(tmp_path / "other"), export=None)
    with duckdb.connect(str(tmp_path / "other" / "refinery.duckdb"), read_only=True) as con:
        assert con.execute("FROM fields ORDER BY _row").fetchall() == run.sql("FROM fields ORDER BY _row").fetchall()
        assert con.execute("SELECT _row, line FROM samples WHERE fate = 'kept' ORDER BY 1").fetchall() == [
            (0, 1),
            (1, 2),
        ]
    assert result is not None


def test_another_choice_of_fields_is_another_result(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", LINES)
    query = "SELECT id FROM fields ORDER BY _row"
    for reused in (0, 2):
        run = refinery.run(settings(tmp_path, STEPS, keep_fields=["id"]))
        assert run.sql("SELECT max(reused) FROM shards").fetchall() == [(reused,)]
        assert run.sql(query).fetchall() == [(1,), (2,), (None,)]
    changed = refinery.run(settings(tmp_path, STEPS, keep_fields=["url", "id"]))
    assert changed.sql("SELECT url, id FROM fields ORDER BY _row").fetchall()[0] == ("http://a.example/1", 1)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["urll"],
            r"keep_fields names the field 'urll', which none of the 3 examined samples.* has.*Did you mean 'url'",
        ),
        (["id", "id"], "keep_fields names 'id' twice"),
        (["meta..x"], "keep_fields names the field 'meta..x', which has an empty part"),
    ],
)
def test_a_wrong_field_is_an_error(tmp_path: Path, names: list[str], message: str) -> None:
    with pytest.raises(RecipeError, match=f"(?s){message}"):
        refine(tmp_path, LINES, STEPS, keep_fields=names)


def test_nothing_is_kept_of_no_samples(tmp_path: Path) -> None:
    run = refine(tmp_path, [], STEPS, keep_fields=["id"])
    assert run.sql("SELECT id FROM samples").fetchall() == []
