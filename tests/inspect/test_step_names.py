"""Names of steps in what commands show of finished runs, and commands that find a step by its name.

Runs of versions without names are read as before.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from refinery.cli.render import console
from refinery.errors import RecipeError
from refinery.inspect.diff.diff import compare
from refinery.inspect.diff.recipes import StepRow, compare_steps
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.refilter.refilter import refilter
from refinery.inspect.report.page import page
from refinery.inspect.tune import tune
from refinery.inspect.tuned_filter import find_step
from refinery.inspect.why.query import RowHistories
from tests.commands import Call, caller, outcome_of
from tests.runs import refine, texts

SAMPLES = texts(["a b c", "a b c", "one", "a b c d e f g h", "some words here", "x y z w x y z w x y"])
SHORT, LONG = "[b]too short[/b] & <i>so</i> on", "v1.5 - über"
STEPS: list[dict[str, Any]] = [
    {"words_num_filter": {"min_num": 2}, "name": SHORT},
    {"sql_mapper": {"text": "text || '.'"}},
    {"words_num_filter": {"min_num": 1, "max_num": 7}, "name": LONG},
]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return refine(tmp_path_factory.mktemp("named"), SAMPLES, STEPS).work_dir


@pytest.fixture(scope="module")
def older(named: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as earlier versions have left it: without names in its recipe and without the columns."""
    plain = [{key: value for key, value in step.items() if key != "name"} for step in STEPS]
    folder = tmp_path_factory.mktemp("older")
    shutil.copy2(named.parent / "in.jsonl", folder / "in.jsonl")
    changed = os.stat(folder / "in.jsonl").st_mtime_ns
    run = refine(folder, SAMPLES, plain)
    os.utime(folder / "in.jsonl", ns=(changed, changed))
    manifest = run.work_dir / ".refinery" / "manifest.json"
    told = json.loads(manifest.read_text())
    told["inputs"][0]["modified"] = changed
    del told["inodes"]
    manifest.write_text(json.dumps(told))
    with duckdb.connect(str(run.database)) as con:
        for table in ("steps", "ledger"):
            con.execute(f"ALTER TABLE {table} DROP COLUMN name").fetchall()
    return run.work_dir


def waterfall_of(folder: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(folder / "refinery.duckdb"), read_only=True) as con:
        return console.waterfall_rows(con)


def test_the_waterfall(named: Path, older: Path) -> None:
    assert [row[-1] for row in waterfall_of(named)] == [SHORT, None, LONG]
    assert [row[-1] for row in waterfall_of(older)] == [None] * 3
    assert [row[:-2] for row in waterfall_of(named)] == [row[:-2] for row in waterfall_of(older)]


def test_why(named: Path, older: Path, call: Call) -> None:
    with RowHistories(named) as histories:
        history = histories.of(2)
    assert [event.name for event in history.events] == [SHORT, None, LONG]
    code, out, _ = call("why", "2", "--run", named)
    lines = out.splitlines()
    assert code == 0 and lines[0].endswith(f"removed by step 1 words_num_filter: {SHORT}")
    assert f"3  words_num_filter: {LONG}" in out and "  2  sql_mapper  " in out
    told = json.loads(call("why", "2", "--run", named, "--json")[1])
    assert [event["name"] for event in told["events"]] == [SHORT, None, LONG]
    code, out, _ = call("why", "2", "--run", older)
    assert code == 0 and "removed by step 1 words_num_filter\n" in out


def test_the_report(named: Path, older: Path) -> None:
    found = page(named)
    assert "<h3>1 words_num_filter: [b]too short[/b] &amp; &lt;i&gt;so&lt;/i&gt; on</h3>" in found
    assert f"3  words_num_filter: {LONG}</text>" in found
    plain = page(older)
    assert "<h3>1 words_num_filter</h3>" in plain and "too short" not in plain


def test_the_quarantine_of_the_report(tmp_path: Path) -> None:
    """A row on which a named step fails; the numbers in the text overflow."""
    steps = [{"sql_mapper": {"text": "CAST(CAST(text AS TINYINT) AS VARCHAR)"}, "name": "small <numbers>"}]
    run = refine(tmp_path, texts(["12", "1234567"]), steps)
    assert run.counts.quarantined == 1
    section = page(run.work_dir).partition('id="quarantine"')[2].partition("</section>")[0]
    assert section.count("1 sql_mapper: small &lt;numbers&gt;") == 2


def test_diff_of_a_run_with_names_and_one_without(named: Path, older: Path, call: Call) -> None:
    found = compare(older, named)
    assert found.apart is None and {change.change for change in found.steps} == {"same"}
    assert [(change.name_a, change.name_b) for change in found.steps] == [(None, SHORT), (None, None), (None, LONG)]
    code, out, _ = call("diff", older, named)
    assert code == 0 and "The recipes do the same; steps have other names." in out
    assert f"3/3 words_num_filter: – → {LONG}" in " ".join(out.split()) and "sql_mapper" not in out


def test_diff_names_the_steps(named: Path, tmp_path: Path, call: Call) -> None:
    done = refilter(named, [f"process.{LONG}.max_num=12"], work_dir=str(tmp_path / "longer"))
    [change] = [change for change in compare(named, tmp_path / "longer").steps if change.change == "changed"]
    assert (change.step_b, change.name_b, change.parameters) == (3, LONG, {"max_num": (7, 12)})
    assert done.outcome.counts.kept > 3
    code, out, _ = call("diff", named, tmp_path / "longer")
    assert code == 0 and f"words_num_filter: {LONG}  max_num: 7 → 12" in out
    fates = [fate for fate in compare(named, tmp_path / "longer").fates if fate.a != fate.b]
    assert {(fate.a, fate.b) for fate in fates} == {(f"removed by words_num_filter: {LONG}", "kept")}


def test_fates_of_two_steps_keep_apart_what_has_one_name() -> None:
    """Aligned by operator, the name of the second step in one run is that of the first in the other."""
    from refinery.inspect.diff.diff import _names

    a = [StepRow(1, "sql_filter", {}, "n"), StepRow(2, "sql_filter", {}, "m")]
    b = [StepRow(1, "sql_filter", {}, "m")]
    shown = _names(compare_steps(a, b))
    assert len({label for _, _, label in shown}) == 2


def test_tune_finds_a_step_by_its_name(named: Path, older: Path, call: Call) -> None:
    with FinishedRun.open(named) as stored:
        for text in (LONG, LONG.replace("-", "_"), f" {LONG} ", "3"):
            assert find_step(stored, text).index == 3
        assert find_step(stored, "sql-mapper").index == 2 and find_step(stored, SHORT).index == 1
        with pytest.raises(RecipeError, match="words_num_filter occurs 2 times, as steps 1 and 3"):
            find_step(stored, "words_num_filter")
        with pytest.raises(RecipeError, match="the recipe has no step 'v1.5 - uber'. Did you mean 'v1.5 - über'"):
            find_step(stored, "v1.5 - uber")
        assert tune(stored, LONG, ["max_num=5,12"]).name == LONG
    code, out, _ = call("tune", named, SHORT, "--param", "min_num=1,2")
    assert code == 0 and f"step 1 words_num_filter: {SHORT}, num_words" in out
    with FinishedRun.open(older) as stored:
        again = tune(stored, "3", ["max_num=5,12"])
    assert again.name is None and again.step == 3
    told = outcome_of(call, "tune", named, LONG, "--param", "max_num=5,12")
    assert (told["operator"], told["name"]) == ("words_num_filter", LONG)


def test_refilter_keeps_names_and_says_what_was_given(named: Path, tmp_path: Path) -> None:
    done = refilter(named, [f"process.{LONG}.words_num_filter.max_num=3"], work_dir=str(tmp_path / "one"))
    with FinishedRun.open(done.outcome.run_dir.root) as stored:
        assert [step.title for step in stored.recipe.steps] == [SHORT, None, LONG]
        names = stored.con.execute("SELECT DISTINCT step, name FROM ledger ORDER BY step").fetchall()
        assert names == [(1, SHORT), (3, LONG)]
        assert stored.con.execute("SELECT name FROM steps ORDER BY step").fetchall() == [(SHORT,), (None,), (LONG,)]
        plan = json.loads(stored.run_dir.plan.read_text())
    assert "max_num" in plan["stages"][0]["steps"][2]["given"]


def test_a_run_without_the_columns_is_refiltered(older: Path, tmp_path: Path) -> None:
    done = refilter(older, ["process.3.max_num=3"], work_dir=str(tmp_path / "one"))
    assert done.again == 0
    with FinishedRun.open(done.outcome.run_dir.root) as stored:
        assert stored.con.execute("SELECT DISTINCT step, name FROM ledger ORDER BY step").fetchall() == [
            (1, None),
            (3, None),
        ]


def test_check_and_explain(tmp_path: Path, call: Call) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a b c"}\n')
    recipe = {"dataset_path": str(tmp_path / "in.jsonl"), "export_path": str(tmp_path / "out.jsonl")}
    steps = [*STEPS, {"document_deduplicator": None, "name": "copies"}]
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps({**recipe, "process": steps}))
    code, out, _ = call("check", path)
    assert code == 0 and f"step 1 words_num_filter: {SHORT} (" in out and "step 2 " not in out
    assert [step["name"] for step in outcome_of(call, "check", path)["steps"]] == [SHORT, None, LONG, "copies"]
    code, out, _ = call("sql", path, "--explain")
    assert code == 0 and f"3 words_num_filter: {LONG}: kernel" in out
    assert "4 document_deduplicator: copies: marks: " in out
    assert "between stages: step 4 document_deduplicator: copies (" in out
    code, out, _ = call("sql", path, "--explain", "analyze")
    assert code == 0 and "document_deduplicator: copies" in out and SHORT in out
    code, out, _ = call("sql", path, "--lineage", "text")
    assert code == 0
    (tmp_path / "order.json").write_text(json.dumps({**recipe, "process": steps[::-1], "fusion_strategy": "greedy"}))
    code, out, _ = call("sql", tmp_path / "order.json", "--explain")
    assert code == 0, out
