"""`refinery overlap`: which filters remove the same samples, and what a run cannot know."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.overlap import Overlap, overlap
from tests.commands import caller, outcome_of
from tests.runs import refine, settings, texts

SAMPLES = texts(["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg", "hhhhhhhh"])
STEPS: list[Any] = [
    {"text_length_filter": {"min_len": 3}},
    {"text_length_filter": {"min_len": 1, "max_len": 6}, "name": "not too long"},
    {"text_length_filter": {"min_len": 2, "max_len": 7}},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that removes samples in `run`, and one that measures in `measured`."""
    folder = tmp_path_factory.mktemp("overlap")
    refine(folder, SAMPLES, STEPS)
    place = folder / "measured"
    refinery.run(settings(folder, STEPS, work_dir=place, export_path=place / "out.jsonl", measure_only=True))
    return folder


def found_in(run: Path) -> Overlap:
    with FinishedRun.open(run) as stored:
        return overlap(stored)


def test_a_run_that_measured_knows_everything(folder: Path) -> None:
    found = found_in(folder / "measured")
    assert (found.rows, found.measured, found.cure) == (8, True, "")
    assert [(step.step, step.removes, step.alone, step.unknown) for step in found.steps] == [
        (1, 2, 1, 0),
        (2, 2, 1, 0),
        (3, 2, 0, 0),
    ]
    assert [(pair.by_both, pair.only_a, pair.only_b) for pair in found.pairs] == [(0, 2, 2), (1, 1, 1), (1, 1, 1)]


def test_a_run_that_removed_samples_says_what_it_does_not_know(folder: Path) -> None:
    found = found_in(folder / "run")
    assert [(step.step, step.name, step.removes, step.alone, step.unknown) for step in found.steps] == [
        (1, None, 2, None, 0),
        (2, "not too long", 2, None, 2),
        (3, None, 0, 0, 4),  # what it has not seen was removed by others, too
    ]
    assert [step.removed_before for step in found.steps] == [{}, {1: 2}, {1: 2, 2: 2}]
    assert [(pair.by_both, pair.only_a, pair.only_b) for pair in found.pairs] == [
        (None, None, 2),
        (None, None, None),
        (None, None, None),
    ]


def test_the_cure_knows_everything(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    analyze, show = found_in(folder / "run").cure.split(", then ")
    call = caller(monkeypatch, capsys)
    assert call(*analyze.replace("FOLDER", str(tmp_path / "all")).split()[1:])[0] == 0
    found = outcome_of(call, *show.replace("FOLDER", str(tmp_path / "all")).split()[1:])
    assert [pair["by_both"] for pair in found["pairs"]] == [0, 1, 1]


def test_the_command_shows_what_is_known_and_why_the_rest_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = caller(monkeypatch, capsys)
    code, out, _ = call("overlap", folder / "run")
    assert code == 0 and "2 text_length_filter: not too long" in out
    assert "has no verdict on 4 of 8 samples, which were removed before: 2 by step 1, 2 by step 2" in out
    assert "2 of 3 pairs are not shown" in out and "refinery analyze" in out
    code, out, _ = call("overlap", folder / "measured")
    assert code == 0 and "?" not in out and "analyze" not in out


@pytest.mark.parametrize("name", ["run", "measured"])
def test_a_database_without_the_views_has_the_same_overlap(folder: Path, tmp_path: Path, name: str) -> None:
    older = tmp_path / name
    shutil.copytree(folder / name, older)
    with duckdb.connect(str(older / "refinery.duckdb")) as con:
        for view in ("verdicts", "overlap"):
            con.execute(f"DROP VIEW {view}")
    found, expected = found_in(older), found_in(folder / name)
    assert (found.steps, found.pairs) == (expected.steps, expected.pairs)


def test_a_recipe_without_filters_has_nothing_to_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = refine(tmp_path, SAMPLES, ["document_deduplicator"])
    code, out, _ = caller(monkeypatch, capsys)("overlap", run.work_dir)
    assert code == 0 and "nothing to compare" in out
