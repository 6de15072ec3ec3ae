"""Whatever stands in a recipe, an option or a value: a `Recipe` or a `RecipeError`, never anything else, and soon."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from refinery.errors import RecipeError
from refinery.recipe import Recipe, dump, load, loads, parse_overrides
from refinery.recipe.template import Template, TemplateValues, Variable, escape
from refinery.recipe.tree import Problems, SourcePlace
from tests.examples import share_of
from tests.recipe.fake_library import COMPLETE

LIMITS = settings(max_examples=share_of(250), suppress_health_check=[HealthCheck.too_slow])

PIECES = st.sampled_from(
    [
        "dataset_path: ", "process:", "process: ", "- ", "\n", "\n  ", "\n    ", "\n      ", "  - ", "np: ", "vars: ",
        "text_length_filter", "words_num_filter:", "replace_content_mapper: ", "min_len: ", "pattern: ", "extra: ",
        "trace_num: ", "dataset: ", "configs: ", "path: ", "weight: ", "a.jsonl", "2e5", "1.5", "no", "null", "~",
        ".nan", "010", "[", "]", "{", "}", ", ", ": ", "'", '"', "\\", "\\p", "#", " # ", "|", ">", "&a ", "*a",
        "!!int ", "!x ", "<<: ", "? ", "---", "%", "@", "\t", "${HOME}", "${A:-b}", "${A}", "$${A}", "{{ x }}", "{{x}}",
        "{{ x * 2 }}", "{{ '{{' }}", "{{", "}}", "\u2028", "\x85", "\ufeff", "\ud800", "\U0001f600", "\x00", "\r",
        "9" * 30, "process.1.min_len",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(), st.lists(PIECES, max_size=25).map("".join), st.lists(PIECES | st.text(max_size=3)).map("".join)
)
WHOLE = st.lists(PIECES, max_size=12).map(
    lambda pieces: "dataset_path: a\nprocess:\n  - text_length_filter:\n      min_len: 5\n" + "".join(pieces)
)


def attempt(text: str, **more: Any) -> Recipe | None:
    try:
        return loads(
            text, library=COMPLETE, environ={"HOME": "h"}, variables={"x": "3"} if "{{ x" in text else None, **more
        )
    except RecipeError as error:
        assert error.problems
        assert all(problem.where and problem.what for problem in error.problems)
        return None


@LIMITS
@given(TEXTS | WHOLE)
@example("{" * 500)
@example("- " * 3000)
@example("a: " + "[" * 5000)
@example("a: &a [*a]")
@example("? " * 400)
@example("\ufeff\ufeff")
@example("process: [{text_length_filter: {min_len: !!int x}}]")
@example("np: " + "9" * 5000)
@example("np: !!int ''")
@example("a: 0b")
@example("<<: [1, {<<: x}]")
@example("dataset_path: {{ x")
def test_any_text(text: str) -> None:
    recipe = attempt(text)
    if recipe is not None:
        assert loads(dump(recipe), library=COMPLETE, environ={}) == recipe


@LIMITS
@given(st.lists(st.one_of(TEXTS, PIECES, st.sampled_from(["--set", "--np", "--process", "--process.1", "--dataset"]))))
@example(["--set", "process.1.min_len.x=5"])
@example(["--set", "process.99999999999999999999999.x=5"])
@example(["--process", "[" * 400])
@example(["--process", "{a: &a [*a]}"])
def test_any_options(arguments: list[str]) -> None:
    try:
        overrides = parse_overrides(arguments)
    except RecipeError:
        return
    attempt("dataset_path: a\nprocess: [text_length_filter]\n", overrides=overrides)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | PIECES | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PIECES | st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@LIMITS
@given(
    VALUES,
    st.sampled_from(["np", "process", "dataset", "dataset_path", "vars", "text_keys", "export_path", "work_dir"]),
)
def test_any_dict(value: Any, key: str) -> None:
    for content in ({key: value}, {"dataset_path": "a", "process": [{"replace_content_mapper": {"extra": value}}]}):
        try:
            recipe = load(content, library=COMPLETE, environ={})
        except RecipeError:
            continue
        assert loads(dump(recipe), library=COMPLETE, environ={}) == recipe


@LIMITS
@given(st.text(alphabet="${}A:-x'\" \n\\", max_size=30))
@example("${A} {{ x }} $${A} {{ '{{' }}")
def test_an_escaped_text_comes_back(text: str) -> None:
    template = Template(escape(text), "r")
    values = TemplateValues({"x": Variable("no", False)}, {"A": "no"})
    assert template.fill(template.masked, '"', values, SourcePlace("r", 1), Problems()) == text


ALIASES = "".join(f"{new}: &{new} [{', '.join(['*' + old] * 9)}]\n" for old, new in pairwise("abcdefgh"))


@pytest.mark.parametrize(
    "text",
    [
        f"a: &a [{', '.join('x' * 9)}]\n{ALIASES}",
        "process: " + "[" * 100_000,
        "np: 1e999999999",
        "memory_limit: 1e99TB",
        "x: {{ x * 9999999999 * 9999999999 }}",
        "wibble" * 10_000 + ": 1",
    ],
    ids=["many aliases", "deep", "large exponent", "large size", "large product", "long key"],
)
def test_nothing_runs_away(text: str) -> None:
    started = time.process_time()  # however busy the machine is
    assert attempt(text) is None
    assert time.process_time() - started < 20
