"""Phases of a plan: each gives its value for what is sound, and the problems of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AnySet
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.common.field_profile import InputProfile
from refinery.errors import DataError, RecipeError
from refinery.execution.open import open_recipe
from refinery.io.field_scan import profile_of
from refinery.io.model import Shard
from refinery.planning import input_schema, samples
from refinery.planning.input_schema import SchemaSettings
from refinery.planning.phase import Phase
from refinery.planning.pipeline import PlanRequest, prepare, require_bound, walk
from refinery.planning.plan import Plan
from tests.runs import settings, texts, write_lines

UNKNOWN_FUNCTION = {"sql_filter": {"where": "nosuch(text) > 1"}}
LENGTH = {"text_length_filter": {"min_len": 1}}


def planned(folder: Path, steps: list[Any], dataset: Any = None, binds: bool = True, **keys: Any) -> Phase[Plan]:
    recipe, library = open_recipe(settings(folder, steps, **keys))
    return walk(PlanRequest(recipe, library, binds=binds), dataset)


def told(phase: Phase[Plan]) -> list[str]:
    return [problem.what for problem in phase.problems]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_lines(tmp_path / "in.jsonl", texts(["a text", "another"]))
    return tmp_path


def test_inputs_beside_a_missing_one_are_read(folder: Path) -> None:
    phase = planned(folder, [UNKNOWN_FUNCTION], dataset_path=[str(folder / "no.jsonl"), str(folder / "in.jsonl")])
    assert [source.path for source in phase.value.sources] == [str(folder / "in.jsonl")]
    missing, unknown = told(phase)
    assert "no.jsonl: no such file" in missing and "nosuch" in unknown


def test_an_input_without_files_is_no_problem_beside_another_with_problems(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "empty" / "README.md").write_text("nothing")
    inputs = [str(folder / "empty"), str(folder / "in.jsonl")]
    [problem] = told(planned(folder, [UNKNOWN_FUNCTION], dataset_path=inputs))
    assert "nosuch" in problem


def test_columns_that_do_not_fit_hide_no_problem_of_sql(folder: Path) -> None:
    (folder / "tables").mkdir()
    for name, values in (("a", [1]), ("b", [{"x": 1}])):
        pq.write_table(pa.table({"text": ["a"], "v": values}), folder / "tables" / f"{name}.parquet")
    columns, unknown = told(planned(folder, [UNKNOWN_FUNCTION], dataset_path=str(folder / "tables")))
    assert "column" in columns and "nosuch" in unknown


def test_a_table_without_the_text_field_hides_no_problem_of_sql(folder: Path) -> None:
    with pytest.raises(RecipeError) as caught:
        refinery.run(settings(folder, [UNKNOWN_FUNCTION]), pa.table({"body": ["a"]}))
    field, unknown = [problem.what for problem in caught.value.problems]
    assert "'text'" in field and "nosuch" in unknown


def test_a_stream_is_refused_with_the_problems_of_sql(folder: Path) -> None:
    stream, unknown = told(planned(folder, [UNKNOWN_FUNCTION], iter([{"text": "a"}])))
    assert "read once, as a stream" in stream and "nosuch" in unknown


def test_problems_of_all_stages_and_of_all_steps_of_a_stage(folder: Path) -> None:
    wrong = [{"sql_filter": {"where": f"nosuch_{number}(text) > 1"}} for number in range(4)]
    phase = planned(folder, [wrong[0], LENGTH, wrong[1], "document_deduplicator", wrong[2], wrong[3]])
    assert [f"nosuch_{number}" in what for number, what in enumerate(told(phase))] == [True] * 4


def test_a_statistic_of_a_step_that_does_not_bind_is_known_to_later_stages(folder: Path) -> None:
    steps = [{"sql_filter": {"where": "text_len > nosuch(1)"}}, "document_deduplicator"]
    [problem] = told(planned(folder, [LENGTH, *steps, {"sql_filter": {"where": "text_len > 1"}}]))
    assert "nosuch" in problem


def test_drawing_samples_is_left_out_where_there_are_problems(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "draw", lambda *_: pytest.fail("all of the input is read"))
    dataset = {"max_sample_num": 1, "configs": [{"type": "local", "path": str(folder / "in.jsonl")}]}
    recipe = settings(folder, [LENGTH], dataset=dataset, text_keys="txet")
    phase = walk(PlanRequest(*open_recipe({key: value for key, value in recipe.items() if key != "dataset_path"})))
    assert len(told(phase)) == 1 and phase.value.recipe.max_sample_num == 1


def test_a_plan_without_samples_has_stages(folder: Path) -> None:
    recipe, library = open_recipe({"process": [LENGTH, {"sql_filter": {"where": "any_name > 1"}}]}, need_inputs=False)
    plan = prepare(recipe, library, reads=False)
    assert not plan.sources and not plan.shards and len(plan.stages) == 1


def test_a_plan_that_was_not_bound_is_bound_later(folder: Path) -> None:
    phase = planned(folder, [UNKNOWN_FUNCTION], binds=False)
    assert not phase.problems
    with pytest.raises(RecipeError, match="nosuch"):
        require_bound(phase.value)
    require_bound(planned(folder, [LENGTH], binds=False).value)


def test_one_error_with_all_problems_is_raised(folder: Path) -> None:
    recipe, library = open_recipe(settings(folder, [LENGTH], dataset_path=str(folder / "no.jsonl")))
    with pytest.raises(DataError, match=r"no\.jsonl: no such file"):
        prepare(recipe, library)


def profiles(shards: Sequence[Shard], wanted: AnySet[str]) -> list[InputProfile]:
    """Profiles as a cluster gives them."""
    return [profile_of(shard, wanted=wanted) for shard in shards]


def test_types_in_a_large_input_are_found_by_the_executor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_schema, "FAR", 0)
    monkeypatch.setattr(input_schema, "_here", lambda *_: pytest.fail("this process looks"))
    write_lines(folder / "in.jsonl", [{"text": "a", "v": 1}, {"text": "b", "v": 0.5}])
    shards = planned(folder, [LENGTH]).value.shards
    look = SchemaSettings(frozenset({"v"}), {}, f"{__name__}:profiles", 1)
    assert input_schema.input_schema(look, True, shards).columns["v"] == "DOUBLE"
