"""URLs of this machine, places that cannot be written, and empty lists of steps: known before the run."""

from __future__ import annotations

from pathlib import Path

import pytest

import refinery
from refinery.api import open_recipe
from refinery.errors import OutputError, RefineryError
from tests.runs import settings, texts, write_lines


def test_urls_of_this_machine_are_paths(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a", "b", "a"]))
    here = f"file://{tmp_path}"
    recipe = settings(
        tmp_path,
        [{"text_length_filter": {"min_len": 0}}, {"document_deduplicator": {"index": f"{here}/index"}}],
        dataset_path=f"{here}/in.jsonl",
        export_path=f"{here}/run/out.jsonl",
        work_dir=f"{here}/work",
        stat_summary={"groups": ["summary"], "export": f"{here}/stats"},
    )
    run = refinery.run(recipe)
    assert [Path(path) for path in run.outputs] == [tmp_path / "run" / "out.jsonl"]
    assert (tmp_path / "run" / "out.jsonl").read_bytes().count(b"\n") == 2
    assert all((tmp_path / name).is_dir() for name in ("index", "work", "stats"))


@pytest.mark.parametrize(
    "keys",
    [
        {"work_dir": "/proc/nope"},
        {"export_path": "/proc/nope.jsonl", "work_dir": "work"},
        {"stat_summary": {"groups": ["summary"], "export": "/proc/x"}},
    ],
)
def test_places_that_cannot_be_written(tmp_path: Path, keys: dict[str, object]) -> None:
    write_lines(tmp_path / "in.jsonl", texts(["a"]))
    if "work_dir" in keys and keys["work_dir"] == "work":
        keys = {**keys, "work_dir": str(tmp_path / "work")}
    with pytest.raises((OutputError, RefineryError), match="/proc/.*cannot be written"):
        refinery.compile(settings(tmp_path, [{"text_length_filter": {}}], **keys))


@pytest.mark.parametrize("empty", ["", "''", "{}", "[]", "null"])
def test_no_steps_however_they_are_written(tmp_path: Path, empty: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(f"dataset_path: in.jsonl\nprocess: {empty}\n", encoding="utf-8")
    recipe, _ = open_recipe(path)
    assert recipe.steps == ()
    assert any("process is empty" in str(note) for note in recipe.ignored)
