"""A field, a column or a statistic may be named like anything that the compiler makes, and the results are the same."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from refinery.common.fields import field_name, keys_of
from refinery.compiler.model import Schema
from refinery.compiler.program import Program, build
from refinery.execution.open import open_recipe
from refinery.io.batch import Batch
from refinery.workers.worker import Worker

TEXTS = [
    "  a plain   text ",
    "a",
    "another text, which is longer",
    "",
    "a b c d e f g h",
    "Some Spam here",
    "the end of it",
    "twenty-two letters, or",
]
OTHER = ["one two", "x", "three four five", "six", "", "seven", "eight nine ten", "eleven"]
# Mappers and filters, a statistic twice, a feature that two steps share, columns that an operator computes for itself.
STEPS: list[Any] = [
    {"whitespace_normalization_mapper": {}},
    {"text_length_filter": {"min_len": 1}},
    {"sql_mapper": {"text": "replace(text, 'Spam', 'spam')"}},
    {"special_characters_filter": {"max_ratio": 0.9}},
    {"maximum_line_length_filter": {"max_len": 25}},
    {"text_length_filter": {"max_len": 20}},
    {"sql_filter": {"where": "text_len_2 > 0 AND length(text) <> 13"}},
]


def compiled(steps: list[Any], lines: bool, text: str, columns: dict[str, str]) -> Program:
    recipe, library = open_recipe({"process": steps}, need_inputs=False)
    program, _ = build(recipe.steps, library, Schema(lines, columns), keys_of(text))
    return replace(program, folders=(os.getcwd(),))


def results(program: Program, table: pa.Table) -> list[dict[str, Any]]:
    """A worker's result for samples; a single new text has one name."""
    if program.lines:
        lines = [json.dumps(sample, ensure_ascii=False) for sample in table.to_pylist()]
        table = pa.table({"_line": pa.array(lines, pa.string())})
    numbers = np.arange(len(table))
    worker = Worker(program)
    try:
        done, failed = worker.attempt(Batch(program.lines, table, numbers, numbers + 1))
    finally:
        worker.close()
    assert not failed
    if len(program.outs) == 1:
        outs = dict.fromkeys(program.outs.values(), "new text")
        done = done.rename_columns([outs.get(name, name) for name in done.column_names])
    return done.to_pylist()


def in_quotes(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def generated() -> list[str]:
    """Names that the compiler gives, with and without what it puts around the name of a field."""
    found = {
        "batch",
        "_read",
        "_s1",
        "_s3",
        "s",
        "_probe_",
        "_stats",
        "_text",
        "_line",
        "_rest",
        "_suffix",
        "_file",
        "_row",
    }
    found |= {
        "_i",
        "_bad",
        "_kind",
        "_dropped",
        "kept",
        "_file_suffix",
        "_grouping",
        "_tokens",
        "facts",
        "__dj__suffix__",
    }
    for lines in (True, False):
        recipe, library = open_recipe({"process": STEPS}, need_inputs=False)
        for field in ("text", "x"):
            program, chain = build(recipe.steps, library, Schema(lines, {field: "VARCHAR"}), (field,))
            found |= {definition.name for definition in chain.layers.definitions()}
            found |= {*program.read.values(), *program.outs.values(), *program.facts}
    found |= {"_pass_2", "_removed_1", "_mark_key", "_mark_order_0", "_key_1", "_key_suffix", "_chars_2", "_in_text"}
    found |= {re.sub(r"_\d+$", "", name) for name in found}
    found |= {name.removeprefix("_") for name in found}
    return sorted(name for name in found if name and name not in ("content", "id", "text"))


ODD = [
    "Alive",
    "DELTA",
    "a" * 300,
    'with "quotes"',
    "it's",
    "a b",
    "a.b",
    "ü",
    "select",
    "inner",
    "left",
    "current_date",
    "xor",
    "1",
    "text_0",
    "Content",
    "_text_1",
]
# Names of fields that what is made of them could meet: `_{name}_2` is a column of another kind.
STEMS = "delta alive changed pass bytes chars removed out in inner mark key field s i _i row _row batch kept _kind _text_0".split()


EVERY = [*STEMS, *ODD]
# The names of each table in turn: all of them are looked at in `make soak`.
FEW = [(True, EVERY[::6]), (False, EVERY[3::6])]
REST = [(lines, [name for name in EVERY if name not in few]) for lines, few in FEW]


@pytest.mark.parametrize(
    ("lines", "names"),
    [*FEW, *(pytest.param(*case, marks=pytest.mark.long) for case in REST)],
    ids=["lines", "typed", "lines-others", "typed-others"],
)
def test_the_main_text_can_have_any_name(lines: bool, names: list[str]) -> None:
    def use(name: str) -> list[dict[str, Any]]:
        columns = {name: "VARCHAR", "id": "BIGINT"}
        program = compiled(STEPS, lines, field_name((name,)), columns)
        return results(program, pa.table({name: TEXTS, "id": range(len(TEXTS))}))

    expected = use("plain")
    assert {row["_dropped"] for row in expected} == {None, 2, 5, 6, 7}
    for name in names:
        assert use(name) == expected, name


@pytest.mark.parametrize(
    "lines", [pytest.param(True, id="lines"), pytest.param(False, id="typed", marks=pytest.mark.long)]
)
def test_fields_of_all_generated_names_at_once(lines: bool) -> None:
    """Every name as a step's `text_key` and in a person's SQL, all in one recipe."""
    names = [name for name in dict.fromkeys([*generated(), *ODD]) if name not in ("_row", "Content")]
    assert len(names) > 100 and {"delta", "alive", "changed", "pass", "_i", "_alive_2", "batch"} <= {*names}
    steps: list[Any] = []
    for name in names[::2]:
        own = {"text_key": field_name((name,))}
        steps.append({"sql_mapper": {"text": f"upper({in_quotes(name)}) || text || content", **own}})
    for name in names[1::2]:
        steps.append({"sql_filter": {"where": f"{in_quotes(name)} <> '{name.replace(chr(39), '')} 2'"}})
    steps.append({"sql_filter": {"where": "content <> 'x'"}})
    program = compiled(steps, lines, "content", dict.fromkeys([*names, "content"], "VARCHAR"))
    values = {name: [f"{name.replace(chr(39), '')} {row}" for row in range(2)] for name in names}
    found = results(program, pa.table({"content": ["one", "two"], **values}))
    assert [row["_dropped"] for row in found] == [None, None]
    for keys, column in program.outs.items():
        for row in range(2):
            value = values[keys[0]][row]
            assert found[row][column] == sql_upper(value) + value + ["one", "two"][row], keys


def sql_upper(text: str) -> str:
    return str(duckdb.execute("SELECT upper(?)", [text]).fetchall()[0][0])


def test_columns_that_differ_in_letter_case_are_two() -> None:
    steps = [
        {"sql_mapper": {"text": "\"Text\" || 'x' || text", "text_key": "Text"}},
        {"sql_filter": {"where": '"Text" <> text'}},
    ]
    program = compiled(steps, False, "text", {"text": "VARCHAR", "Text": "VARCHAR"})
    done = results(program, pa.Table.from_arrays([pa.array(["a", "b"]), pa.array(["A", "B"])], names=["text", "Text"]))
    assert [row["new text"] for row in done] == ["Axa", "Bxb"]
