"""Files of a run stand apart from those of its user."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import refinery
from refinery.history import Histories
from refinery.rundir import RunDir
from tests.engine.runs import content, refine, settings, texts

SAMPLES = texts(["one@example.org", "no", "three"])
STEPS = ["clean_email_mapper", {"text_length_filter": {"min_len": 3}}]

MINE = (
    "recipe.yaml",
    "plan.json",
    "order.json",
    "manifest.json",
    "status.json",
    "parts/mine.txt",
    "log/run.log",
    ".running",
)


def test_an_export_beside_the_recipe_leaves_files_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refine(tmp_path / "elsewhere", SAMPLES, STEPS)
    recipe = settings(tmp_path / "elsewhere", STEPS, export_path="out.jsonl", use_cache=False)
    for name in MINE:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps(recipe))
    for _ in range(2):
        assert refinery.run("recipe.yaml").counts.kept == 1
        assert {(tmp_path / name).read_text() for name in MINE} == {json.dumps(recipe)}


def test_a_run_of_an_earlier_version_is_still_opened(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS)
    new, old = run.work_dir / ".refinery", content(run)
    for name in os.listdir(new):
        shutil.move(new / name, run.work_dir / name)
    new.rmdir()
    assert RunDir.of_finished(run.work_dir).flat
    with Histories(run.work_dir) as histories:
        assert histories.tell(1).fate == "removed"
    again = refinery.run(settings(tmp_path, STEPS))
    assert content(again) == old and not RunDir.of_finished(run.work_dir).flat
    assert (run.work_dir / "manifest.json").exists(), "what an earlier version has left is not this run's to remove"
