"""`refinery.compat`: steps are loaded, measured and put in order by scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.compat import fuse_operators, load_ops, probe_small_batch
from refinery.errors import RecipeError
from tests.runs import exported, operator_folder, refine, settings, texts, write_lines

STEPS: list[Any] = [
    {"character_repetition_filter": {"max_ratio": 0.8}},
    {"slow_mapper": None, "name": "ours"},
    {"words_num_filter": {"min_num": 4}},
    "document_deduplicator",
    "clean_email_mapper",
    {"sql_filter": {"where": "id % 7 > 0"}},
]
SAMPLES = texts([f"page {'word ' * (number % 9)}{number % 50}" for number in range(3000)])


@pytest.fixture
def operators(tmp_path: Path) -> list[Path]:
    return [operator_folder(tmp_path / "own", "", slow='return text.replace("zzz", "") if "zzz" in text else None')]


def test_steps_are_items_of_a_recipe(operators: list[Path]) -> None:
    ops = load_ops(STEPS, operators)
    assert [op.name for op in ops][:2] == ["character_repetition_filter", "slow_mapper"]
    assert [op.kind for op in ops] == ["filter", "mapper", "filter", "deduplicator", "mapper", "filter"]
    assert ops[2] == {"words_num_filter": {"min_num": 4}} and ops[2].params["max_num"] > 1e9
    assert ops[1] == {"slow_mapper": None, "name": "ours"} and load_ops(ops, operators) == ops
    with pytest.raises(RecipeError, match="words_num_filtre(.|\n)*min_nmu"):
        load_ops([{"words_num_filtre": None}, {"words_num_filter": {"min_nmu": 1}}])
    with pytest.raises(RecipeError, match="no step"):
        load_ops([])


@pytest.mark.parametrize("kind", ["table", "dicts", "batches", "path"])
def test_steps_are_measured(operators: list[Path], tmp_path: Path, kind: str) -> None:
    data: dict[str, Any] = {
        "table": pa.Table.from_pylist(SAMPLES),
        "dicts": iter(SAMPLES),
        "batches": pa.Table.from_pylist(SAMPLES).to_reader(300),
        "path": write_lines(tmp_path / "in.jsonl", SAMPLES),
    }
    ops = load_ops(STEPS, operators)
    probe, batches = probe_small_batch(data[kind], ops, operators)
    assert [found["operator"] for found in probe] == [op.name for op in ops]
    measured = [found for found in probe if found["operator"] != "document_deduplicator"]
    assert all(found["time"] >= 0 for found in measured) and probe[1]["speed"] > 0
    assert probe[3]["time"] is None and 0 < probe[2]["keeps"] < 1 and probe[1]["keeps"] is None
    assert len(batches) == len(ops) and min(batches) > 0
    if kind == "dicts":
        assert next(data[kind])["id"] == 1000


def test_an_order_keeps_the_same_samples(operators: list[Path], tmp_path: Path) -> None:
    steps = [*STEPS[:1], STEPS[2], *STEPS[3:]]
    ops = load_ops(steps)
    for found in (fuse_operators(ops), fuse_operators(ops, probe_small_batch(iter(SAMPLES), ops)[0])):
        assert sorted(map(str, found)) == sorted(map(str, ops))
        names = [op.name for op in found]
        assert names[2] == "document_deduplicator" and set(names[3:]) == {"clean_email_mapper", "sql_filter"}
        recipe = settings(tmp_path, found, work_dir=tmp_path / "w")
        assert exported(refinery.run(recipe, dataset=SAMPLES)) == exported(refine(tmp_path / "one", SAMPLES, steps))
    assert [op.name for op in fuse_operators(ops)][:2] == ["words_num_filter", "character_repetition_filter"] or (
        fuse_operators(ops)[:2] == ops[:2]
    )


def test_measurements_are_of_their_steps(operators: list[Path]) -> None:
    probe, _ = probe_small_batch(iter(SAMPLES), load_ops(["clean_email_mapper"]))
    with pytest.raises(ValueError, match="probe_res is of other steps"):
        fuse_operators(load_ops(["clean_ip_mapper"]), probe)
