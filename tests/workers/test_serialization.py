"""Values sent to another process arrive unchanged, and other types cannot be sent."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from refinery.compiler.model import CompileContext
from refinery.io.model import Part, Shard, Source
from refinery.operators import Function, Library, shipped
from refinery.planning.pipeline import prepare
from refinery.recipe import Recipe
from refinery.workers import serialization
from refinery.workers.worker import ShardResult, Task
from tests.conftest import ROOT
from tests.examples import share_of


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal at every depth, types included."""
    if type(one) is not type(other) and not (isinstance(one, Path) and isinstance(other, Path)):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return (
            math.isnan(one) and math.isnan(other) or (one == other and math.copysign(1, one) == math.copysign(1, other))
        )
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        return same(list(one), list(other)) and all(same(one[key], other[key]) for key in one)
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, pa.Schema):
        return bool(one.equals(other, check_metadata=True))
    return bool(one == other)


def travels(value: Any) -> bool:
    text = serialization.to_json(value)
    assert "\n" not in text and text.isascii()
    return same(value, serialization.from_json(text))


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
# Bytes of paths that are not UTF-8 become these; JSON would join a pair with a high surrogate, which no path has.
lone = st.text(st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF) | st.characters(categories=["Lu"]))
dtypes = st.sampled_from(["<i8", "<u8", "<i4", "<f8", "|u1", "|b1", "<f4"])
numbers = dtypes.flatmap(
    lambda kind: arrays.arrays(np.dtype(kind), arrays.array_shapes(max_dims=2, min_side=0, max_side=4))
)
keys = st.text() | st.integers() | st.tuples(st.text(), st.integers()) | st.just("@")
values = st.recursive(
    plain | lone | numbers | st.text("ab/.", min_size=1).map(Path),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner),
    max_leaves=12,
)


@examples(max_examples=share_of(100))
@given(values)
def test_values_arrive_as_they_were(value: Any) -> None:
    assert travels(value)


paths = st.text(min_size=1, max_size=20)
rows = arrays.arrays(np.int64, st.integers(0, 5), elements=st.integers(0, 2**62))
sources = st.builds(Source, paths, paths, st.none() | paths, paths, st.integers(0), st.integers(0, 9))
parts = st.builds(Part, st.none() | sources, rows, st.none() | rows, st.none() | rows, st.lists(paths).map(tuple))
schemas = st.none() | st.just(pa.schema([pa.field("a", pa.list_(pa.int8()), metadata={"k": "v"})], metadata={"x": "y"}))
shards = st.builds(
    Shard,
    st.integers(0),
    st.lists(sources, min_size=1, max_size=2).map(tuple),
    st.integers(0),
    st.integers(-1),
    st.booleans(),
    schemas,
    st.integers(0),
    st.none() | rows,
    st.none() | parts,
)
tasks = st.builds(Task, paths, st.integers(1), st.none() | paths, st.integers(0), st.booleans(), st.booleans())
results = st.builds(
    ShardResult,
    *(st.integers(0) for _ in range(6)),
    *(paths for _ in range(5)),
    seconds=st.dictionaries(st.integers(0, 99), st.floats(0, 1e6)),
)


@examples(max_examples=share_of(100))
@given(shards, tasks, results)
def test_shards_tasks_and_results_arrive_as_they_were(shard: Shard, task: Task, result: ShardResult) -> None:
    assert travels(shard) and travels(task) and travels(result)


@pytest.mark.parametrize("name", ["web_sample", "web_dedup"])
def test_programs_arrive_as_they_were(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    library = Library()
    recipe = _recipe(f"recipes/{name}.yaml", library)
    prepared = prepare(recipe, library)
    for planned in prepared.stages:
        assert travels(planned.program)
    assert travels(prepared.shards)


def _recipe(path: str, library: Library) -> Recipe:
    from refinery.recipe import load

    return load(path, library=library)


def test_a_file_of_the_library_is_named_by_its_place_in_it() -> None:
    found = next(f for f in Library().functions() if f.path.suffix == ".py")
    text = serialization.to_json(found)
    assert str(shipped()) not in text and "udfs/" in text
    own = Function("f", ("VARCHAR",), (), "VARCHAR", "python", "call", Path("/some/where/mappers/f_mapper.py"))
    assert (
        "/some/where/mappers/f_mapper.py" in serialization.to_json(own)
        and serialization.from_json(serialization.to_json(own)) == own
    )


def test_numbers_of_numpy_arrive_as_pythons() -> None:
    sent = {"a": np.int64(3), "b": np.float32(0.5), "c": np.float64("nan")}
    found = serialization.from_json(serialization.to_json(sent))
    assert same(found, {"a": 3, "b": 0.5, "c": math.nan})


@pytest.mark.parametrize("value", [object(), {1, 2}, CompileContext(), np.array([object()]), lambda: 1, Sequence])
def test_nothing_else_is_sent(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be sent"):
        serialization.to_json([value])


@pytest.mark.parametrize(
    "plain",
    [
        {"@": "Recipe", "of": {}},
        {"@": "Task", "of": {"nothing": 1}},
        {"@": "Task"},
        {"@": "array", "dtype": "|O", "shape": [1], "of": "AAAAAAAAAAA="},
        {"@": "array", "dtype": "<i8", "shape": [3], "of": "AAAAAAAAAAA="},
        {"@": "schema", "of": "AAAA"},
        {"@": "bytes", "of": "?"},
    ],
)
def test_what_is_none_of_ours_is_refused(plain: Any) -> None:
    with pytest.raises(ValueError):
        serialization.from_json(json.dumps(plain))


def test_tables_go_as_text_or_by_a_file(tmp_path: Path) -> None:
    table = pa.table({"text": ["a", None], "n": [[1], [2, 3]]})
    shard = Shard(0, (Source.of_table(table),), 0, 2, False, table.schema)
    found = serialization.from_json(serialization.to_json(shard))
    assert found.source.table.equals(table) and found == shard
    path = tmp_path / "0.arrow"
    text = serialization.to_json(shard, lambda given: serialization.spooled(given, path))
    one, other = serialization.from_json(text).source.table, serialization.from_json(text).source.table
    assert one.equals(table) and other is one and path.exists()
