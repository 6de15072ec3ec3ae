"""How each step runs: as SQL, by a kernel, or in Python; what it shares; what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refinery.compiler.chain import Schema
from refinery.compiler.explain import StepPlan, step_plans
from refinery.compiler.program import build
from refinery.explaining import analyzed, planned
from refinery.opening import open_recipe
from refinery.pipeline import Prepared, prepare

STEPS: list[Any] = [
    {"clean_links_mapper": {}},
    {"whitespace_normalization_mapper": {}},
    {"words_num_filter": {"min_num": 2}},
    {"word_repetition_filter": {"max_ratio": 0.9}},
    {"average_line_length_filter": {"min_len": 1}},
    {"special_characters_filter": {"max_ratio": 0.9}},
    {"text_length_filter": {"min_len": 12}},
    {"sql_filter": {"where": "num_words > 0"}},
]


def plans(steps: list[Any], share: bool = True) -> list[StepPlan]:
    recipe, library = open_recipe({"process": steps}, need_inputs=False)
    program, chain = build(recipe.steps, library, Schema(True), ("text",), share)
    return step_plans(program, chain, library)


def test_how_steps_run() -> None:
    found = plans(STEPS)
    assert [plan.name for plan in found] == [next(iter(step)) for step in STEPS]
    assert [plan.index for plan in found] == list(range(1, len(STEPS) + 1))
    assert [plan.runs for plan in found[2:]] == ["kernel", "kernel", "kernel", "kernel", "SQL", "SQL"]
    assert found[0].functions == ("clean_links_delta",)
    assert "refined_words" in found[2].functions and "profile" in found[4].functions
    assert all(plan.where == f"recipe, step {plan.index}" for plan in found)
    assert all(plan.layers for plan in found)


def test_what_is_shared() -> None:
    """Words and character counts of one version of the text; nothing after the text has changed, or without fusion."""
    shared = [plan.shared for plan in plans(STEPS)]
    assert shared[2] == shared[3] != () and shared[4] == shared[5] != () and shared[6] == ()
    apart = [STEPS[2], {"sql_mapper": {"text": "upper(text)"}}, STEPS[3]]
    assert [plan.shared for plan in plans(apart)] == [(), (), ()]
    assert {plan.shared for plan in plans(STEPS, share=False)} == {()}


def test_python_is_told() -> None:
    """A pattern of one's own is for the regex module, which holds the interpreter's lock; the default needs none of it."""
    own, default = plans([{"clean_email_mapper": {"pattern": "x+"}}, {"clean_email_mapper": {}}])
    assert own.runs == "Python" and own.functions
    assert default.runs in ("SQL", "kernel")


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Prepared:
    monkeypatch.chdir(tmp_path)
    texts = ["long enough to stay here", "short", "one more text www.example.org/path that stays", ""]
    Path("docs.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts * 50), encoding="utf-8")
    return prepare(*open_recipe({"dataset_path": "docs.jsonl", "np": 2, "export_path": "out.jsonl", "process": STEPS}))


def test_samples_that_fail_are_left_out(prepared: Prepared) -> None:
    steps = [
        {"sql_filter": {"where": "CASE WHEN text = 'short' THEN error('no') ELSE true END"}},
        {"text_length_filter": {}},
    ]
    recipe, library = open_recipe({"dataset_path": "docs.jsonl", "export_path": "out.jsonl", "process": steps})
    first, _ = list(analyzed(prepare(recipe, library)))
    assert first.startswith("measured on 150 rows, ")


def rows(table: Any) -> list[list[str]]:
    return [list(row) for row in zip(*(list(column.cells) for column in table.columns), strict=True)]


def test_plan(prepared: Prepared) -> None:
    first, table, _, tree = list(planned(prepared))
    assert first.startswith("stage 1: 8 steps fused into one pass over 1 shard with ")
    assert [row[1] for row in rows(table)] == [next(iter(step)) for step in STEPS]
    assert "Projection" in tree or "PROJECTION" in tree


def test_measured(prepared: Prepared) -> None:
    first, table = list(analyzed(prepared))
    assert first.startswith("measured on 200 rows, ")
    found = rows(table)
    assert [row[3] for row in found[:3]] == ["200", "200", "200"]
    assert found[2][4] == "100"  # removed by words_num_filter: the short and the empty texts
    assert [row[3] for row in found[3:8]] == ["100"] * 5
    assert found[-1][1] == "reading and the rest"
    shares = [float(row[6].removesuffix(" %")) for row in found]
    assert sum(shares) == pytest.approx(100, abs=len(found))
