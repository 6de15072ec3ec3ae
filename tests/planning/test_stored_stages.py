"""Stages from the user's cache folder equal compiled ones, and are found for the same inputs of the compiler only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from refinery.compiler.model import Chain, Schema, Stat
from refinery.compiler.stages import cut_at_barriers
from refinery.errors import RecipeError
from refinery.operators import Library, versions
from refinery.planning import compilation, stored_stages
from refinery.planning.compilation import compile_stages, context_of
from refinery.planning.pipeline import prepare
from refinery.planning.plan import CompiledStage, CompileInputs, Plan
from refinery.planning.settings import PlanSettings
from refinery.recipe import Recipe, loads
from refinery.workers.worker import Worker
from tests.runs import operator_folder, refine, rows, settings, texts, write_lines

STEPS: list[Any] = [
    "clean_links_mapper",
    {"words_num_filter": {"min_num": 2}},
    {"character_repetition_filter": {"rep_len": 3}},
    {"sql_filter": {"where": "num_words < 100 AND lang = 'en'"}},
    {"document_minhash_deduplicator": {"keep": "num_words desc"}},
    {"sql_mapper": {"text": "upper(text)"}},
    {"special_characters_filter": {"max_ratio": 0.9}},
]
SAMPLES = [
    {"text": f"some text, and more of it, number {k % 7} https://a.example/{k}", "lang": "en"} for k in range(40)
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder, except for compiled kernels."""
    monkeypatch.setattr(stored_stages, "cache_root", lambda: tmp_path / "cache")
    yield tmp_path / "cache" / "stages"


def prepared(folder: Path, steps: list[Any] = STEPS, operators: Path | None = None, **keys: Any) -> Plan:
    write_lines(folder / "in.jsonl", SAMPLES)
    library = Library((operators,) if operators else ())
    return prepare(loads(json.dumps(settings(folder, steps, **keys)), library=library), library)


def same(stored: CompiledStage, compiled: CompiledStage) -> bool:
    """Compare the program, every field of the chain, and statements that the chain prints."""
    ours, theirs = stored.chain, compiled.chain
    plain = [name for name in (declared.name for declared in fields(Chain)) if name != "layers"]
    return (
        stored.program == compiled.program
        and all(getattr(ours, name) == getattr(theirs, name) for name in plain)
        and ours.layers.layers() == theirs.layers.layers()
        and {*ours.layers.available} == {*theirs.layers.available}
        and ours.select(ours.replay_columns()) == theirs.select(theirs.replay_columns())
        and [d.expression for d in ours.layers.definitions()] == [d.expression for d in theirs.layers.definitions()]
    )


def test_a_stored_stage_equals_the_compiled_one(tmp_path: Path, cache: Path) -> None:
    first, second = prepared(tmp_path), prepared(tmp_path)
    assert [stage.stored for stage in first.stages] == [False, False]
    assert [stage.stored for stage in second.stages] == [True, True]
    assert len(list(cache.iterdir())) == 2
    assert all(map(same, second.stages, first.stages))


def test_a_run_from_stored_stages_gives_the_same_tables(tmp_path: Path) -> None:
    found = []
    for name in ("compiled", "stored"):
        run = refine(tmp_path / name, SAMPLES, STEPS, use_cache=False)
        found.append([rows(run, table) for table in ("ledger", "stats", "duplicates", "trace")])
        found.append((tmp_path / name / "run" / "out.jsonl").read_bytes())
    assert found[:2] == found[2:]


IMPORTS = """
import sys
from refinery.cli.main import cli
cli.main(["check", sys.argv[1]], standalone_mode=False)
print("LOADED", *sorted(set(sys.modules) & {"sqlglot", "jinja2", "duckdb", "pyarrow.compute"}))
"""


def test_a_recipe_that_was_compiled_before_loads_no_compiler(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a text of some words"]))
    recipe = "dataset_path: in.jsonl\nexport_path: out/docs.jsonl\nprocess:\n  - words_num_filter: {min_num: 3}\n"
    (tmp_path / "recipe.yaml").write_text(recipe)
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "own")}
    loaded = []
    for _ in range(2):
        command = [sys.executable, "-c", IMPORTS, "recipe.yaml"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert "no problems" in done.stdout, done.stderr
        loaded.append(done.stdout.rstrip().splitlines()[-1])
    assert loaded[1] == "LOADED"


SCHEMA = Schema(True, {"lang": "VARCHAR"})


def key_of(recipe: str, schema: Schema = SCHEMA, *more: Any) -> str | None:
    library = Library()
    loaded = loads(recipe, library=library)
    stage = cut_at_barriers(loaded.steps, library)[0]
    around = context_of(stage, CompileInputs(PlanSettings.of(loaded, library).compile, library, schema, more))
    return stored_stages.stage_key(stage.steps, library, stage, around, schema, ("text",), loaded.op_fusion, False)


RECIPE = """dataset_path: in.jsonl
export_path: out.jsonl
process:
  - clean_links_mapper:
  - words_num_filter: {min_num: 3}
"""
EDITS = [
    ("min_num: 3", "min_num: 4"),
    ("min_num: 3", "min_num: 3, lang: zh"),
    ("process:", "\nprocess:"),  # places of steps are in messages and in comments of the statement
    ("clean_links_mapper:", "clean_email_mapper:"),
    ("process:", "op_fusion: false\nprocess:"),
    ("process:", "stat_summary: {groups: [histogram]}\nprocess:"),
    ("  - clean_links_mapper:\n", ""),
    ("clean_links_mapper:", "clean_links_mapper: {text_key: body}"),
]


@pytest.mark.parametrize(("old", "new"), EDITS)
def test_every_edit_makes_another_key(old: str, new: str) -> None:
    edited = RECIPE.replace(old, new)
    assert edited != RECIPE and key_of(RECIPE) == key_of(RECIPE) != key_of(edited)


def test_columns_statistics_and_versions_make_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        key_of(RECIPE),
        key_of(RECIPE, Schema(False, {"lang": "VARCHAR"})),
        key_of(RECIPE, Schema(True, {"lang": "BIGINT"})),
        key_of(RECIPE, Schema(True, {"lang": "VARCHAR"}), Stat("num_words", "num_words", 1, "BIGINT")),
    ]
    for name in ("sqlglot", "duckdb", "jinja2", "sources", "python"):
        monkeypatch.setattr(stored_stages, "versions", lambda name=name: {**versions.versions(), name: "other"})
        found.append(key_of(RECIPE))
    assert len({*found}) == len(found) and None not in found


def test_a_damaged_file_is_compiled_anew(tmp_path: Path, cache: Path) -> None:
    whole = prepared(tmp_path).stages
    for path in cache.iterdir():
        path.write_bytes(path.read_bytes().replace(b"text", b"test"))
    again = prepared(tmp_path).stages
    assert not any(stage.stored for stage in again) and all(map(same, again, whole))
    assert all(stage.stored for stage in prepared(tmp_path).stages)


def test_operators_of_users_are_never_stored(tmp_path: Path, cache: Path) -> None:
    operators, name = operator_folder(tmp_path / "own", shout="return text.upper()"), "shout_mapper"
    for _ in range(2):
        found = prepared(tmp_path, [name], operators)
        assert not found.stages[0].stored
    assert not cache.exists()


def test_a_process_whose_sources_have_changed_stores_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "IMPORTED", 0.0)  # every file was changed after that
    assert versions.sources_changed()
    prepared(tmp_path)
    assert not cache.exists()


def test_sources_are_looked_at_once_for_all_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []

    def sources_changed() -> bool:
        looks.append(True)
        return False

    monkeypatch.setattr(compilation, "sources_changed", sources_changed)
    stages = prepared(tmp_path, ["document_deduplicator", "clean_links_mapper"]).stages
    assert len(stages) == 2 and all(stage.key for stage in stages) and looks == [True]


def test_python_functions_and_tables_are_bound_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []
    bind = Worker.bind
    monkeypatch.setattr(
        Worker, "bind", lambda worker, shards: (bound.append(worker.program.label), bind(worker, shards))
    )
    for steps in ([{"words_num_filter": {}}], ["clean_html_mapper"]):
        for _ in range(2):
            prepared(tmp_path, steps)
    assert [label.split(": ")[-1] for label in bound] == ["words_num_filter", "clean_html_mapper", "clean_html_mapper"]


def test_files_that_sql_reads_are_looked_for_again(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("name\nen\n")
    steps = [{"sql_filter": {"where": f"lang IN (SELECT name FROM '{tmp_path}/list.csv')"}}]
    prepared(tmp_path, steps)
    assert prepared(tmp_path, steps).stages[0].stored
    (tmp_path / "list.csv").unlink()
    with pytest.raises(RecipeError):
        prepared(tmp_path, steps)


def test_a_folder_that_cannot_be_written_to_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(stored_stages, "cache_root", lambda: tmp_path / "file")
    assert [stage.stored for stage in (*prepared(tmp_path).stages, *prepared(tmp_path).stages)] == [False] * 4


def test_the_folder_keeps_the_latest_stages(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_stages, "_MOST", 3)
    for least in range(6):
        prepared(tmp_path, [{"words_num_filter": {"min_num": least}}])
    assert len(list(cache.iterdir())) == 3
    assert prepared(tmp_path, [{"words_num_filter": {"min_num": 5}}]).stages[0].stored


def test_no_stage_without_binding_is_stored(tmp_path: Path, cache: Path) -> None:
    recipe: Recipe = loads(RECIPE, library=(library := Library()))
    stages = cut_at_barriers(recipe.steps, library)
    inputs = CompileInputs(PlanSettings.of(recipe, library).compile, library, Schema(True))
    [found] = compile_stages(stages, inputs).value
    assert found.key and not cache.exists() and replace(found, stored=True).stored
