"""expression_filter has what built-in filters have, and the ledger names the term of a condition that failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refinery.api import Run
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.tune import tune
from tests.inspect.refilter.refiltered import prepared, same_as_fresh
from tests.runs import refine, rows

SAMPLES: list[Any] = [
    {"text": "a" * size, "n": size % 5 or None, "tag": ["x", None, "y"][size % 3]} for size in range(1, 31)
]
STEPS: list[Any] = [
    {"text_length_filter": {"min_len": 0}},
    {"expression_filter": {"value": "text_len / n", "min": 1, "max": 20, "name": "share"}},
    {"expression_filter": {"value": "share + 1", "min": 3, "min_closed_interval": False, "name": "share"}},
]


def run_of(folder: Path, *steps: Any, **keys: Any) -> Run:
    return refine(folder, SAMPLES, [*steps], **keys)


def test_ledger_has_statistic_value_and_bound(tmp_path: Path) -> None:
    run = run_of(tmp_path, *STEPS)
    ledger = {row: cells for row, *cells in rows(run, "ledger", "_row, step, reason, statistic, value, bound")}
    assert ledger[4] == [2, "share is NULL", "share", None, None]
    assert ledger[20] == [2, "share above max", "share", 21.0, 20.0]
    assert ledger[0] == [3, "share_3 below min", "share_3", 2.0, 3.0]
    kept = [size for size in range(1, 31) if size % 5 and 2 < size / (size % 5) <= 20]
    assert [len(text) for [text] in run.sql(f"SELECT text FROM '{run.outputs[0]}'").fetchall()] == kept


def test_tune_and_refilter(tmp_path: Path) -> None:
    recipe = prepared(tmp_path, SAMPLES, STEPS)
    with FinishedRun.open(tmp_path / "run") as stored:
        trials = tune(stored, "2", ["max=5..25:10"]).trials
    for trial in trials:
        most = trial.params["max"]
        kept = sum(1 for size in range(1, 31) if size % 5 and 1 <= size / (size % 5) <= most)
        assert trial.alone.rows == kept
    same_as_fresh(recipe, tmp_path, {"process.2.max": 9.5})


def test_ledger_names_the_term_that_failed_also_within_parentheses(tmp_path: Path) -> None:
    where = (
        "tag <> 'z' AND ((text_len > 3) AND (n > 1 AND (tag = 'x' OR  length(text) > 20))) AND text <> repeat('a', 27)"
    )
    run = run_of(tmp_path, STEPS[0], {"sql_filter": {"where": where}})
    for row, reason in rows(run, "ledger", "_row, reason"):
        size, tag, n = row + 1, SAMPLES[row]["tag"], SAMPLES[row]["n"]
        if tag is None:
            assert reason == "tag is NULL: tag <> 'z'"
        elif size <= 3:
            assert reason == "not kept by where: (text_len > 3)"
        elif n is None:
            assert reason == "n is NULL: n > 1"
        elif n <= 1:
            assert reason == "not kept by where: n > 1"
        else:
            assert reason == ("not kept by where: (tag = 'x' OR length(text) > 20)" if size <= 20 else reason)
    assert run.counts.removed + run.counts.kept == 30
