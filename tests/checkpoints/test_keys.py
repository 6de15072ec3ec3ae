"""Keys of results: every field of programs, tasks and steps counts, but for those that are marked; these change nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from refinery.checkpoints.keys import barrier_key, program_key, shard_key
from refinery.common.key_fields import canonical, left_out, reason_left_out
from refinery.compiler.model import Schema
from refinery.compiler.program import Program, build, pretty
from refinery.compiler.stages import cut_at_barriers
from refinery.io.content_digest import how_cut
from refinery.io.model import Part, Shard, Source
from refinery.operators import Library
from refinery.planning.compilation import context_of
from refinery.planning.plan import CompiledStage, CompileInputs
from refinery.planning.settings import PlanSettings
from refinery.recipe import Recipe, loads
from refinery.workers.tasks import ShardResult, Task
from tests.conftest import ROOT

RECIPE = """
dataset_path: in.jsonl
process:
  - clean_links_mapper:
  - words_num_filter: {min_num: 3}
  - sql_filter: {where: "num_words < 100 AND lang = 'en'"}
  - special_characters_filter:
  - document_minhash_deduplicator: {keep: length(text) desc}
  - text_length_filter:
"""
LIBRARY = Library()
SCHEMA = Schema(True, {"lang": "VARCHAR"})
SHARD = Shard(0, (Source("in.jsonl", "jsonl", None, ".jsonl", 10),), 0, 10)
TASK = Task("stage_1", 1000)


def recipe_of(text: str = RECIPE) -> Recipe:
    return loads(text, library=LIBRARY)


def compiled(recipe: Recipe) -> CompiledStage:
    """The first stage of a recipe."""
    stage = cut_at_barriers(recipe.steps, LIBRARY)[0]
    inputs = CompileInputs(PlanSettings.of(recipe, LIBRARY).compile, LIBRARY, SCHEMA)
    program, chain = build(stage.running, LIBRARY, SCHEMA, ("text",), around=context_of(stage, inputs))
    return CompiledStage(stage, inputs, program, chain)


PLANNED = compiled(recipe_of())


def key(program: Program) -> str:
    return program_key(replace(PLANNED, program=program), LIBRARY, {})


def task_key(task: Task) -> str:
    return shard_key("program", task, SHARD, None)


def other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, tuple):
        return (*value, "another")
    if isinstance(value, Mapping):
        return {**value, "another": "other"}
    return f"{value or ''} other"


@pytest.mark.parametrize("name", [declared.name for declared in fields(Program)])
def test_every_field_of_a_program_is_in_its_key(name: str) -> None:
    declared = next(declared for declared in fields(Program) if declared.name == name)
    changed = replace(PLANNED.program, **{name: other(getattr(PLANNED.program, name))})
    if name == "beside":  # digests of files are in the key, with the names that `code` gives them
        assert key(changed) != key(PLANNED.program)
        assert key(replace(changed, code={"another": "module"})) != key(changed)
    else:
        assert (key(changed) == key(PLANNED.program)) is bool(reason_left_out(declared))


@pytest.mark.parametrize("name", [declared.name for declared in fields(Task) if declared.name != "output"])
def test_every_field_of_a_task_is_in_its_key(name: str) -> None:
    declared = next(declared for declared in fields(Task) if declared.name == name)
    changed = replace(TASK, **{name: other(getattr(TASK, name))})
    assert (task_key(changed) == task_key(TASK)) is bool(reason_left_out(declared))


@pytest.mark.parametrize("kind", [Program, Task])
def test_a_new_field_counts(kind: Any) -> None:
    """A field that nobody has thought of in keys; and one that is marked."""
    wider = make_dataclass(
        "Wider",
        [("extra", int, field(default=0)), ("marked", int, field(default=0, metadata=left_out("a test")))],
        bases=(kind,),
        frozen=True,
    )
    plain = PLANNED.program if kind is Program else TASK
    made, of = wider(**{f.name: getattr(plain, f.name) for f in fields(plain)}), key if kind is Program else task_key
    assert of(replace(made, extra=1)) != of(made) == of(replace(made, marked=1))


def test_marked_fields_are_those_that_are_known_here() -> None:
    """A new mark needs a test that the field changes no result."""
    marked = {kind: {f.name for f in fields(kind) if reason_left_out(f)} for kind in (Program, Task)}
    derived = {"replay_sql", "layers", "last", "trials"}  # test_marked_sql_is_that_of_the_statement
    places = {"folders", "files", "beside", "code"}  # test_reuse, test_side_files and test_code run with other places
    resources = {"calls", "shown"}  # execution/test_resources.py cuts stages and calls in other ways
    assert marked[Program] == derived | places | resources
    # The folder is that of the stage; results of any size of batches and of retries are compared in tests/workers.
    assert marked[Task] == {"folder", "store", "key", "batch_bytes", "batch_rows", "blamed"}


def test_marked_sql_is_that_of_the_statement() -> None:
    """The key leaves out what only errors and traces need: it follows from the statement."""
    program, chain = PLANNED.program, PLANNED.chain
    whole = pretty(f"{program.layers} SELECT {', '.join(chain.pass_columns())} FROM {program.last}")
    assert whole == program.pass_sql
    assert program.replay_sql == f"{program.layers} SELECT {', '.join(chain.replay_columns())} FROM {program.last}"
    definitions = {definition.name: definition.expression.sql("duckdb") for definition in chain.layers.definitions()}
    assert [(name, sql) for (name, _), (_, sql) in zip(program.probes, program.trials, strict=True)] == [
        (name, definitions[name]) for name, _ in program.probes
    ]


def test_places_in_the_recipe_are_in_no_key() -> None:
    moved = compiled(recipe_of("# a comment\n\n" + RECIPE))
    assert [step.where for step in moved.program.steps] != [step.where for step in PLANNED.program.steps]
    assert program_key(moved, LIBRARY, {}) == key(PLANNED.program)
    results = [ShardResult(0, key="a")]
    assert barrier_key(moved, LIBRARY, results, []) == barrier_key(PLANNED, LIBRARY, results, [])


def test_comments_are_in_no_key_and_texts_that_look_like_them_are() -> None:
    def with_sql(sql: str) -> str:
        return key(replace(PLANNED.program, pass_sql=sql))

    assert with_sql("SELECT 1 /* a 'b' */ + 2") == with_sql("SELECT 1 + 2 -- c")
    assert len({with_sql(f"SELECT '/* {text} */'") for text in ("a", "b", "it''s")}) == 3
    assert with_sql('SELECT "a"') != with_sql("SELECT 'a'")


def test_parameters_of_a_deduplicator_are_in_its_key() -> None:
    results = [ShardResult(0, key="a")]
    changed = compiled(recipe_of(RECIPE.replace("length(text) desc", "length(text)")))
    found = {barrier_key(planned, LIBRARY, results, []) for planned in (PLANNED, changed)}
    assert len(found) == 2 and barrier_key(PLANNED, LIBRARY, [ShardResult(0, key="b")], []) not in found


def test_keys_are_the_same_in_every_process() -> None:
    code = "from tests.checkpoints.test_keys import *; print(key(PLANNED.program), task_key(TASK))"
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # another than that of this process
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == key(PLANNED.program)


@dataclass(frozen=True)
class Inner:
    names: frozenset[str]
    by_name: Mapping[Any, int]
    place: str = field(default="", metadata=left_out("a test"))


def test_canonical_data() -> None:
    one, two = (
        Inner(frozenset({"b", "a"}), {("x",): 1, ("w",): 2}),
        Inner(frozenset({"a", "b"}), {("w",): 2, ("x",): 1}, "p"),
    )
    data = {"names": ["a", "b"], "by_name": [[["w"], 2], [["x"], 1]]}
    assert canonical([one, (two, None)], str) == [data, [data, None]]
    assert canonical({"at": Path("a")}, str) == [["at", "a"]]
    with pytest.raises(TypeError):
        canonical(b"", _nothing)


def _nothing(value: Any) -> Any:
    raise TypeError


TYPED = Source("in.parquet", "parquet", None, ".parquet", 10)
# Another value of each field of a file or shard.
OTHERS: dict[str, Any] = {
    "format": "arrow",
    "compression": "gzip",
    "suffix": ".pq",
    "partitions": (("lang", "en", False),),
    "texts": (("body",),),
    "options": (("delimiter", ";"),),
    "index": 1,
    "start": 5,
    "lines": False,
    "schema": pa.schema([("text", pa.string())]),
    "only": np.array([1]),
    "path": "other.parquet",
    "size": 11,
    "dataset": 1,
    "table": pa.table({"text": ["a"]}),
    "version": "abc",
    "reader": "udfs/readers/own.py",
    "end": 9,
    "part": Part(None, np.array([0])),
    "rows_of": (3,),
    "share": 0.5,
    "first": 7,
}


@pytest.mark.parametrize("kind", [Source, Shard])
def test_fields_of_shards_and_files_are_in_keys_unless_left_out(kind: type) -> None:
    plain = Shard(0, (TYPED,))
    for declared in fields(kind):
        name = declared.name
        if name == "sources":
            continue
        value = {name: OTHERS[name]}
        changed = Shard(0, (replace(TYPED, **value),)) if kind is Source else replace(plain, **value)
        assert (how_cut(changed) == how_cut(plain)) is bool(reason_left_out(declared)), name


def test_files_of_a_shard_count_in_their_order_and_equal_ones_once() -> None:
    other = replace(TYPED, suffix=".pq")
    assert how_cut(Shard(0, (TYPED, other))) != how_cut(Shard(0, (other, TYPED)))
    assert how_cut(Shard(0, (TYPED, replace(TYPED, path="b.parquet")))) == how_cut(Shard(0, (TYPED,)))


def test_names_of_steps_are_in_no_key() -> None:
    text = RECIPE
    for operator in ("clean_links_mapper:\n", "words_num_filter: {min_num: 3}\n", "{keep: length(text) desc}\n"):
        text = text.replace(operator, f"{operator}    name: {operator[:9]!r}\n")
    named = compiled(recipe_of(text))
    assert [step.title for step in (*named.stage.steps, named.stage.after)].count(None) == 2
    assert named.stage.fingerprint == PLANNED.stage.fingerprint
    assert program_key(named, LIBRARY, {}) == key(PLANNED.program)
    results = [ShardResult(0, key="a")]
    assert barrier_key(named, LIBRARY, results, []) == barrier_key(PLANNED, LIBRARY, results, [])
