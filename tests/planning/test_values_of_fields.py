"""Values of JSON fields in a recipe's SQL, against plain Python over the values.

A row may be refused or go into quarantine, but no other answer than Python's is given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from refinery.common.lazy import duckdb
from refinery.compiler.model import CompileContext, Schema
from refinery.compiler.program import Program, build
from refinery.errors import RecipeError
from refinery.execution.open import open_recipe
from refinery.io.batch import Batch
from refinery.io.field_scan import FieldScan
from refinery.kernels.core.arrow import of_texts, texts
from refinery.planning.input_schema import schema_of_fields
from refinery.recipe.stat_summary import StatSummary
from refinery.workers.worker import Worker
from tests.examples import ALL, share_of

LARGE = 2**53
SCALARS = st.sampled_from(
    [
        "0", "1", "-1", "0.5", "0.4", "1.0", "1e0", "-0.0", f"{LARGE}", f"{LARGE + 1}", f"{2**63}", f"{2**64 + 1}",
        "123456789012345678901234567890123456789012", "1e30", "null", '"x"', '"y"', '"\\u0078"', '""',
    ]
)  # fmt: skip
VALUES = st.one_of(SCALARS, SCALARS, st.just(""), st.lists(SCALARS, max_size=2).map(lambda v: f"[{', '.join(v)}]"))
LITERALS = ["0", "1", "0.5", f"{LARGE}", f"{LARGE + 1}", "'x'", f"{2**64 + 1}", "-1"]
LISTS = st.lists(VALUES, min_size=1, max_size=5)
MISSING = object()


def line(value: str, nested: bool) -> str:
    """A sample with the value, or without one."""
    if not value:
        return '{"text": "a"}'
    return f'{{"text": "a", "v": {value}}}' if not nested else f'{{"text": "a", "m": {{"b": null, "v": {value}}}}}'


def schema_of(lines: Sequence[str]) -> Schema:
    scan = FieldScan({"v", "m"})
    scan.see(texts(of_texts(lines)))
    found = schema_of_fields(scan.profile())
    # A field that no sample has is refused as misspelt, which is not what is tested here.
    nothing = dict.fromkeys(("v", "m"), '"NULL"')
    missing = {name: kind for name, kind in nothing.items() if name not in found.columns}
    return replace(found, columns={**found.columns, **missing}, structures={**found.structures, **missing})


def program_of(lines: Sequence[str], step: dict[str, Any], group: str = "") -> Program:
    recipe, library = open_recipe({"process": [step]}, need_inputs=False)
    (only,) = recipe.steps
    summary = StatSummary(group_by=(("group", group),)) if group else None
    after = only if library.operators[only.name].kind == "deduplicator" else None
    around = CompileContext(after=after, summary=summary)
    return build([] if after else [only], library, schema_of(lines), ("text",), around=around)[0]


def rows_of(program: Program, lines: Sequence[str]) -> dict[int, dict[str, Any]]:
    """Rows that have an answer, by their numbers."""
    numbers = np.arange(len(lines))
    worker = Worker(program)
    try:
        done, _ = worker.attempt(Batch(True, pa.table({"_line": of_texts(lines)}), numbers, numbers + 1))
    finally:
        worker.close()
    return {row["_i"]: row for row in done.to_pylist()}


def answers(values: Sequence[str], step: dict[str, Any], nested: bool = False) -> dict[int, dict[str, Any]]:
    lines = [line(value, nested) for value in values]
    with suppress(RecipeError, duckdb.Error, ValueError):
        return rows_of(program_of(lines, step), lines)
    return {}


def python(value: str) -> Any:
    found = json.loads(value or "null")
    return MISSING if found is None else found


def alike(a: Any, b: Any) -> bool:
    """Equality of two values of JSON."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    return bool(isinstance(a, str) == isinstance(b, str) and a == b)


def literal(sql: str) -> Any:
    return json.loads(sql.replace("'", '"'))


# Conditions on a field and a literal, with their answer for a value that is there and equal, there and another, or missing.
CONDITIONS = {
    "{0} = {1}": (True, False, False),
    "{0} IN ({1}, 7)": (True, False, False),
    "{0} IS NULL": (False, False, True),
    "{0} <> {1}": (False, True, False),
    "coalesce({0}, 3) = {1}": (True, False, False),
}


@settings(max_examples=2000 if ALL else 40, deadline=None)
@given(LISTS, st.sampled_from([*CONDITIONS]), st.sampled_from(LITERALS), st.booleans())
def test_equality_is_that_of_values(values: list[str], condition: str, sql: str, nested: bool) -> None:
    equal, other, missing = CONDITIONS[condition]
    where = condition.format("m.v" if nested else "v", sql)
    rows = answers(values, {"sql_filter": {"where": where}}, nested)
    kept = {at: row["_dropped"] is None for at, row in rows.items()}
    right = {
        at: missing if value is MISSING else equal if alike(value, literal(sql)) else other
        for at, value in ((at, python(values[at])) for at in rows)
    }
    assert kept == right, (where, values)


@settings(max_examples=share_of(400, 20), deadline=None)
@given(LISTS, st.sampled_from([sql for sql in LITERALS if sql != "'x'"]))
@example(["0.5", "9007199254740992"], "9007199254740993")
def test_order_is_that_of_numbers(values: list[str], sql: str) -> None:
    rows = answers(values, {"sql_filter": {"where": f"v < {sql}"}})
    for at, row in rows.items():
        value = python(values[at])
        if not isinstance(value, (str, list)):
            assert (row["_dropped"] is None) == (value is not MISSING and value < literal(sql)), values


@settings(max_examples=share_of(400, 20), deadline=None)
@given(LISTS, st.booleans())
def test_keys_are_equal_where_values_are(values: list[str], nested: bool) -> None:
    rows = answers(values, {"key_deduplicator": {"key": "m.v" if nested else "v"}}, nested)
    assert len(rows) == len(values)
    for at, row in rows.items():
        assert (row["_mark_key"] is None) == (python(values[at]) is MISSING), values
        for other in range(at):
            same = row["_mark_key"] is not None and row["_mark_key"] == rows[other]["_mark_key"]
            a, b = python(values[at]), python(values[other])
            assert same == (a is not MISSING and b is not MISSING and alike(a, b)), values


@settings(max_examples=share_of(200, 20), deadline=None)
@given(LISTS, st.randoms())
def test_groups_and_their_rows_do_not_depend_on_the_order_of_lines(values: list[str], chance: Any) -> None:
    """A group is named by its text: without quotes, and empty for null."""
    order = list(range(len(values)))
    chance.shuffle(order)
    found = []
    for numbers in (range(len(values)), order):
        lines = [line(values[at], False) for at in numbers]
        rows = rows_of(program_of(lines, {"words_num_filter": {}}, "v"), lines)
        found.append({at: rows[place]["_key_1"] for place, at in enumerate(numbers)})
    assert found[0] == found[1]
    for at, key in found[0].items():
        value = python(values[at])
        assert (key == "") == (value is MISSING or value == ""), values
        assert not isinstance(value, str) or key == value


def test_values_that_have_no_order_cost_their_row() -> None:
    rows = answers(["1", '"x"', "null", "0.5"], {"sql_filter": {"where": "v < 1"}})
    assert {at: row["_dropped"] is None for at, row in rows.items()} == {0: False, 2: False, 3: True}


def test_whole_numbers_beside_fractions_have_no_point_as_texts() -> None:
    rows = answers([f"{LARGE + 1}", "0.5"], {"sql_filter": {"where": f"v::VARCHAR IN ('{LARGE + 1}', '0.5')"}})
    assert [row["_dropped"] for row in rows.values()] == [None, None]


ELEMENTS = [
    "list_extract(v, 1) = {}",
    "v[1] IN ({}, 7)",
    "len(list_filter(v, lambda x: x = {})) > 0",
    "len([x for x in v if x = {}]) > 0",
    "len(list_filter([v], lambda y: len(list_filter(y, lambda x: x = {})) > 0)) > 0",
    "list_has_any(v, [{}])",
    "v = [{}]",
    "MAP {{'a': v[1]}}['a'] = {}",
    "(v[1], 1) = ({}, 1)",
    "struct_extract({{'a': v[1]}}, 'a') = {}",
    "{{'a': v[1]}} = {{'a': {}}}",
    "(SELECT v[1]) = {}",
]


@pytest.mark.parametrize("sql", ELEMENTS)
def test_elements_of_several_types_are_compared_by_value_wherever_they_stand(sql: str) -> None:
    """DuckDB would take the element 0.4 for the integer 0, and a text for JSON that is not well-formed."""
    values = ["[0.4]", '["x"]', "[0]"]
    for written, right in (("0", 2), ("0.0", 2), ("'x'", 1)):
        rows = answers(values, {"sql_filter": {"where": sql.format(written)}})
        assert [at for at, row in rows.items() if row["_dropped"] is None] == [right], written
        assert len(rows) == len(values)


@pytest.mark.parametrize("where", ["list_sort(v)[1] = 9", "list_max(v) = 1", "v < [1]"])
def test_an_order_of_elements_of_several_types_is_refused(where: str) -> None:
    with pytest.raises(RecipeError, match="several types"):
        program_of([line(value, False) for value in ("[10, 9]", '["x"]')], {"sql_filter": {"where": where}})


@pytest.mark.parametrize("sql", ["v::VARCHAR", "concat(v, '')", "(v)::VARCHAR::VARCHAR", "coalesce(v, 1)::VARCHAR"])
def test_texts_of_exact_numbers_keep_the_zeros_of_whole_numbers(sql: str) -> None:
    """10 was written as 1, and 0 as nothing."""
    values = [f"{LARGE + 1}", "0.5", "10", "0", "100.0", "1.50"]
    right = [f"{LARGE + 1}", "0.5", "10", "0", "100", "1.5"]
    rows = answers(values, {"sql_filter": {"where": f"list_position({right}, {sql}) = 1 + _row"}})
    assert [row["_dropped"] for row in rows.values()] == [None] * len(values)


@pytest.mark.parametrize("sql", ["v[1]::VARCHAR", "list_transform(v, lambda x: x::VARCHAR)[1]"])
def test_texts_of_elements_are_those_of_their_numbers(sql: str) -> None:
    rows = answers([f"[{LARGE + 1}]", "[0.5]", "[10]"], {"sql_filter": {"where": f"{sql} = '10'"}})
    assert [row["_dropped"] for row in rows.values()] == [1, 1, None]


@pytest.mark.parametrize("values", [("[9]", '["x"]', "[10]"), ('{"a": 9}', '{"a": "x"}', '{"a": 10}')])
def test_no_sample_is_kept_for_the_order_of_values_of_several_types(values: Sequence[str]) -> None:
    """The order of their texts puts 9 behind 10."""
    with pytest.raises(RecipeError, match="several types"):
        program_of([line(value, False) for value in values], {"key_deduplicator": {"key": "1", "keep": "v desc"}})
