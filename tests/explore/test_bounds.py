"""Figures of the view of bounds are those of `refinery tune`, to the row, and name who else removes the samples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import refinery
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.tune import tune
from tests.explore.pages import client_of
from tests.runs import refine, texts, write_lines

WORDS = "one two three four five six seven eight nine ten".split()
SAMPLES = [*texts([" ".join(WORDS[: n % 11]) + "\u00a0" * (n % 3) for n in range(66)]), "no json"]
STEPS: list[Any] = [
    {"text_length_filter": {"min_len": 4}},
    {"whitespace_normalization_mapper": None},
    {"words_num_filter": {"min_num": 3, "max_num": 9}},
    {"sql_filter": {"where": "num_words % 8 <> 7"}},
    {"text_length_filter": {"max_len": 40}},
]
GOPHER: list[Any] = [
    {"gopher_quality_filter": {"min_doc_words": 4, "min_avg_word_length": 1, "min_stop_words": 0}},
    {"words_num_filter": {"min_num": {"kind": {"a": 5, "b": 2, "default": 1}}}},
    {"sql_filter": {"where": "kind = 'a'"}},
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run folders: one that removed samples, one that only measured them, one of filters with conditions."""
    root = tmp_path_factory.mktemp("bounds")
    refine(root / "removed", SAMPLES, STEPS)
    refine(root / "measured", SAMPLES, STEPS, measure_only=True, export_type="none")
    kinds = [{"text": sample["text"], "kind": "abc"[at % 3]} for at, sample in enumerate(SAMPLES[:-1])]  # type: ignore[index]
    refine(root / "conditions", kinds, GOPHER)
    return {name: root / name / "run" for name in ("removed", "measured", "conditions")}


@pytest.fixture(scope="module")
def clients(folders: dict[str, Path]) -> Iterator[dict[str, TestClient]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(client_of(folder)) for name, folder in folders.items()}


def asked(client: TestClient, path: str, **values: Any) -> Any:
    texts = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in values.items()}
    answer = client.get(f"/api/bounds/{path}", params=texts)
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(client: TestClient, path: str, **values: Any) -> str:
    texts = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in values.items()}
    answer = client.get(f"/api/bounds/{path}", params=texts)
    assert answer.status_code == 422
    return str(answer.json()["error"])


@pytest.mark.parametrize("kind", ["removed", "measured"])
@pytest.mark.parametrize(
    ("step", "name", "values"),
    [
        (1, "min_len", [0, 4, 9]),
        (3, "min_num", [0, 3, 5, 8]),
        (3, "max_num", [4, 9, 12]),
        (3, "reversed_range", [True, False]),
        (5, "max_len", [9, 40, 60]),
    ],
)
def test_figures_are_those_of_tune(
    folders: dict[str, Path], clients: dict[str, TestClient], kind: str, step: int, name: str, values: list[Any]
) -> None:
    with FinishedRun.open(folders[kind]) as stored:
        tuning = tune(stored, str(step), [f"{name}={','.join(str(value).lower() for value in values)}"])
    for trial in tuning.trials:
        figures = asked(clients[kind], "trial", step=step, values={name: trial.params[name]})
        for amount in ("alone", "together", "unsure"):
            assert figures[amount] == vars(getattr(trial, amount)), (amount, trial.params)
        reached = figures["alone"]["rows"] + figures["removed"]["rows"]
        assert reached == tuning.stored and bool(figures["sets"]) != trial.in_force
    about = asked(clients[kind], "filter", step=step)
    assert (about["reached"]["rows"], about["removed_before"], about["quarantined"]) == (
        tuning.stored,
        tuning.removed_before,
        tuning.quarantined,
    )
    assert about["notes"] == list(tuning.notes)


def test_figures_of_named_conditions_are_those_of_tune(
    folders: dict[str, Path], clients: dict[str, TestClient]
) -> None:
    with FinishedRun.open(folders["conditions"]) as stored:
        [trial, *_] = tune(stored, "1", ["min_doc_words=8"]).trials[::-1]
    figures = asked(clients["conditions"], "trial", step=1, values={"min_doc_words": 8})
    assert trial.params == {"min_doc_words": 8} and figures["alone"] == vars(trial.alone)
    assert figures["together"] == vars(trial.together) and figures["unsure"] == vars(trial.unsure)
    assert {one["name"]: one["rows"] for one in figures["reasons"]} == {"gopher_short_doc": figures["removed"]["rows"]}


def test_removed_samples_are_split_by_who_else_removes_them(clients: dict[str, TestClient]) -> None:
    # Of 66 samples, 6 of each number of words from 0 to 10; those of none and two of one word are removed by step 1.
    figures = asked(clients["removed"], "trial", step=3, values={"min_num": 8})
    assert {one["name"]: one["rows"] for one in figures["others"]} == {"4": 6}
    assert figures["only_here"]["rows"] == 24 and figures["unknown"]["rows"] == 16  # 3 to 6 words; 1, 2 and 10 words
    assert figures["newly_removed"]["rows"] == 30 and figures["newly_kept"]["rows"] == 0
    reasons = {one["name"]: one["rows"] for one in figures["reasons"]}
    assert reasons == {"num_words below min_num": 40, "num_words above max_num": 6}


def test_a_run_that_only_measured_knows_every_other_filter(clients: dict[str, TestClient]) -> None:
    figures = asked(clients["measured"], "trial", step=3, values={"min_num": 8})
    others = {one["name"]: one["rows"] for one in figures["others"]}
    assert others["4"] == 6 and others["1"] == 8 and figures["unknown"]["rows"] == 0


def test_a_parameter_knows_its_statistics(clients: dict[str, TestClient]) -> None:
    about = asked(clients["conditions"], "filter", step=1)
    bounded = {known["name"]: (known["side"], known["statistics"]) for known in about["parameters"]}
    assert bounded["min_doc_words"] == ("low", ["gopher_words"]) and bounded["max_doc_words"] == (
        "high",
        ["gopher_words"],
    )
    assert bounded["max_symbol_word_ratio"] == ("high", ["hash_word_ratio", "ellipsis_word_ratio"])
    assert {"gopher_words", "hash_word_ratio"} <= {statistic["column"] for statistic in about["statistics"]}


def test_histograms_count_every_sample(clients: dict[str, TestClient]) -> None:
    about = asked(clients["removed"], "filter", step=3)
    [statistic] = about["statistics"]
    counted = sum(sum(counts) for counts in statistic["counts"].values()) + statistic["below"] + statistic["above"]
    assert counted == about["reached"]["rows"] == 58 and statistic["missing"] == 0
    assert sum(statistic["counts"]["here"]) == 16 and statistic["column"] == "num_words" and statistic["whole"]


def test_a_filter_without_stored_numbers_says_so(clients: dict[str, TestClient]) -> None:
    about = asked(clients["conditions"], "filter", step=3)
    assert "more than the stored statistics" in about["why_not"] and about["figures"] == {}
    assert "no bounds" in asked(clients["removed"], "filter", step=4)["why_not"]
    assert asked(clients["removed"], "filter", step=4)["statistics"][0]["column"] == "num_words"


def test_samples_at_a_bound_are_the_nearest_on_both_sides(clients: dict[str, TestClient]) -> None:
    near = asked(clients["removed"], "samples", step=3, parameter="min_num", values={"min_num": 6})
    assert {len(sample["text"].split()) for sample in near["inside"]} == {6}
    assert {len(sample["text"].split()) for sample in near["outside"]} == {5}
    assert all(sample["file"].endswith(f"in.jsonl:{sample['row'] + 1}") for side in near.values() for sample in side)
    near = asked(clients["removed"], "samples", step=3, parameter="max_num", values={"max_num": 4})
    assert {sample["value"] for sample in near["outside"]} == {5} and {s["value"] for s in near["inside"]} == {4}


def test_texts_of_a_changed_input_are_refused(tmp_path: Path) -> None:
    refine(tmp_path, SAMPLES, STEPS)
    with client_of(tmp_path / "run") as client:
        write_lines(tmp_path / "in.jsonl", SAMPLES[:9])
        assert "input has changed" in refused(client, "samples", step=3, parameter="min_num")
        assert asked(client, "trial", step=3, values={"min_num": 5})["alone"]["rows"] > 0


def test_the_recipe_has_the_values(clients: dict[str, TestClient]) -> None:
    recipe = asked(clients["removed"], "recipe", changes={"5": {"max_len": 20}, "3": {"min_num": 5, "max_num": 9}})
    assert recipe["sets"] == ["process.3.min_num=5", "process.5.max_len=20"] and "min_num: 5" in recipe["steps"]
    assert recipe["command"].endswith("--set process.3.min_num=5 --set process.5.max_len=20")
    assert "sql_mapper" not in recipe["steps"] and "whitespace_normalization_mapper" in recipe["recipe"]
    assert asked(clients["removed"], "recipe", changes={"3": {}})["command"] == ""
    assert asked(clients["removed"], "recipe", changes={"5": {"max_len": None}})["sets"] == [
        "process.5.max_len=9223372036854775807"
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"min_num": "x"}, "min_num must be a whole number"),
        ({"min_num": "1,2"}, "not one value"),
        ({"min_num": 1.5}, "min_num must be a whole number"),
        ({"min_num": 10}, "above max_num"),
        ({"min_num": None}, "cannot be switched off"),
        ({"lang": "de"}, "no bound"),
        ({"<img src=x>": 1}, "no bound"),
        ({"min_num": {"a": 1}}, "min_num"),
    ],
)
def test_values_that_a_recipe_refuses_are_refused(clients: dict[str, TestClient], values: Any, message: str) -> None:
    assert message in refused(clients["removed"], "trial", step=3, values=values)


@pytest.mark.parametrize(
    ("step", "message"), [("2", "no filter"), ("99", "no step 99"), ("x", "no whole number"), ("", "no whole")]
)
def test_steps_that_are_no_filters_are_refused(clients: dict[str, TestClient], step: str, message: str) -> None:
    assert message in refused(clients["removed"], "filter", step=step)


def test_samples_from_python_are_read_where_the_run_keeps_them(tmp_path: Path) -> None:
    samples = [sample for sample in SAMPLES if isinstance(sample, dict)]
    recipe = {"export_path": str(tmp_path / "run" / "out.jsonl"), "np": 1, "process": STEPS}
    run = refinery.run(recipe, dataset=samples)
    with client_of(Path(run.work_dir)) as client:
        near = asked(client, "samples", step=3, parameter="min_num")
        assert {len(sample["text"].split()) for sample in near["outside"]} == {2}
