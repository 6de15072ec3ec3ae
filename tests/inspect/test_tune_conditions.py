"""`tune` for filters with several named conditions: figures are those of runs with the tried values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import RecipeError
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.tune import tune

TEXTS = ["the cat and the dog " * n for n in (1, 3, 11, 20, 40)] + ["# # # of the day", "x " * 60, "be to of and " * 15]


def run(folder: Path, name: str, **params: Any) -> Path:
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    process: list[Any] = [{"gopher_quality_filter": {"max_avg_word_length": 20, "min_avg_word_length": 1, **params}}]
    process.append({"text_length_filter": {"min_len": 5, "max_len": 700}})
    paths = {"dataset_path": str(folder / "in.jsonl"), "export_path": str(folder / name / "kept.jsonl")}
    outcome = refinery.run({**paths, "work_dir": str(folder / name / "work"), "process": process, "np": 1})
    return outcome.work_dir


def kept_by_first(work_dir: Path) -> int:
    with FinishedRun.open(work_dir) as stored:
        return len(TEXTS) - stored.count("SELECT count(*) FROM ledger WHERE step = 1")


def test_trials_are_what_runs_would_keep(tmp_path: Path) -> None:
    with FinishedRun.open(run(tmp_path, "stored")) as stored:
        tuning = tune(stored, "gopher_quality_filter", ["min_doc_words=0,10,50,100", "min_stop_words=0,2"])
    assert len(tuning.trials) == 8 and sum(trial.in_force for trial in tuning.trials) == 1
    for number, trial in enumerate(tuning.trials):
        assert trial.alone.rows == kept_by_first(run(tmp_path, f"again{number}", **trial.params)), trial.params


def test_a_parameter_that_changes_what_is_measured_is_refused(tmp_path: Path) -> None:
    work_dir = run(tmp_path, "stored", language="eng")
    with (
        FinishedRun.open(work_dir) as stored,
        pytest.raises(RecipeError, match="stop_words of gopher_quality_filter is no bound"),
    ):
        tune(stored, "gopher_quality_filter", ["stop_words=a"])
