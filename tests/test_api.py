"""`refinery.run`, `refinery.compile` and `refinery.register`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import refinery
from refinery.errors import DataError, OperatorError, RecipeError
from tests.runs import content, exported, operator_folder, refine, rows, settings, texts, write_lines
from tests.sampling import named

STEPS: list[Any] = [
    {"clean_email_mapper": None},
    {"whitespace_normalization_mapper": None},
    {"words_num_filter": {"min_num": 2}},
    {"sql_filter": {"where": "id % 4 <> 1"}},
]
SAMPLES = texts(
    ["write\u00a0to me@example.org", "one two", "three", "four five six", "seven\u3000eight  nine", "ten ten"]
)


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    return settings(tmp_path, STEPS)


def without_input(recipe: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in recipe.items() if name != "dataset_path"}


# run


def test_a_run_tells_where_everything_is(recipe: dict[str, Any], tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    run = refinery.run(recipe, progress=lambda done, total: seen.append((done, total)))
    assert isinstance(run, refinery.Run)
    assert run.work_dir == tmp_path / "run" and run.database == tmp_path / "run" / "refinery.duckdb"
    assert run.outputs == (tmp_path / "run" / "out.jsonl",) and run.database.exists()
    assert (run.counts.read, run.counts.kept, run.counts.removed, run.counts.quarantined) == (6, 3, 3, 0)
    assert run.seconds > 0 and run.bytes > 100
    size = (tmp_path / "in.jsonl").stat().st_size
    assert seen[-1] == (size, size) and [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert run.sql("SELECT count(*), min(step) FROM ledger").fetchall() == [(3, 3)]
    with pytest.raises(duckdb.Error):
        run.sql("DROP TABLE ledger")


def test_a_run_does_not_give_the_rows_of_a_later_one(recipe: dict[str, Any], tmp_path: Path) -> None:
    first = refinery.run(recipe)
    write_lines(tmp_path / "in.jsonl", texts(["other words of another run"]))
    second = refinery.run(recipe)
    assert second.sql("SELECT count(*) FROM row_outcomes").fetchall() == [(1,)] and second.to_arrow().num_rows == 1
    for ask in (lambda: first.sql("SELECT 1"), first.to_arrow, first.to_batches, first.to_duckdb):
        with pytest.raises(DataError, match="a later run has replaced the results of this one"):
            ask()


def test_a_run_does_not_give_samples_that_another_folder_has_written(recipe: dict[str, Any], tmp_path: Path) -> None:
    """The export is the same, the run folders differ."""
    keys = {"export_path": str(tmp_path / "shared.jsonl")}
    first = refinery.run({**recipe, **keys, "work_dir": str(tmp_path / "one")})
    write_lines(tmp_path / "in.jsonl", texts(["other words of another run"]))
    refinery.run({**recipe, **keys, "work_dir": str(tmp_path / "two")})
    assert first.sql("SELECT count(*) FROM row_outcomes").fetchall() == [(len(SAMPLES),)]
    with pytest.raises(DataError, match="shared.jsonl has changed since this run wrote it"):
        first.to_arrow()


def test_a_file_and_a_dict_are_the_same_recipe(recipe: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    (tmp_path / "r.json").write_text(json.dumps(recipe), encoding="utf-8")
    found = [
        content(refinery.run(given), "steps", "ledger")
        for given in (recipe, tmp_path / "r.yaml", str(tmp_path / "r.json"))
    ]
    assert found[0] == found[1] == found[2]


def test_overrides_are_keys_of_the_recipe(recipe: dict[str, Any], tmp_path: Path) -> None:
    before = json.dumps(recipe)
    run = refinery.run(
        recipe,
        export_path=str(tmp_path / "else" / "kept.parquet"),
        work_dir=str(tmp_path / "work"),
        open_tracer=True,
        trace_num=1,
        process=[{"text_length_filter": {"min_len": 8}}],
    )
    assert run.outputs == (tmp_path / "else" / "kept.parquet",) and run.work_dir == tmp_path / "work"
    assert pq.read_table(run.outputs[0])["id"].to_pylist() == [0, 3, 4] and len(rows(run, "trace")) == 1
    assert json.dumps(recipe) == before


def test_warnings_are_what_a_user_should_read(recipe: dict[str, Any]) -> None:
    run = refinery.run(recipe | {"turbo": True, "process": [{"clean_ip_mapper": None}]})
    turbo, unchanged = run.warnings
    assert "turbo has no effect: it is for" in turbo
    assert unchanged == "no sample was changed or removed by step 1 clean_ip_mapper"


# Samples handed over

TABLE = pa.Table.from_pylist(SAMPLES)
FRAMES = {
    "arrow": lambda: TABLE,
    "arrow in pieces": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 3), TABLE.slice(4)]),
    "relation": lambda: duckdb.from_arrow(TABLE).filter("id >= 0"),
    "pandas": lambda: pd.DataFrame(SAMPLES),
    "pandas with an index": lambda: pd.DataFrame(SAMPLES, index=list("uvwxyz")),
    "polars": lambda: pl.DataFrame(SAMPLES),
}


@pytest.fixture(scope="module")
def from_file(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, ...]]]:
    """Tables of a run that reads the samples from a file."""
    return content(refine(tmp_path_factory.mktemp("file"), SAMPLES, STEPS), "shards")


@pytest.mark.parametrize("frame", named(FRAMES, "arrow in pieces", "relation", "pandas with an index", "polars"))
def test_samples_can_be_handed_over(recipe: dict[str, Any], frame: Any, from_file: Any) -> None:
    run = refinery.run(without_input(recipe), dataset=frame())
    assert content(run, "shards") == from_file
    assert exported(run) == [
        {"id": 0, "text": "write to"},
        {"id": 3, "text": "four five six"},
        {"id": 4, "text": "seven eight  nine"},
    ]


def test_a_frame_goes_before_the_path(recipe: dict[str, Any]) -> None:
    run = refinery.run(recipe | {"dataset_path": "/there/is/no/such.jsonl"}, dataset=TABLE.slice(3, 1))
    assert run.counts.read == 1


def test_types_of_a_frame_are_kept(recipe: dict[str, Any], tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": pa.array(["first text", "second text"], pa.large_string()),
            "id": pa.array([1, 2], pa.uint8()),
            "when": pa.array([0, 10**15], pa.timestamp("ms", "UTC")),
            "price": pa.array(["1.50", None]).cast(pa.decimal128(9, 2)),
            "deep": [{"a": [1, None]}, None],
            "kind": pa.array(["x", "y"]).dictionary_encode(),
        }
    )
    run = refinery.run(without_input(recipe), dataset=table, export_path=str(tmp_path / "out.parquet"))
    # id 1 is removed by the predicate
    assert pq.read_table(run.outputs[0]) == table.slice(1)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ("in.jsonl", "in.jsonl: no such file or folder"),
        ({"text": ["a"]}, "not dict. Name one of its splits, or make a table: pyarrow.table"),
        (7, "iterable of dicts or Arrow batches, not int"),
        (pa.table({"text": [1]}), "column 'text' is int64, not text"),
    ],
)
def test_what_is_no_data_set(recipe: dict[str, Any], dataset: Any, message: str) -> None:
    with pytest.raises((DataError, RecipeError), match=message):
        refinery.run(without_input(recipe), dataset=dataset)


@pytest.mark.parametrize(
    ("name", "cure"), [("body", "Fields there: body"), ("texts", "Fields there: texts. Did you mean 'texts'")]
)
def test_a_data_set_without_the_text(recipe: dict[str, Any], name: str, cure: str) -> None:
    with pytest.raises(RecipeError, match=cure):
        refinery.run(without_input(recipe), dataset=pa.table({name: ["a"]}))


# Errors


def test_all_problems_come_at_once(recipe: dict[str, Any]) -> None:
    steps = [{"clean_emial_mapper": None}, {"text_length_filter": {"min_len": "many"}}, {"sql_filter": None}]
    with pytest.raises(RecipeError) as caught:
        refinery.run(recipe, process=steps, trace_nmu=3)
    message = str(caught.value)
    assert len(caught.value.problems) == 4 and caught.value.exit_code == 2
    assert "Did you mean 'clean_email_mapper'" in message and "trace_num" in message
    assert "sql_filter needs where" in message and "min_len" in message


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("idd > 3", "recipe, step 1: sql_filter: no column or statistic 'idd'. Did you mean 'id'"),
        ("id > DATE '2020-01-01'", "recipe, step 1: sql_filter: Cannot compare"),
        ("row_number() OVER () < 3", "looks at more than one row"),
        # tests/cli/test_errors.py has alike ones of these, on the command line
        *(
            pytest.param(where, message, marks=pytest.mark.long)
            for where, message in (
                ("id >", "recipe, step 1: sql_filter"),
                ("no_such_function(id)", "recipe, step 1: sql_filter: Scalar Function with name no_such_function"),
                ("random() < 0.5", "gives another result at every run"),
                ("sum(id) > 3", "looks at more than one row"),
            )
        ),
    ],
)
def test_sql_that_cannot_be_an_operators(recipe: dict[str, Any], tmp_path: Path, where: str, message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        refinery.run(recipe, process=[{"sql_filter": {"where": where}}])
    assert message in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_an_input_that_is_not_there(recipe: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder. Did you mean 'in.jsonl'"):
        refinery.run(recipe, dataset_path=str(tmp_path / "inn.jsonl"))
    with pytest.raises(RecipeError, match="there is no input"):
        refinery.run(without_input(recipe))


def test_an_operator_that_breaks_the_contract(recipe: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "ops" / "filters").mkdir(parents=True)
    (tmp_path / "ops" / "filters" / "odd_filter.sql").write_text(
        "/*---\ndoc: Odd.\nversion: 1\nparms: {}\n---*/\nSELECT 1"
    )
    with pytest.raises((OperatorError, RecipeError), match="unknown header field 'parms'. Did you mean 'params'"):
        refinery.run(recipe, operators=[str(tmp_path / "ops")], process=[{"odd_filter": None}])


# compile, register


@pytest.mark.parametrize("typed", [False, True])
def test_a_compiled_recipe_runs_on_a_plain_connection(recipe: dict[str, Any], tmp_path: Path, typed: bool) -> None:
    if typed:
        pq.write_table(TABLE, tmp_path / "in.parquet")
        recipe["dataset_path"] = str(tmp_path / "in.parquet")
    run = refinery.run(recipe)
    script = refinery.compile(recipe, export_path=str(tmp_path / "script.jsonl"))
    with duckdb.connect() as con:
        con.execute("SET threads = 1")
        refinery.register(con)
        for statement in con.extract_statements(script):
            con.execute(statement).fetchall()
        for table in ("ledger", "stats", "stat_summary"):
            assert con.sql(f"FROM {table}").fetchall() == rows(run, table)
    assert [json.loads(line) for line in (tmp_path / "script.jsonl").open(encoding="utf-8")] == exported(run)


def test_registered_functions_are_of_use_by_themselves() -> None:
    with duckdb.connect() as con:
        names = refinery.register(con)
        assert "clean_links" in names and "clean_links_delta" in names
        sql = "SELECT whitespace(t), whitespace_delta(t) FROM (SELECT unnest([' a\u00a0b ', 'c']) AS t)"
        assert con.sql(sql).fetchall() == [("a b", "a b"), ("c", None)]


def test_operators_of_ones_own_are_registered_too(recipe: dict[str, Any], tmp_path: Path) -> None:
    folder = operator_folder(tmp_path / "ops", shout="return text.upper()")
    run = refinery.run(recipe, operators=[str(folder)], process=[{"shout_mapper": None}])
    assert exported(run)[1]["text"] == "ONE TWO"
    script = refinery.compile(recipe, operators=[str(folder)], process=[{"shout_mapper": None}])
    assert "shout_delta(" in script
    with duckdb.connect() as con:
        refinery.register(con, [folder])
        assert con.sql("SELECT shout('a'), shout_delta('A'), shout_delta(NULL)").fetchall() == [("A", None, None)]
