"""Names that are not UTF-8: files have such names, and no table can hold them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import RecipeError
from refinery.execution.open import open_recipe
from refinery.recipe.override import parse_overrides
from tests.runs import settings, texts, write_lines

ODD = os.fsdecode(b"b\xffd")
STEPS = ["clean_email_mapper"]


@pytest.mark.parametrize("key", ["export_path", "work_dir", "temp_dir", "text_keys", "project_name"])
def test_a_value_of_the_command_line(tmp_path: Path, key: str) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text("dataset_path: in.jsonl\nprocess: [clean_email_mapper]\n")
    with pytest.raises(RecipeError, match=rf"--{key}: {key}: '.*b\\\\xffd' is not UTF-8.*Rename") as caught:
        open_recipe(str(recipe), parse_overrides([f"--{key}", ODD]))
    assert caught.value.exit_code == 2
    str(caught.value).encode()


@pytest.mark.parametrize("where", ["recipe", "folder", "current"])
def test_the_recipe_s_own_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    folder = tmp_path if where == "recipe" else tmp_path / ODD
    folder.mkdir(exist_ok=True)
    recipe: Any = folder / (f"{ODD}.yaml" if where == "recipe" else "r.yaml")
    recipe.write_text("dataset_path: in.jsonl\nprocess: [clean_email_mapper]\n")
    monkeypatch.chdir(folder)
    with pytest.raises(RecipeError, match="is not UTF-8.*Rename"):
        open_recipe("r.yaml" if where == "current" else recipe)


def test_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a"]))
    (tmp_path / ODD).mkdir()
    monkeypatch.chdir(tmp_path / ODD)
    with pytest.raises(RecipeError, match="export_path: '.*' is not UTF-8"):
        refinery.run(settings(tmp_path, STEPS, export_path="out.jsonl"))
    assert refinery.run(settings(tmp_path, STEPS, work_dir=tmp_path / "run")).counts.kept == 1
