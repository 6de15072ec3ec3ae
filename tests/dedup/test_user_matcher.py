"""The matcher that docs/extending.md shows, loaded from a folder of operators, finds pairs in whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import OperatorError, RecipeError
from refinery.execution.open import open_from_command_line, open_recipe
from refinery.inspect.why.query import RowHistories
from refinery.operators import Library, read_operator
from tests.recrawls import SAMPLES, STEP, operators_with_matcher
from tests.runs import exported, refine, rows, settings

KEPT = [0, 2, 3, 6, 7]  # without 1 and 5, downloaded within 7 days of an earlier one, and 4


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    return operators_with_matcher(tmp_path / "elsewhere")


def run(folder: Path, operators: Path, **keys: Any) -> Any:
    return refine(folder, SAMPLES, [STEP], operators=[str(operators)], **{"shard_size": 120, **keys})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A run that its tests only read, and its folder of operators."""
    folder = tmp_path_factory.mktemp("finished")
    operators = operators_with_matcher(folder / "elsewhere")
    return run(folder, operators, workers="threads", np=2), operators


def ids(found: Any) -> list[str]:
    return [row["text"] for row in exported(found)]


def test_threads_and_processes_find_the_same(tmp_path: Path, finished: tuple[Any, Path]) -> None:
    threads, operators = finished
    runs = [threads, run(tmp_path, operators, workers="processes", np=2)]
    columns = "step, operator, _row, kept, via, matched"
    tables = [rows(one, "duplicates", columns) for one in runs]
    assert ids(runs[0]) == ids(runs[1]) and tables[0] == tables[1]
    assert [row[2:] for row in tables[0]] == [
        (1, 0, 0, "a, 3 apart"),
        (3, 4, 4, "b, 3 apart"),
        (5, 2, 2, "a, 7 apart"),
    ]


def test_a_repeated_run_uses_stored_results_until_the_matcher_changes(tmp_path: Path, operators: Path) -> None:
    first = run(tmp_path, operators)
    again = run(tmp_path, operators)
    assert rows(again, "shards", "min(reused)") == [(2,)] and ids(again) == ids(first)
    file = operators / "matchers" / "window.py"
    file.write_text(file.read_text("utf-8").replace("how <=", "how <"), "utf-8")
    changed = run(tmp_path, operators)
    assert rows(changed, "shards", "max(reused)") == [(0,)]
    assert rows(changed, "duplicates", "_row") == [(1,), (3,)]


def test_why_explains_a_removal(finished: tuple[Any, Path]) -> None:
    with RowHistories(finished[0].work_dir) as histories:
        [event] = histories.of(5).events
    assert event.fate == "removed" and event.duplicate is not None and event.duplicate.kept is not None
    assert (event.duplicate.matched, event.duplicate.kept.row) == ("a, 7 apart", 2)
    assert event.duplicate.kept.text == "page a of day 40"


def test_an_index_remembers_its_match_keys(tmp_path: Path, operators: Path) -> None:
    step = {"recrawl_deduplicator": {**STEP["recrawl_deduplicator"], "index": str(tmp_path / "index")}}
    refine(tmp_path / "one", SAMPLES[:3], [step], operators=[str(operators)])
    later = refine(tmp_path / "two", SAMPLES[3:], [step], operators=[str(operators)])
    assert [row["day"] for row in exported(later)] == [2, 90, 12]


def test_the_script_finds_the_same(tmp_path: Path, finished: tuple[Any, Path]) -> None:
    import duckdb

    done, operators = finished
    paths = {"dataset_path": done.work_dir.parent / "in.jsonl", "export_path": tmp_path / "out.jsonl"}
    text = refinery.compile(settings(tmp_path, [STEP], operators=[str(operators)], **paths))
    with duckdb.connect() as con:
        con.execute(text).fetchall()
        assert con.sql("SELECT _row, kept, matched FROM duplicates ORDER BY _row").fetchall() == rows(
            done, "duplicates", "_row, kept, matched"
        )


def test_a_plan_shows_the_query(tmp_path: Path, operators: Path) -> None:
    from refinery.compiler.explain import barrier_plan

    recipe, library = open_recipe({"process": [STEP], "operators": [str(operators)]}, need_inputs=False)
    plan = barrier_plan(recipe.steps[0], library.operators["recrawl_deduplicator"])
    assert plan.compares == ("key, place; samples of one key at most `window` apart are duplicates",)
    assert [name for name, *_ in plan.statements] == [
        "pairs",
        "_survivors.sql",
        "_duplicates.sql",
    ] and "LAG" in plan.statements[0][2].upper()


def test_safe_refuses_it(tmp_path: Path, operators: Path) -> None:
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps(settings(tmp_path, [STEP])), "utf-8")
    marker = operators / "imported"
    file = operators / "matchers" / "window.py"
    file.write_text(file.read_text("utf-8") + f"\nopen({str(marker)!r}, 'w').close()\n", "utf-8")
    with pytest.raises(RecipeError, match="--safe: folders of operators are code"):
        open_from_command_line(str(recipe), (), (), (), (str(operators),), roots=())
    assert not marker.exists()


def test_names_are_taken_once(operators: Path) -> None:
    file = operators / "matchers" / "window.py"
    (operators / "matchers" / "keys.py").write_text(file.read_text("utf-8"), "utf-8")
    with pytest.raises(OperatorError, match="the name 'keys' is taken by refinery's matcher keys"):
        Library((operators,)).operators["recrawl_deduplicator"]


def test_a_file_without_a_matcher_is_refused(operators: Path) -> None:
    (operators / "matchers" / "window.py").write_text("MATCHER = None\n", "utf-8")
    with pytest.raises(OperatorError, match=r"window\.py: MATCHER must be a matcher, but has no columns, "):
        Library((operators,)).operators["recrawl_deduplicator"]


def test_an_unknown_matcher_is_named(operators: Path) -> None:
    with pytest.raises(
        OperatorError,
        match="match must be one of keys, bands, hamming, cosine, units, ngrams, substrings, not 'window'",
    ):
        read_operator(operators / "deduplicators" / "recrawl_deduplicator.sql")


def test_a_users_matcher_has_no_direct_comparison(operators: Path) -> None:
    """It is not known which samples are alike besides the pairs that it gives."""
    assert Library((operators,)).operators["recrawl_deduplicator"].sample_matcher.direct == ""
