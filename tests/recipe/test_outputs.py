"""Keys of a recipe that say what is written: their forms, and messages for wrong ones."""

from __future__ import annotations

from typing import Any

import pytest

from refinery.errors import RecipeError
from refinery.recipe import Recipe, dump, loads
from refinery.recipe import load as load_recipe
from refinery.recipe.override import parse_overrides
from tests.recipe.fake_library import COMPLETE, Library, operator

LIBRARY = Library({**COMPLETE.operators, "empty_text_filter": operator("empty_text_filter")})


def read(**keys: Any) -> Recipe:
    recipe = {"dataset_path": "in.jsonl", "process": [{"text_length_filter": {"min_len": 1}}]}
    return load_recipe(recipe | keys, library=LIBRARY)


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        (["id", "text"], (("id", "id"), ("text", "text"))),
        ("text", (("text", "text"),)),
        (["meta.url", '"a.b"'], (("meta.url", "url"), ('"a.b"', "a.b"))),
        (["-meta", "-x.y"], (("*", "*"), ("meta", None), ("x.y", None))),
        (["*", "-meta"], (("*", "*"), ("meta", None))),
        ({"text": "content", "id": True}, (("text", "content"), ("id", "id"))),
        ({"text": "content", "meta": None, "*": True}, (("text", "content"), ("meta", None), ("*", "*"))),
        (None, ()),
    ],
)
def test_forms_of_exported_fields(given: Any, fields: Any) -> None:
    recipe = read(export_fields=given)
    assert recipe.export_fields == fields
    assert load_recipe_text(dump(recipe)).export_fields == fields


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "export_fields is empty"),
        (["a", "a"], "names 'a' twice"),
        (["-a", "b"], "chooses 'b' and leaves out other fields"),
        (["a."], "has an empty part"),
        ({"a": "x", "b": "x"}, "gives 'a' and 'b' the name 'x'"),
        ({"a": True, "b": None}, "leaves out 'b', which is not chosen anyway"),
        ({"*": "x"}, "'*' must be true"),
        ({"a": ["b"]}, "export_fields.a must be a text"),
    ],
)
def test_wrong_exported_fields_are_refused(given: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message.replace("*", r"\*").replace("(", r"\(")):
        read(export_fields=given)


@pytest.mark.parametrize(
    ("given", "by"),
    [
        ("language", (("language", "language"),)),
        (["language", "meta.site"], (("language", "language"), ("site", "meta.site"))),
        ({"decade": "year // 10"}, (("decade", "year // 10"),)),
        (None, ()),
    ],
)
def test_forms_of_partitions(given: Any, by: Any) -> None:
    recipe = read(partition_by=given)
    assert recipe.partition_by == by and recipe.export.is_folder == bool(by)
    assert load_recipe_text(dump(recipe)).partition_by == by


@pytest.mark.parametrize(
    ("given", "message"),
    [("year // 10", "needs a name"), ("", "empty expression"), ({"a": ""}, "empty expression")],
)
def test_wrong_partitions_are_refused(given: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        read(partition_by=given)


def test_an_option_may_list_fields() -> None:
    recipe = {"dataset_path": "in.jsonl", "process": ["text_length_filter"]}
    options = parse_overrides(["--export_fields", "id, text", "--partition_by", "substr(id, 1, 2)"])
    with pytest.raises(RecipeError, match="needs a name"):
        load_recipe(recipe, options, library=LIBRARY)
    options = parse_overrides(["--export_fields", "id, text", "--partition_by", "{p: 'substr(id, 1, 2)'}"])
    found = load_recipe(recipe, options, library=LIBRARY)
    assert found.export_fields == (("id", "id"), ("text", "text")) and found.partition_by == (
        ("p", "substr(id, 1, 2)"),
    )


@pytest.mark.parametrize(
    ("keys", "kind", "by", "is_file"),
    [
        ({"removed_path": "out/removed"}, "jsonl", ("step",), False),
        ({"removed_path": "out/removed", "export_path": "out/kept.parquet"}, "parquet", ("step",), False),
        ({"removed_path": "out/removed.jsonl.gz", "export_path": "out/kept.parquet"}, "jsonl.gz", (), True),
        (
            {"removed_path": "out/removed", "removed_partition_by": ["reason", "lang"]},
            "jsonl",
            ("reason", "lang"),
            False,
        ),
        ({"removed_path": "out/removed", "removed_partition_by": []}, "jsonl", (), False),
    ],
)
def test_form_of_removed_samples(keys: dict[str, Any], kind: str, by: tuple[str, ...], is_file: bool) -> None:
    removed = read(**keys).removed
    assert removed is not None and (removed.kind, removed.by, removed.is_file) == (kind, by, is_file)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"removed_partition_by": "step"}, "no effect without removed_path"),
        ({"removed_path": "a.jsonl", "export_path": "a.jsonl"}, "are one place"),
        ({"removed_path": "a.xyz"}, "which is no format"),
        ({"removed_path": ""}, "removed_path is empty"),
        ({"partition_by": "a", "export_path": "-"}, "standard output has no folders"),
    ],
)
def test_wrong_places_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        read(**keys)


def test_empty_texts_are_removed_by_a_last_step() -> None:
    recipe = read(drop_empty=True)
    assert [step.name for step in recipe.steps] == ["text_length_filter", "empty_text_filter"]
    assert [step.name for step in load_recipe_text(dump(recipe)).steps] == ["text_length_filter", "empty_text_filter"]


def load_recipe_text(text: str) -> Recipe:
    return loads(text, library=LIBRARY)
