"""`refinery tune`: what it says of other bounds is what runs with those bounds do."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import refinery
from refinery.api import Run
from refinery.cli.main import cli
from refinery.errors import DataError, RecipeError
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.tune import KeptAmount, Tuning, tune
from refinery.inspect.tune_values import read_values, round_step
from refinery.operators import Param
from tests.runs import refine, rows, settings, texts, write_lines

WORDS = "one two three four five six seven eight nine ten"
STEPS: list[Any] = [
    {"text_length_filter": {"min_len": 4}},
    {"whitespace_normalization_mapper": None},
    {"words_num_filter": {"min_num": 3, "max_num": 9}},
    {"sql_mapper": {"text": "replace(text, 'three', '3')"}},
    {"sql_filter": {"where": "num_words <> 7"}},
    {"text_length_filter": {"max_len": 40}},
]
SAMPLES = [*texts([" ".join(WORDS.split()[:n]) + "\u00a0" * (n % 3) for n in range(11)] * 3), "no json"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return refine(tmp_path_factory.mktemp("tune"), SAMPLES, STEPS)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same, with all statistics of all samples."""
    return refine(tmp_path_factory.mktemp("measured"), SAMPLES, STEPS, measure_only=True, export_type="none")


def tried(run: Run, operator: str, *params: str) -> Tuning:
    with FinishedRun.open(run.work_dir) as stored:
        return tune(stored, operator, params)


def fresh(folder: Path, **changes: Any) -> Run:
    write_lines(folder / "in.jsonl", SAMPLES)
    return refinery.run(settings(folder, STEPS), **changes)


def step_of(run: Run, step: int) -> KeptAmount:
    [(count, size)] = rows(run, "steps", "rows_out, bytes_out", f"step = {step}")
    return KeptAmount(count, size)


@pytest.mark.parametrize(
    ("values", "all_of"), [("2,4", [2, 3, 4]), pytest.param("2..6:1", [2, 3, 4, 5, 6], marks=pytest.mark.long)]
)
def test_values_are_those_of_runs_with_them(run: Run, tmp_path: Path, values: str, all_of: list[int]) -> None:
    found = tried(run, "words_num_filter", f"min_num={values}")
    assert [trial.params["min_num"] for trial in found.trials] == all_of
    assert [trial.in_force for trial in found.trials] == [value == 3 for value in all_of]
    for trial in found.trials:
        other = run if trial.in_force else fresh(tmp_path, **{"process.3.min_num": trial.params["min_num"]})
        assert trial.alone == step_of(other, 3)
        if trial.params["min_num"] >= 3:  # tightened: everything is known
            assert trial.together == step_of(other, 6) and trial.unsure == KeptAmount(0, 0)
        else:
            least, most = trial.together.rows, trial.together.rows + trial.unsure.rows
            assert least <= other.counts.kept <= most and trial.unsure.rows == 3


@pytest.mark.parametrize(("least", "most"), [("0,3", "6"), pytest.param("0,3,5", "6,20", marks=pytest.mark.long)])
def test_a_run_that_only_measured_knows_everything(
    run: Run, measured: Run, tmp_path: Path, least: str, most: str
) -> None:
    found = tried(measured, "3", f"min_num={least}", f"max_num={most}")
    assert (found.stored, found.removed_before, found.quarantined) == (33, 0, 1)
    for trial in found.trials:
        changes = {f"process.3.{name}": value for name, value in trial.params.items()}
        other = run if trial.in_force else fresh(tmp_path, **changes)
        assert trial.together.rows == other.counts.kept and trial.unsure == KeptAmount(0, 0)
    assert [trial.in_force for trial in found.trials].count(True) == 1


def test_the_last_filter_leaves_nothing_unknown(run: Run, tmp_path: Path) -> None:
    for trial in tried(run, "6", "max_len=20,60").trials:
        other = run if trial.in_force else fresh(tmp_path, **{"process.6.max_len": trial.params["max_len"]})
        assert trial.together == step_of(other, 6) == trial.alone and trial.unsure.rows == 0


@pytest.mark.parametrize("switch", ["reversed_range", "min_closed_interval", "max_closed_interval"])
def test_switches_of_the_range_can_be_tried(run: Run, tmp_path: Path, switch: str) -> None:
    for trial in tried(run, "words_num_filter", f"{switch}=true,false").trials:
        other = run if trial.in_force else fresh(tmp_path, **{f"process.3.{switch}": trial.params[switch]})
        assert trial.alone == step_of(other, 3)


def test_a_grid_leaves_out_what_cannot_be(run: Run) -> None:
    found = tried(run, "words_num_filter", "min_num=2,4,8", "max_num=4,9")
    pairs = [(trial.params["min_num"], trial.params["max_num"]) for trial in found.trials]
    assert pairs == [(2, 4), (2, 9), (3, 4), (3, 9), (4, 4), (4, 9), (8, 9)]
    assert [pair for pair, trial in zip(pairs, found.trials, strict=True) if trial.in_force] == [(3, 9)]


def test_what_is_not_stored_is_counted(run: Run) -> None:
    found = tried(run, "words_num_filter", "min_num=1")
    assert (found.rows, found.stored, found.removed_before, found.quarantined) == (34, 30, 3, 1)
    assert found.statistics == ("num_words",)


def test_a_deduplicator_after_the_step_is_mentioned(tmp_path: Path) -> None:
    steps = [{"words_num_filter": {"min_num": 3}}, {"document_deduplicator": None}]
    found = tried(refine(tmp_path, SAMPLES, steps), "words_num_filter", "min_num=2,5")
    assert "document_deduplicator" in found.notes[0]
    assert [trial.together.rows for trial in found.trials] == [8, 8, 6] and found.trials[0].unsure.rows == 3


# What is asked for


def number(kind: str, **more: Any) -> Param:
    return Param("bound", kind, **more)


@pytest.mark.parametrize(
    ("kind", "text", "values"),
    [
        ("int", "10,20,50", [10, 20, 50]),
        ("int", "10..30:10", [10, 20, 30]),
        ("int", "1..4", [1, 2, 3, 4]),
        ("int", "3..3", [3]),
        ("int", "10..200", [10, *range(20, 200, 10), 200]),
        ("int", "7..95", [7, *range(10, 95, 5), 95]),
        ("int", "-3..2:2", [-3, -1, 1]),
        ("float", "0.1..0.3:0.1", [0.1, 0.2, 0.3]),
        ("float", "0..1", [0.0, *(k / 20 for k in range(1, 20)), 1.0]),
        ("float", "1e-3..3e-3:0.001", [0.001, 0.002, 0.003]),
        ("bool", "true,no", [True, False]),
        ("int", "5,5,1..2", [5, 1, 2]),
    ],
)
def test_values_are_read(kind: str, text: str, values: list[Any]) -> None:
    assert read_values(number(kind), text) == values


@pytest.mark.parametrize("text", ["x", "1.5", "5..1", "1..9:0", "1..2..3", "0..1000000:1", "-1"])
def test_values_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="--param bound"):
        read_values(number("int", min=0), text)


def test_ranges_are_cut_at_round_numbers() -> None:
    assert [round_step(Decimal(span), True) for span in (1, 19, 21, 190, 7000)] == [1, 1, 2, 10, 500]
    assert round_step(Decimal("0.4"), False) == Decimal("0.02")


@pytest.mark.parametrize(
    ("operator", "params", "message"),
    [
        ("words_num_filer", ["min_num=1"], "Did you mean 'words_num_filter'"),
        ("text_length_filter", ["min_len=1"], "occurs 2 times, as steps 1 and 6"),
        ("9", ["min_len=1"], "there is no step 9: the recipe has 6"),
        ("2", ["min_len=1"], "is no filter"),
        ("sql_filter", ["where=x"], "refinery run .* --set process.5.where"),
        ("words_num_filter", ["tokenization=true"], "is no bound"),
        ("words_num_filter", ["min_nun=1"], "Did you mean 'min_num'"),
        ("words_num_filter", ["min_num"], "is not name=values"),
        ("words_num_filter", ["min_num=1..50:1", "max_num=1..50:1"], "combinations"),
    ],
)
def test_what_cannot_be_tried_is_said(run: Run, operator: str, params: list[str], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        tried(run, operator, *params)


def test_a_folder_without_a_run_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no finished run here"):
        FinishedRun.open(tmp_path)


# What is printed


def test_the_table(run: Run) -> None:
    done = CliRunner().invoke(cli, ["tune", str(run.work_dir), "words_num_filter", "--param", "min_num=2,5"])
    assert done.exit_code == 0
    lines = [line.split() for line in done.output.splitlines() if line.strip()]
    assert ["→", "3", "21"] in [line[:3] for line in lines]
    assert (
        "for 4 of 34 rows the statistic is not stored: 3 removed before it was computed, 1 in quarantine" in done.output
    )
    assert "█" in done.output and "not known" in done.output
    assert f"refinery analyze {run.work_dir / '.refinery' / 'recipe.yaml'} stores" in done.output.replace("\n", "")


def test_the_figures_as_json(run: Run) -> None:
    done = CliRunner().invoke(cli, ["tune", str(run.work_dir), "3", "--param", "min_num=5", "--json"])
    found = json.loads(done.output)
    assert found["operator"] == "words_num_filter" and [trial["params"] for trial in found["trials"]] == [
        {"min_num": 3},
        {"min_num": 5},
    ]
    assert found["trials"][0]["together"]["rows"] == run.counts.kept
