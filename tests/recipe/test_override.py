"""Overrides on the command line: Data-Juicer's way, and `--set` for any place."""

from __future__ import annotations

import os
from typing import Any

import pytest

from refinery.errors import RecipeError
from refinery.recipe import Recipe, loads, overrides_of, parse_overrides, parse_set
from tests.recipe.fake_library import COMPLETE

TEXT = """\
dataset_path: a.jsonl
use_tracer: false
process:
  - clean_email_mapper
  - words_num_filter: {min_num: 5}
  - alphanumeric_filter:
  - alphanumeric_filter: {tokenization: true}
  - replace_content_mapper: {extra: {a: {b: 1}}}
dataset: {configs: [{path: a.jsonl}]}
"""
BOTH = ("clean_email_mapper", "words_num_filter")


def run(*arguments: str) -> Recipe:
    return loads(TEXT, overrides=parse_overrides(arguments), library=COMPLETE)


def failure(*arguments: str) -> str:
    with pytest.raises(RecipeError) as error:
        run(*arguments)
    return str(error.value)


@pytest.mark.parametrize(
    ("arguments", "key", "expected"),
    [
        (["--trace_num", "50"], "trace_num", 50),
        (["--trace-num=all"], "trace_num", "all"),
        (["--trace_num", "50", "--trace_num", "60"], "trace_num", 60),
        (["--open_tracer", "true"], "open_tracer", True),
        (["--open-tracer"], "open_tracer", True),
        (["--open_tracer", "--np", "2"], "open_tracer", True),
        (["--use_tracer", "yes"], "open_tracer", True),
        (["--op_list_to_trace", "clean_email_mapper,words_num_filter"], "op_list_to_trace", BOTH),
        (["--trace_keys", "sample_id,source_file"], "trace_keys", ("sample_id", "source_file")),
        (["--trace_keys", "sample_id"], "trace_keys", ("sample_id",)),
        (["--trace_keys", '["id", "a,b"]'], "trace_keys", ("id", "a,b")),
        (["--trace_keys", "[]"], "trace_keys", ()),
        (["--text_keys", "meta.body"], "text_keys", ("meta.body",)),
        (["--project_name", "no"], "project_name", "no"),
        (["--project_name", "[web] #1"], "project_name", "[web] #1"),
        (["--project_name", "'quoted'"], "project_name", "quoted"),
        (["--export_shard_size", "128MB"], "export_shard_size", 128_000_000),
        (["--cache_compress", "null"], "cache_compress", None),
        (["--export_path", "{work_dir}/x.jsonl", "--work_dir", "w"], "export_path", os.path.abspath("w/x.jsonl")),
        (["--set", "np=3"], "np", 3),
        (["--set=np=3"], "np", 3),
        (["--suffixes", ".md,.txt"], "suffixes", (".md", ".txt")),
    ],
)
def test_keys(arguments: list[str], key: str, expected: Any) -> None:
    recipe = run(*arguments)
    assert getattr(recipe, key) == expected
    assert key in recipe.given


@pytest.mark.parametrize(
    ("argument", "step", "name", "expected"),
    [
        ("process.2.max_num=1e4", 2, "max_num", 10000),
        ("process.words_num_filter.max_num=10000", 2, "max_num", 10000),
        ("process.2.words_num_filter.max-num=10000", 2, "max_num", 10000),
        ("process.2.lang=no", 2, "lang", "no"),
        ("process.2.lang=''", 2, "lang", ""),
        ("process.3.min_ratio=.5", 3, "min_ratio", 0.5),
        ("process.1.text_key=meta.body", 1, "text_key", "meta.body"),
        ("process.5.extra.a.b=2", 5, "extra", {"a": {"b": 2}}),
        ("process.5.extra.c.d=x", 5, "extra", {"a": {"b": 1}, "c": {"d": "x"}}),
        ("process.5.extra.a.zh-cn=2", 5, "extra", {"a": {"b": 1, "zh-cn": 2}}),
        ("process.5.extra=[1, {a: b}]", 5, "extra", (1, {"a": "b"})),
        ("process.5.pattern=[a-z]+", 5, "pattern", "[a-z]+"),
        ("process.5.pattern=[a-z]", 5, "pattern", "[a-z]"),
        ("process.5.repl=a,b", 5, "repl", "a,b"),
        ("process.5.flags=1,2", 5, "flags", (1, 2)),
    ],
)
def test_steps(argument: str, step: int, name: str, expected: Any) -> None:
    recipe = run("--set", argument)
    assert recipe.steps[step - 1].params[name] == expected
    assert name in recipe.steps[step - 1].given
    assert [s.name for s in recipe.steps] == [s.name for s in run().steps]


def test_an_operators_option_changes_all_its_steps() -> None:
    recipe = run("--alphanumeric_filter.max_ratio", "0.9", "--words-num-filter.min_num=7")
    assert [step.params["max_ratio"] for step in recipe.steps[2:4]] == [0.9, 0.9]
    assert recipe.steps[1].params["min_num"] == 7


def test_whole_parts_can_be_replaced() -> None:
    assert [s.name for s in run("--process", '[{"clean_links_mapper": {}}, "clean_email_mapper"]').steps] == [
        "clean_links_mapper",
        "clean_email_mapper",
    ]
    recipe = run("--set", "dataset_path=", "--set", "dataset.configs.1.weight=2", "--set", "dataset.max_sample_num=9")
    assert (recipe.inputs[0].weight, recipe.max_sample_num) == (2.0, 9)
    assert [s.path for s in run("--dataset_path", "0.5 b.jsonl 2 c.jsonl").inputs] == [
        os.path.abspath("b.jsonl"),
        os.path.abspath("c.jsonl"),
    ]
    assert [s.path for s in run("--dataset_path", '["b c.jsonl"]').inputs] == [os.path.abspath("b c.jsonl")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--trace_nun", "5"], "--trace_nun: there is no such option or key of a recipe. Did you mean 'trace_num'?"),
        (["--trace_num", "some"], "--trace_num: trace_num must be a whole number or 'all', not 'some'"),
        (["--trace_num"], "--trace_num: trace_num must be a whole number or 'all', not true"),
        (["--trace_keys", "id", "url"], "unexpected argument 'url'. For a list write --trace_keys a,b."),
        (["words"], "unexpected argument 'words'. Options start with --."),
        (["--set", "np"], "--set: 'np' is not path=value. Write --set process.3.max_num=500."),
        (["--set", "nq=3"], "--set nq: there is no key 'nq'"),
        (["--set", "proces.1.a=3"], "--set proces.1.a: there is no key 'proces'. Did you mean 'process'?"),
        (["--set", "process.9.a=3"], "--set process.9.a: there is no step 9: process has 5"),
        (["--set", "process.0.a=3"], "--set process.0.a: there is no step 0: process has 5"),
        (
            ["--set", "process.alphanumeric_filter.max_ratio=3"],
            "--set process.alphanumeric_filter.max_ratio: alphanumeric_filter occurs 2 times, as steps 3 and 4. "
            "Name the step by its number.",
        ),
        (
            ["--set", "process.words_nun_filter.max_num=3"],
            "--set process.words_nun_filter.max_num: the recipe has no step 'words_nun_filter'. "
            "Did you mean 'words_num_filter'?",
        ),
        (
            ["--set", "process.2.max_nun=3"],
            "--set process.2.max_nun: words_num_filter has no parameter 'max_nun'. Did you mean 'max_num'?",
        ),
        (
            ["--set", "process.2=3"],
            "--set process.2: step 2 is not one value. Name a parameter: process.2.max_num=500.",
        ),
        (["--set", "np.x=3"], "--set np.x: np must be a whole number, not a mapping"),
        (["--set", "use_tracer.x=3"], "--set use_tracer.x: there is nothing below it named 'x'"),
        (
            ["--set", "dataset.configs.7.path=b"],
            "--set dataset.configs.7.path: '7' is not one of the 1 items of a list. Count from 1.",
        ),
        (
            ["--words_nun_filter.max_num", "3"],
            "--words_nun_filter.max_num: the recipe has no step 'words_nun_filter'. Did you mean 'words_num_filter'?",
        ),
        (
            ["--words_num_filter.max_num", "x"],
            "--words_num_filter.max_num: words_num_filter.max_num must be a whole number, not 'x'",
        ),
    ],
)
def test_messages_name_the_option(arguments: list[str], expected: str) -> None:
    assert failure(*arguments) == expected


def test_all_wrong_arguments_are_told_at_once() -> None:
    assert len(failure("--trace_nun", "5", "x", "--set", "y").splitlines()) == 3


def test_python_overrides_are_values() -> None:
    overrides = overrides_of({"trace_num": 5, "trace_keys": ["a,b"], "project_name": "a,b", "process.2.max_num": 9})
    recipe = loads(TEXT, overrides=overrides, library=COMPLETE)
    assert (recipe.trace_num, recipe.trace_keys, recipe.project_name) == (5, ("a,b",), "a,b")
    assert recipe.steps[1].params["max_num"] == 9
    with pytest.raises(RecipeError, match=r"^trace_keys: trace_keys must be a list"):
        loads(TEXT, overrides=overrides_of({"trace_keys": "a,b"}), library=COMPLETE)


def test_parse_set_takes_the_first_equals_sign() -> None:
    override = parse_set("process.1.where=a = 'b'")
    assert (override.path, override.value) == (("process", "1", "where"), "a = 'b'")


def test_an_option_for_a_list_is_given_once() -> None:
    with pytest.raises(RecipeError, match=r"--assets: is given twice. For a list write --assets a,b\."):
        parse_overrides(["--assets", "one", "--assets", "two"])
    assert len(parse_overrides(["--np", "1", "--np", "2"])) == 2
