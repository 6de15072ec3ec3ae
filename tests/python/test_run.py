"""A run in Python: opened by its folder, asked, closed; several at a time, and several threads."""

from __future__ import annotations

import copy
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import refinery
from refinery.errors import DataError, RecipeError
from refinery.storage.run_folder import RunDir
from tests.commands import command
from tests.runs import refine, settings, texts, write_lines

STEPS: list[Any] = [
    {"clean_email_mapper": None},
    {"words_num_filter": {"min_num": 3}},
    {"text_length_filter": {"max_len": 100}},
]
HOSTILE = "<script>alert(1)</script> me@example.org <img src=x onerror=alert(2)> \u202e here"
SAMPLES: list[Any] = [
    *texts([HOSTILE, "lonely words", "three four five", "a b c d " * 20, "write to me@example.org now"]),
    {"id": 5, "text": None},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> refinery.Run:
    return refine(tmp_path_factory.mktemp("runs"), SAMPLES, STEPS, trace_num=5, open_tracer=True)


@pytest.fixture(scope="module")
def opened(run: refinery.Run) -> refinery.Run:
    return refinery.open(str(run.work_dir))


# Opening


def test_an_opened_run_has_the_facts_of_its_run(run: refinery.Run, opened: refinery.Run) -> None:
    for name in ("work_dir", "database", "outputs", "counts", "bytes", "run_id"):
        assert getattr(opened, name) == getattr(run, name)
    assert opened.to_arrow() == run.to_arrow() and opened.seconds == pytest.approx(run.seconds, abs=0.1)
    assert refinery.open(run.database).run_id == run.run_id


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "there is no such folder"),
        (lambda folder: folder.mkdir(), r"no run has ended here \(it has no refinery.duckdb\)$"),
        (lambda folder: (folder / "one").mkdir(parents=True) or (folder / "one/refinery.duckdb").touch(), "Below it are runs: one"),
        (lambda folder: (folder / ".refinery").mkdir(parents=True), "its run did not end. Run the recipe again"),
        (lambda folder: folder.write_text("a"), "is a file. Name the folder of a run"),
    ],
)  # fmt: skip
def test_a_folder_without_a_run(tmp_path: Path, make: Any, message: str) -> None:
    make(tmp_path / "there")
    with pytest.raises(DataError, match=message):
        refinery.open(tmp_path / "there")


def test_a_run_at_a_url_is_refused() -> None:
    with pytest.raises(DataError, match=r"s3://bucket/run: a run at a URL cannot be opened there. Copy its folder"):
        refinery.open("s3://bucket/run")


def test_a_lost_database_and_one_that_is_none(run: refinery.Run, tmp_path: Path) -> None:
    shutil.copytree(run.work_dir, tmp_path / "run")
    (tmp_path / "run/refinery.duckdb").write_bytes(b"no database")
    with pytest.raises(DataError, match="refinery.duckdb: cannot be opened"):
        refinery.open(tmp_path / "run")
    (tmp_path / "run/refinery.duckdb").unlink()
    with pytest.raises(DataError, match="refinery.duckdb is missing. Bring it back"):
        refinery.open(tmp_path / "run")


def test_a_folder_in_which_a_run_is_under_way(run: refinery.Run, tmp_path: Path) -> None:
    shutil.copytree(run.work_dir, tmp_path / "run")
    with RunDir(tmp_path / "first").held(), pytest.raises(DataError, match="first run is not finished. Wait for it"):
        refinery.open(tmp_path / "first")
    with RunDir(tmp_path / "run").held():
        earlier = refinery.open(tmp_path / "run")
    assert "a later run is under way" in earlier.warnings[0] and earlier.counts == run.counts


# Tables


def test_sql_gives_a_relation_with_names_and_types(opened: refinery.Run) -> None:
    found = opened.sql("SELECT step, operator, removed FROM steps ORDER BY step")
    assert isinstance(found, duckdb.DuckDBPyRelation) and found.columns == ["step", "operator", "removed"]
    assert found.filter("removed > 0").fetchall() == [(2, "words_num_filter", 1), (3, "text_length_filter", 1)]
    assert found.to_arrow_table().schema.names == found.columns
    assert opened.sql("SELECT count(*) FROM ledger WHERE _row = ?", [1]).fetchall() == [(1,)]
    assert opened.sql("SELECT count(*) FROM ledger WHERE _row = $row", {"row": 0}).fetchall() == [(0,)]


def test_sql_names_tables_of_the_caller(opened: refinery.Run) -> None:
    names = pa.table({"_row": [0, 3], "who": ["x", "y"]})
    assert names.num_rows == 2
    assert opened.sql("SELECT who, operator FROM ledger JOIN names USING (_row)").fetchall() == [
        ("y", "text_length_filter")
    ]


def test_rows_by_fate(opened: refinery.Run) -> None:
    assert opened.kept.project("_row, line").order("_row").fetchall() == [(0, 1), (2, 3), (4, 5)]
    assert opened.removed.project("_row, operator, value").order("_row").fetchall() == [
        (1, "words_num_filter", 2.0),
        (3, "text_length_filter", 160.0),
    ]
    assert opened.quarantined.project("line, error").fetchall() == [(6, "'text' is null, not a text")]
    [(row, before, after)] = opened.changed.filter("_row = 4").project("_row, original_text, processed_text").fetchall()
    assert (row, before, after) == (4, "write to me@example.org now", "write to  now")


def test_nothing_can_be_written(opened: refinery.Run) -> None:
    for statement in ("DROP TABLE ledger", "UPDATE steps SET removed = 0", "CREATE TABLE mine AS SELECT 1"):
        with pytest.raises(duckdb.Error):
            opened.sql(statement)


def test_threads_have_tables_of_their_own(opened: refinery.Run) -> None:
    def count(number: int) -> Any:
        return opened.sql("SELECT rows_read + ? FROM runs", [number]).fetchall()[0][0]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(count, range(40))) == [len(SAMPLES) + number for number in range(40)]


def test_two_runs_in_one_folder_at_a_time(tmp_path: Path) -> None:
    """DuckDB shares a database by its path, also where another file has taken the place."""
    first = refine(tmp_path, texts(["a b c d"]), STEPS[1:2])
    before = first.sql("SELECT rows_read FROM runs")
    write_lines(tmp_path / "in.jsonl", texts(["a b c d", "e f g h"]))
    second = refinery.run(settings(tmp_path, STEPS[1:2]))
    assert before.fetchall() == [(1,)] and second.sql("SELECT rows_read FROM runs").fetchall() == [(2,)]
    assert refinery.open(tmp_path / "run").counts.read == 2
    for ask in (lambda: first.sql("SELECT 1"), lambda: first.why(0), lambda: first.tune(1, min_num="1..2")):
        with pytest.raises(DataError, match="a later run has replaced the results of this one"):
            ask()


def test_a_closed_run_is_refused(run: refinery.Run) -> None:
    with refinery.open(run.work_dir) as own:
        relation = own.sql("FROM steps")
    own.close()
    assert "rows read" in repr(own) and str(own) == repr(own) and own.counts == run.counts
    for ask in (lambda: own.sql("SELECT 1"), own.to_arrow, lambda: own.why(0), own.report, lambda: own.diff(run)):
        with pytest.raises(DataError, match="this Run is closed: refinery.open"):
            ask()
    with pytest.raises(duckdb.ConnectionException):
        relation.fetchall()


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_run_cannot_be_pickled(opened: refinery.Run, copied: Any) -> None:
    with pytest.raises(TypeError, match="cannot be pickled or copied. Pass on its work_dir"):
        copied(opened)


# The commands


def test_why(opened: refinery.Run) -> None:
    history = opened.why(np.int64(1))
    assert history.fate == "removed" and history.events[1].reason == "num_words below min_num"
    assert repr(history).splitlines()[0].endswith("in.jsonl:2: removed by step 2 words_num_filter")
    assert history.as_dict()["row"] == 1 and "events" in dir(history)
    both = opened.why(where="id IN (0, 3)")
    assert [one.row for one in both] == [0, 3] and "row 3" in repr(both)
    assert "&lt;script&gt;" in both._repr_html_() and "<script>" not in both._repr_html_()
    assert pickle.loads(pickle.dumps(both)) == both
    wrong: Any
    for wrong in ({}, {"row": 1, "where": "TRUE"}, {"row": "one"}):
        with pytest.raises(RecipeError):
            opened.why(**wrong)
    with pytest.raises(DataError, match="no row 99: the run read rows 0 to 5"):
        opened.why(99)
    with pytest.raises(AttributeError, match="a RowHistory has no 'reasons'"):
        _ = history.reasons


@pytest.mark.parametrize("values", ["1..3:1", range(1, 4), [1, 2, 3], np.arange(1, 4), (1.0, 2, 3)])
def test_tune(opened: refinery.Run, values: Any) -> None:
    found = opened.tune("words_num_filter", min_num=values)
    assert [(trial.params["min_num"], trial.alone.rows) for trial in found.trials] == [(1, 5), (2, 5), (3, 4)]
    assert "→" in repr(found) and found.as_dict()["operator"] == "words_num_filter"
    assert opened.tune(2, min_num=3).trials == found.trials[-1:]


def test_tune_refuses(opened: refinery.Run) -> None:
    with pytest.raises(RecipeError, match=r"words_num_filter has no bound 'min_nmu'. Did you mean 'min_num'"):
        opened.tune("words_num_filter", min_nmu=3)
    with pytest.raises(RecipeError, match="the recipe has no step 'word_num_filter'"):
        opened.tune("word_num_filter", min_num=3)


def test_refilter_diff_and_report(opened: refinery.Run, tmp_path: Path) -> None:
    longer = opened.refilter({"process.2.min_num": 2}, work_dir=tmp_path / "longer")
    assert (longer.counts.kept, opened.counts.kept) == (4, 3) and longer.work_dir == tmp_path / "longer"
    same = opened.refilter(["process.2.min_num=2"], work_dir=tmp_path / "same", writes=False)
    assert same.counts == longer.counts and not same.outputs
    found = opened.diff(longer)
    moved = {(fate.a, fate.b): fate.rows for fate in found.fates if fate.a != fate.b}
    assert moved == {("removed by words_num_filter", "kept"): 1}
    assert repr(found) == repr(opened.diff(tmp_path / "longer")) and "min_num: 3 → 2" in repr(found)
    with pytest.raises(RecipeError, match="limit must be a whole number from 1"):
        opened.diff(longer, limit=0)
    page = opened.report(tmp_path / "page.html")
    assert page.path.read_bytes() == Path(page).read_bytes() and "<!doctype" in page.path.read_text().lower()
    assert page._repr_html_().startswith("<iframe sandbox srcdoc=") and "<script" not in page._repr_html_()


def test_answers_print_as_the_commands_do(opened: refinery.Run) -> None:
    code, said = command("tune", str(opened.work_dir), "words_num_filter", "--param", "min_num=1..3")
    assert code == 0 and said.split() == repr(opened.tune("words_num_filter", min_num="1..3")).split()


def test_analyze(opened: refinery.Run, tmp_path: Path) -> None:
    found = opened.analyze(stats="alphanumeric_filter", output=tmp_path / "analysis")
    assert [one.stat for one in found.descriptions] == ["alnum_ratio"] and found.descriptions[0].n == 5
    assert "5 measured" in repr(found) and refinery.open(tmp_path / "analysis").counts.kept == 5


def test_samples_that_a_program_passed_in(tmp_path: Path) -> None:
    run = refinery.run(settings(tmp_path, STEPS[1:2]), dataset=pa.table({"text": ["a b c d", "e"]}))
    again = refinery.open(run.work_dir)
    assert again.tune(1, min_num=1).trials[0].alone.rows == 2
    for ask in (again.analyze, lambda: again.why(0)):
        with pytest.raises(DataError, match="passed in from Python"):
            ask()
