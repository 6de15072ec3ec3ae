"""`refinery refilter --no-export` where all is known: a copy of the run's tables with what the new bounds change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.errors import RecipeError
from refinery.inspect.refilter import table_patch
from refinery.inspect.refilter.table_patch import PatchedTables
from tests.inspect.refilter.refiltered import again, as_run, prepared
from tests.inspect.refilter.test_refilter import SAMPLES, STEPS
from tests.runs import content
from tests.sampling import named

KNOWN = [*STEPS[:5], STEPS[7]]
CHANGES: list[dict[str, Any]] = [
    {},
    {"process.4.min_num": 5},
    {"process.4.min_num": 99},
    {"process.2.min_len": 20, "process.5.where": "num_words NOT IN (6, 7) AND text_len < 44"},
    {"process.6.min_len": 1, "process.6.max_len": 25},
    {"process.2.max_len": 30, "keep_stats_in_res_ds": True},
    {"open_tracer": True, "trace_num": 4, "process.4.min_num": 4},
]


@pytest.fixture
def amended(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Counter of the calls that amend tables."""
    made: list[PatchedTables] = []
    fill = PatchedTables.fill

    def watched(self: PatchedTables, *arguments: Any) -> None:
        made.append(self)
        fill(self, *arguments)

    monkeypatch.setattr(PatchedTables, "fill", watched)
    return lambda: len(made)


def equal(recipe: Path, folder: Path, changes: dict[str, Any]) -> None:
    """Refilter without an export and run afresh: all tables must be the same."""
    found = again(recipe, folder, changes, writes=False)
    fresh = refinery.run(recipe, work_dir=str(folder / "fresh"), export_path=str(folder / "out.jsonl"), **changes)
    assert content(as_run(found)) == content(fresh)
    with duckdb.connect(str(fresh.database), read_only=True) as con:
        tables = con.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()
    assert as_run(found).sql("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall() == tables
    assert found.again == 0


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("plain"), SAMPLES, KNOWN)


@pytest.mark.parametrize("changes", named({str(at): changes for at, changes in enumerate(CHANGES)}, "3", "6"))
def test_tables_equal_those_of_a_fresh_run(
    plain: Path, tmp_path: Path, changes: dict[str, Any], amended: Callable[[], int]
) -> None:
    equal(plain, tmp_path, changes)
    assert amended() == 1


def test_groups_and_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, amended: Callable[[], int]) -> None:
    monkeypatch.setattr(table_patch, "BLOCK", 7)
    monkeypatch.setattr("refinery.results.stat_summary.BLOCK", 7)
    summary = {"groups": ["summary", "histogram"], "group_by": "id % 3"}
    equal(prepared(tmp_path, SAMPLES, KNOWN, stat_summary=summary), tmp_path, {"process.4.min_num": 5})
    assert amended() == 1


def test_what_is_not_of_the_run_is_left_behind(tmp_path: Path, amended: Callable[[], int]) -> None:
    recipe = prepared(tmp_path, SAMPLES, [{"words_num_filter": {"min_num": 3}}, "character_repetition_filter"])
    with duckdb.connect(str(tmp_path / "run" / "refinery.duckdb")) as con:
        con.execute(
            "CREATE SCHEMA mine; CREATE TABLE mine.notes AS SELECT 1 AS a; CREATE VIEW longest AS FROM mine.notes"
        )
    equal(recipe, tmp_path, {"process.1.min_num": 4})
    assert amended() == 1


def test_a_run_that_only_measured(tmp_path: Path, amended: Callable[[], int]) -> None:
    steps = [{"words_num_filter": {"min_num": 3}}, {"text_length_filter": {"max_len": 30}}]
    recipe = prepared(tmp_path, SAMPLES, steps, measure_only=True, export_type="none")
    options = json.loads(recipe.read_text())
    del options["measure_only"], options["export_type"]
    recipe.write_text(json.dumps(options))
    equal(recipe, tmp_path, {"process.1.min_num": 5})
    assert amended() == 1


@pytest.mark.parametrize("how", ["loosened", "failed", "touched"])
def test_tables_are_made_anew_where_not_all_is_known(
    plain: Path, tmp_path: Path, how: str, amended: Callable[[], int]
) -> None:
    recipe, step = plain, 4
    if how == "failed":
        recipe, step = prepared(tmp_path, SAMPLES, [STEPS[3], STEPS[5]]), 1
    if how == "touched":
        shutil.copytree(plain.parent / "run", tmp_path / "run")
        with duckdb.connect(str(tmp_path / "run" / "refinery.duckdb")) as con:
            con.execute("ALTER TABLE row_outcomes ADD COLUMN more INTEGER")
    changes = {f"process.{step}.min_num": 2 if how == "loosened" else 5}
    found = again(plain if how == "loosened" else tmp_path / "recipe.json", tmp_path, changes, writes=False)
    fresh = refinery.run(recipe, work_dir=str(tmp_path / "fresh"), export_path=str(tmp_path / "out.jsonl"), **changes)
    assert content(as_run(found)) == content(fresh)
    assert amended() == 0


def test_a_condition_that_does_not_bind_is_reported(plain: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="sql_filter: Cannot compare values of type BIGINT and .*DATE"):
        again(plain, tmp_path, {"process.5.where": "num_words < DATE '2000-01-01'"}, writes=False)
