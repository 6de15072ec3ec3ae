"""Names of steps: where they stand, what is refused and where, and how options find a step by its name."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from refinery.errors import RecipeError
from refinery.operators import Library
from refinery.recipe import Recipe, dump, load, loads, parse_overrides
from refinery.recipe.schema import recipe_schema
from refinery.recipe.step_items import NAME
from tests.recipe.fake_library import COMPLETE, Param, operator
from tests.recipe.fake_library import Library as FakeLibrary

NAMED = """\
dataset_path: a.jsonl
process:
  - clean_email_mapper:
  - words_num_filter: {min_num: 10}
    name: short ones out
  - name: " v1.5 – länge "
    text_length_filter:
  - words_num_filter: {max_num: 900}
    name: too-long
"""


def names(recipe: Recipe) -> list[tuple[str, str | None]]:
    return [(step.name, step.title) for step in recipe.steps]


def test_a_name_stands_beside_the_operator() -> None:
    recipe = loads(NAMED, library=COMPLETE)
    assert names(recipe) == [
        ("clean_email_mapper", None),
        ("words_num_filter", "short ones out"),
        ("text_length_filter", "v1.5 – länge"),
        ("words_num_filter", "too-long"),
    ]
    assert [step.label for step in recipe.steps][:2] == ["clean_email_mapper", "words_num_filter: short ones out"]
    assert recipe.steps[1].params["min_num"] == 10 and "name" not in recipe.steps[1].params


def test_a_recipe_does_the_same_with_names_and_without() -> None:
    plain = "".join(line for line in NAMED.splitlines(True) if not line.strip().startswith("name:"))
    plain = plain.replace('  - name: " v1.5 – länge "\n    text', "  - text")
    assert NAME not in plain and loads(plain, library=COMPLETE) == loads(NAMED, library=COMPLETE)


@pytest.mark.parametrize("name", ["no", "1.5", "a: b", "# {{ x", "[red]", "'", "2024-01-01", "1 2", "short ones out"])
def test_names_survive_being_dumped(name: str) -> None:
    process = [{"words_num_filter": None, "name": name}, "clean_email_mapper"]
    recipe = load({"dataset_path": "a.jsonl", "process": process}, library=COMPLETE)
    assert recipe.steps[0].title == name
    assert names(loads(dump(recipe), library=COMPLETE)) == names(recipe)


def test_a_named_step_needs_no_list() -> None:
    recipe = load(
        {"dataset_path": "a", "process": {"clean_email_mapper": None, "name": "no addresses"}}, library=COMPLETE
    )
    assert names(recipe) == [("clean_email_mapper", "no addresses")]


def test_a_variable_may_be_in_a_name() -> None:
    text = "dataset_path: a\nprocess:\n  - clean_email_mapper:\n    name: addresses in {{ lang }}\n"
    assert loads(text, variables={"lang": "de"}, library=COMPLETE).steps[0].title == "addresses in de"


WRONG = [
    ("name:", "is empty"),
    ("name: ''", "is empty"),
    ('name: "  \\u00a0"', "is empty"),
    ("name: 5", "must be a text, not 5. Put it in quotes"),
    ("name: 1.5", "must be a text, not 1.5"),
    ("name: yes", "must be a text, not yes"),
    ("name: [a]", "must be a text, not a list"),
    ("name: {a: b}", "must be a text, not a mapping"),
    ("name: '5'", "is a number, 5"),
    ('name: "a\\0b"', "holds U+0000"),
    ('name: "a\\nb"', "holds U+000A"),
    ('name: "a\\u2028b"', "holds U+2028"),
    ('name: "a\\u0085b"', "holds U+0085"),
    ('name: "a\\e[2Jb"', "holds U+001B"),
    ('name: "a\\ud800b"', "holds an unpaired surrogate"),
    ("name: clean_email_mapper", "which is the operator of step 2"),
    ("name: clean-email-mapper", "which is the operator of step 2"),
    ("name: other", "is also the name of step 1 (recipe.yaml:4)"),
]


@pytest.mark.parametrize(("line", "said"), WRONG)
def test_what_is_no_name_is_reported_with_its_line(line: str, said: str) -> None:
    text = f"""\
dataset_path: a
process:
  - alphanumeric_filter:
    name: other
  - clean_email_mapper:
  - words_num_filter:
    {line}
"""
    with pytest.raises(RecipeError) as error:
        loads(text, library=COMPLETE)
    [problem] = error.value.problems
    assert problem.where == "recipe.yaml:7" and said in str(problem)


def test_names_that_differ_in_a_dash_are_repeated() -> None:
    process = [{"clean_email_mapper": None, "name": "a-b"}, {"clean_links_mapper": None, "name": "a_b"}]
    with pytest.raises(RecipeError, match=r"process\.2\.name: 'a_b' is also the name of step 1"):
        load({"dataset_path": "a", "process": process}, library=COMPLETE)


@pytest.mark.parametrize("name", ["\ud800", 3, True, ["a"], {"a": 1}, None])
def test_names_from_python(name: Any) -> None:
    process = [{"clean_email_mapper": None, "name": name}]
    with pytest.raises(RecipeError) as error:
        load({"dataset_path": "a", "process": process}, library=COMPLETE)
    [problem] = error.value.problems
    assert problem.where == "process.1.name"


def test_the_name_of_the_own_operator_is_no_problem() -> None:
    process = [{"clean_email_mapper": None, "name": "clean_email_mapper"}]
    recipe = load({"dataset_path": "a", "process": process}, library=COMPLETE)
    assert recipe.steps[0].label == "clean_email_mapper"
    with pytest.raises(RecipeError, match="which is the operator of step 2"):
        load({"dataset_path": "a", "process": [*process, "clean_email_mapper"]}, library=COMPLETE)


def test_a_name_alone_or_below_is_told_its_place() -> None:
    text = "dataset_path: a\nprocess:\n  - name: lonely\n  - words_num_filter: {name: below}\n"
    with pytest.raises(RecipeError) as error:
        loads(text, library=COMPLETE)
    first, second = error.value.problems
    assert str(first).startswith("recipe.yaml:3: an item of process has a name, but no operator")
    assert str(second).startswith("recipe.yaml:4: ") and "stands beside words_num_filter, not below it" in str(second)


def test_an_operators_own_parameter_name_stands_below_it() -> None:
    """Beside the operator it is the step's name; a note says so to those who meant the parameter."""
    library = FakeLibrary({"my_mapper": operator("my_mapper", Param("name", "str", "x"))})
    text = "dataset_path: a\nprocess:\n  - my_mapper: {{name: below}}\n  - my_mapper:{}\n    name: beside\n"
    recipe = loads(text.format(" {name: both}"), library=library)
    assert [(step.title, step.params["name"]) for step in recipe.steps] == [(None, "below"), ("beside", "both")]
    assert not recipe.ignored
    recipe = loads(text.format(""), library=library, overrides=parse_overrides(["--set", "process.1.name=set"]))
    assert [(step.title, step.params["name"]) for step in recipe.steps] == [(None, "set"), ("beside", "x")]
    [note] = recipe.ignored
    assert note.where == "recipe.yaml:5" and "the parameter name of my_mapper stands below my_mapper" in note.text


@pytest.mark.parametrize(
    ("path", "step", "name", "value"),
    [
        ("process.short ones out.min_num=3", 2, "min_num", 3),
        ("process.short ones out.words_num_filter.min_num=3", 2, "min_num", 3),
        ("process.too-long.max_num=3", 4, "max_num", 3),
        ("process.too_long.max_num=3", 4, "max_num", 3),
        ("process.v1.5 – länge.min_len=3", 3, "min_len", 3),
        ("process.2.min_num=3", 2, "min_num", 3),
        ("process.text_length_filter.min_len=3", 3, "min_len", 3),
    ],
)
def test_options_find_a_step_by_its_name(path: str, step: int, name: str, value: int) -> None:
    recipe = loads(NAMED, overrides=parse_overrides(["--set", path]), library=COMPLETE)
    assert recipe.steps[step - 1].params[name] == value
    assert names(recipe) == names(loads(NAMED, library=COMPLETE))


def test_an_option_of_an_operator_finds_a_step_by_its_name() -> None:
    recipe = loads(NAMED, overrides=parse_overrides(["--too-long.max_num", "3"]), library=COMPLETE)
    assert [step.params.get("max_num") for step in recipe.steps if step.title == "too-long"] == [3]


def test_options_name_what_they_do_not_find() -> None:
    for path, said in (
        ("process.short one out.min_num=3", "the recipe has no step 'short one out'. Did you mean 'short ones out'?"),
        ("process.words_num_filter.min_num=3", "words_num_filter occurs 2 times, as steps 2 and 4"),
        ("process.2.name=other", "words_num_filter has no parameter 'name'"),
    ):
        with pytest.raises(RecipeError) as error:
            loads(NAMED, overrides=parse_overrides(["--set", path]), library=COMPLETE)
        assert said in str(error.value)


VALIDATOR = Draft202012Validator(recipe_schema(Library()))


@pytest.mark.parametrize(
    ("item", "valid"),
    [
        ({"words_num_filter": None, "name": "a"}, True),
        ({"words_num_filter": {"min_num": 3}, "name": "{{ x }}"}, True),
        ({"words_num_filter": None, "name": "1 2"}, True),
        ({"words_num_filter": None, "name": {"{ x": None}}, True),
        ({"words_num_filter": None, "name": "12"}, False),
        ({"words_num_filter": None, "name": " "}, False),
        ({"words_num_filter": None, "name": 12}, False),
        ({"words_num_filter": None, "name": None}, False),
        ({"name": "a"}, False),
        ({"words_num_filter": None, "clean_email_mapper": None}, False),
        ({"words_num_filter": None, "clean_email_mapper": None, "name": "a"}, False),
        ({"words_num_filter": {"name": "a"}}, False),
    ],
)
def test_the_schema_knows_names(item: dict[str, Any], valid: bool) -> None:
    assert VALIDATOR.is_valid({"process": [item]}) is valid
