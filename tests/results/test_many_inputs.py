"""Checks of many input files look at each file once, and at what a run writes to once in all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from refinery.errors import OutputError
from refinery.execution.open import open_recipe
from refinery.io.content_digest import stamp_of
from refinery.io.sources import cut, find
from refinery.results import manifest
from refinery.results.output_checks import keep_inputs
from refinery.storage.urls import real_place, real_places
from tests.runs import settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for k in range(50):
        path = tmp_path / "in" / f"{k:03d}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text('{"text": "a"}\n', encoding="utf-8")
    return tmp_path


def counted(patch: pytest.MonkeyPatch, work: Any) -> int:
    """Calls of `os.path.realpath`, each of which looks at every folder of a path."""
    calls: list[str] = []
    real = os.path.realpath
    with patch.context() as patched:
        patched.setattr(os.path, "realpath", lambda path, **options: (calls.append(path), real(path, **options))[1])
        work()
    return len(calls)


def test_real_places_are_looked_up_by_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe, _ = open_recipe(settings(folder, ["words_num_filter"], dataset_path=folder / "in"))
    sources, _ = find([str(folder / "in")])
    [shard] = cut(sources)
    assert counted(monkeypatch, lambda: keep_inputs(recipe.outputs, sources)) < 20
    assert counted(monkeypatch, lambda: stamp_of(shard)) < 5


def test_an_export_among_the_inputs_is_refused(folder: Path) -> None:
    """Also by a link to it, and by a link to its folder."""
    (folder / "link").symlink_to(folder / "in")
    (folder / "other.jsonl").symlink_to(folder / "in" / "007.jsonl")
    sources, _ = find([str(folder / "in")])
    for export in ("in/007.jsonl", "link/007.jsonl", "other.jsonl"):
        recipe, _ = open_recipe(
            settings(folder, ["words_num_filter"], dataset_path=folder / "in", export_path=folder / export)
        )
        with pytest.raises(OutputError, match="007.jsonl: cannot be written: it is also read"):
            keep_inputs(recipe.outputs, sources)


def test_real_places_are_those_of_each(folder: Path) -> None:
    (folder / "link").symlink_to(folder / "in")
    (folder / "file").symlink_to(folder / "in" / "001.jsonl")
    real = real_places()
    names = ["in/001.jsonl", "link/001.jsonl", "file", "in/../file", "link/..", "in/", "none/a", "in/none"]
    for name in [*(f"{folder}/{name}" for name in names), "a", "~/a", "s3://b/c"]:
        assert real(name) == real_place(name), name


def test_a_manifest_has_a_line_for_each_input() -> None:
    inputs = [{"path": f'a "{k}"\n  "outputs": []', "size": k} for k in range(3)]
    for outputs in ([], [{"path": "b"}]):
        given = {"run_id": "x", "inputs": inputs, "rows": {"inputs": []}, "outputs": outputs}
        text = manifest.written(given)
        assert manifest.json.loads(text) == given and len([line for line in text.split("\n") if '"size"' in line]) == 3
