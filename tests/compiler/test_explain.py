"""Explanation of each step: run as SQL, by a kernel, or in Python; shared features; costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refinery.compiler.explain import StepPlan, barrier_plan, step_plans
from refinery.compiler.model import Schema
from refinery.compiler.program import build
from refinery.dedup.matchers.bands import bands_and_rows
from refinery.execution.open import open_recipe
from refinery.inspect.explain import analyzed, planned
from refinery.planning.pipeline import prepare
from refinery.planning.plan import Plan

STEPS: list[Any] = [
    {"clean_links_mapper": {}},
    {"whitespace_normalization_mapper": {}},
    {"words_num_filter": {"min_num": 2}},
    {"flagged_words_filter": {"flagged_words_dir": str(Path(__file__).parent / "words")}},
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


def test_python_is_reported() -> None:
    """A pattern of one's own is for the regex module, which holds the interpreter's lock; the default needs none of it."""
    own, default = plans([{"clean_email_mapper": {"pattern": "x+"}}, {"clean_email_mapper": {}}])
    assert own.runs == "Python" and own.functions
    assert default.runs in ("SQL", "kernel")


def write_texts(times: int) -> None:
    texts = ["long enough to stay here", "short", "one more text www.example.org/path that stays", ""]
    lines = [json.dumps({"text": text}) for text in texts * times]
    Path("docs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    write_texts(50)
    return prepare(*open_recipe({"dataset_path": "docs.jsonl", "np": 2, "export_path": "out.jsonl", "process": STEPS}))


def test_samples_that_fail_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_texts(4)
    steps = [
        {"sql_filter": {"where": "CASE WHEN text = 'short' THEN error('no') ELSE true END"}},
        {"text_length_filter": {}},
    ]
    recipe, library = open_recipe({"dataset_path": "docs.jsonl", "export_path": "out.jsonl", "process": steps})
    first, _ = list(analyzed(prepare(recipe, library)))
    assert first.startswith("measured on 12 rows, ")


def rows(table: Any) -> list[list[str]]:
    return [list(row) for row in zip(*(list(column.cells) for column in table.whole().columns), strict=True)]


def names_of(tree: Any) -> list[str]:
    parts = [child.label.plain.partition(" ")[2].rpartition(": ")[0] for child in tree.children]
    return [part for part in parts if part]


def test_plan(prepared: Plan) -> None:
    cut, tree, _, plan = list(planned(prepared, True))
    assert cut.startswith("input: 6,300 bytes in 1 shard: ")
    assert tree.label.plain.startswith("stage 1: 8 steps fused into one pass over 1 shard with ")
    assert names_of(tree) == [next(iter(step)) for step in STEPS]
    assert "Projection" in plan or "PROJECTION" in plan
    assert len(list(planned(prepared, False))) == 2


def test_measured(prepared: Plan) -> None:
    first, table = list(analyzed(prepared))
    assert first.startswith("measured on 200 rows, ")
    found = rows(table)
    assert [row[3] for row in found[:3]] == ["200", "200", "200"]
    assert found[2][4] == "100"  # removed by words_num_filter: the short and the empty texts
    assert [row[3] for row in found[3:8]] == ["100"] * 5
    assert found[-1][1] == "reading and the rest"
    shares = [float(row[6].removesuffix(" %")) for row in found]
    assert sum(shares) == pytest.approx(100, abs=len(found))


def test_rows_of_several_shards_are_numbered_as_in_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_texts(50)
    steps = [{"sql_filter": {"where": "_row < 120"}}]
    recipe = {"dataset_path": ["docs.jsonl"] * 2, "override_num_blocks": 4, "export_path": "out.jsonl"}
    plan = prepare(*open_recipe(recipe | {"process": steps}))
    _, table = list(analyzed(plan))
    assert len(plan.shards) == 4 and rows(table)[0][3:5] == ["400", "280"]


STAGES: list[Any] = [
    {"text_length_filter": {"min_len": 3}},
    {"document_minhash_deduplicator": {"window_size": 1, "keep": "text_len desc", "max_cluster_size": 9}},
    {"whitespace_normalization_mapper": {}},
    {"document_line_deduplicator": {}},
    {"words_num_filter": {"min_num": 5}},
    {"document_simhash_deduplicator": {"hamming_distance": 3}},
]


@pytest.fixture
def staged(prepared: Plan) -> Plan:
    return prepare(*open_recipe({"dataset_path": "docs.jsonl", "np": 2, "export_path": "out.jsonl", "process": STAGES}))


def test_plan_of_stages(staged: Plan) -> None:
    parts = list(planned(staged, True))
    texts = [part for part in parts if isinstance(part, str)]
    trees = [part for part in parts if not isinstance(part, str)]
    first = "stage 1: 1 step, and what step 2 compares, fused into one pass over 1 shard with "
    assert trees[0].label.plain.startswith(first)
    assert [names_of(tree) for tree in trees] == [
        ["text_length_filter", "document_minhash_deduplicator: marks"],
        ["whitespace_normalization_mapper", "document_line_deduplicator: marks"],
        ["document_line_deduplicator: takes out", "words_num_filter", "document_simhash_deduplicator: marks"],
    ]
    steps = [child.label.plain for tree in trees for child in tree.children]
    assert [step.rpartition(": ")[2].split()[0] for step in steps if step.count(": ") > 1] == ["kernel"] * 4
    barriers = [text for text in texts if text.startswith("between stages")]
    assert [text.split()[4] for text in barriers] == [next(iter(STAGES[i])) for i in (1, 3, 5)]
    assert texts[-1].startswith("stage 4: no steps")


def barrier(process: dict[str, Any]) -> Any:
    recipe, library = open_recipe({"process": [process]}, need_inputs=False)
    return barrier_plan(recipe.steps[0], library.operators[recipe.steps[0].name])


def test_plan_of_bands() -> None:
    """Bands and rows, the curve's value at the threshold, the survivors' order, limits and the set SQL."""
    plan = barrier({"document_minhash_deduplicator": {"keep": "length(text) desc", "max_removed_share": 0.5}})
    bands, minima = bands_and_rows({"jaccard_threshold": 0.7, "num_permutations": 256})
    assert plan.compares[0].startswith(f"{bands} bands x {minima} rows")
    assert f"(1 - s^{minima})^{bands} = {1 - (1 - 0.7**minima) ** bands:.3g} " in plan.compares[1]
    assert plan.stays.startswith("of each cluster the first by LENGTH(text) DESC") and "among equals" in plan.stays
    assert plan.limits == "max_removed_share 0.5; a run beyond them fails"
    assert [name for name, *_ in plan.statements] == ["_same_key.sql", "_survivors.sql", "_duplicates.sql"]
    verified = barrier({"document_minhash_deduplicator": {"verify": True, "num_bands": 4, "num_rows_per_band": 8}})
    assert verified.compares[0].startswith("4 bands x 8 rows") and "true Jaccard" in verified.compares[-1]
    names = [name for name, *_ in verified.statements]
    assert names == ["_buckets.sql", "_representatives.sql", "_still_open.sql", "_duplicates.sql"]
    assert bands_and_rows({"num_buckets": 20}) == (20, 8)


def test_plan_of_others() -> None:
    assert barrier({"document_simhash_deduplicator": {}}).compares[0].endswith("at most 4 bits are duplicates")
    assert barrier({"key_deduplicator": {"key": "lower(url)"}}).compares[0].startswith("keys: lower(url)")
    lines = barrier({"document_line_deduplicator": {}})
    assert "more than 6 samples" in lines.compares[0] and lines.stays.endswith("no sample is removed")
    assert [name for name, *_ in barrier({"paragraph_deduplicator": {}}).statements] == ["_units_seen_before.sql"]


def test_measured_stages(staged: Plan) -> None:
    """Every stage receives the output of the stage before; limits that a sample exceeds are reported."""
    parts = list(analyzed(staged))
    texts = [part for part in parts if isinstance(part, str)]
    assert [text.partition(", ")[0] for text in texts[:3]] == [
        "stage 1: measured on 200 rows", "stage 2: measured on 3 rows", "stage 3: measured on 3 rows",
    ]  # fmt: skip
    assert "found a cluster of 50 samples" in texts[3]
    first, second, third = (rows(part) for part in parts if not isinstance(part, str))
    assert [(row[1], row[2], row[3], row[4]) for row in first[:3]] == [
        ("text_length_filter", "SQL", "200", "50"),
        ("document_minhash_deduplicator: marks", "kernel", "150", ""),
        ("document_minhash_deduplicator", "set SQL", "150", "147"),
    ]
    assert [row[2] for row in second] == ["kernel", "kernel", "set SQL", ""]
    assert [row[4] for row in third] == ["", "1", "", "", ""]
