"""Folders of operators are beside the recipe that names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from refinery.errors import RecipeError
from refinery.execution.open import open_recipe

FILE = "/*---\ndoc: {doc}\nversion: 1\n---*/\nSELECT upper({{{{ text }}}}) AS text\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder `here`, the current one, beside a folder `recipes` with a recipe."""
    for name in ("here", "recipes"):
        (tmp_path / name).mkdir()
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    recipe = f"dataset_path: {tmp_path}/in.jsonl\nexport_path: {tmp_path}/out/k.jsonl\noperators: [ops]\nprocess: [own_mapper]\n"
    (tmp_path / "recipes" / "r.yaml").write_text(recipe)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def put(folder: Path) -> Path:
    (folder / "mappers").mkdir(parents=True)
    (folder / "mappers" / "own_mapper.sql").write_text(FILE.format(doc=folder.parent.name))
    return folder


def test_a_folder_is_looked_for_beside_the_recipe(place: Path) -> None:
    put(place / "recipes" / "ops")
    recipe, library = open_recipe("../recipes/r.yaml")
    assert recipe.operators == (str(place / "recipes" / "ops"),) and not recipe.ignored
    assert library.operators["own_mapper"].doc == "recipes"


def test_one_below_the_current_folder_is_taken_with_a_note(place: Path) -> None:
    put(place / "here" / "ops")
    recipe, library = open_recipe("../recipes/r.yaml")
    assert library.operators["own_mapper"].doc == "here"
    assert [note.text for note in recipe.ignored] == [
        "operators: ops is taken from the current folder, as it is not beside the recipe. Write its path from the recipe"
    ]


def test_two_are_refused(place: Path) -> None:
    put(place / "recipes" / "ops"), put(place / "here" / "ops")
    with pytest.raises(RecipeError, match=r"r.yaml:3: operators: there are two folders ops.*beside the recipe"):
        open_recipe("../recipes/r.yaml")


def test_a_link_to_the_same_folder_is_no_second_one(place: Path) -> None:
    put(place / "recipes" / "ops")
    (place / "here" / "ops").symlink_to(place / "recipes" / "ops")
    assert open_recipe("../recipes/r.yaml")[0].operators == (str(place / "recipes" / "ops"),)


def test_options_and_recipes_from_python_name_folders_here(place: Path) -> None:
    put(place / "here" / "ops")
    assert open_recipe("../recipes/r.yaml", {"operators": ["ops"]})[0].operators == (str(place / "here" / "ops"),)
    recipe = {"process": ["own_mapper"], "operators": "ops"}
    assert open_recipe(recipe, need_inputs=False)[0].operators == (str(place / "here" / "ops"),)


def test_a_missing_folder_is_named_beside_the_recipe(place: Path) -> None:
    with pytest.raises(RecipeError, match=f"{place}/recipes/ops: no such folder"):
        open_recipe("../recipes/r.yaml")
