"""The step `stats_merger`: samples pass, files are merged once, mistakes are reported with their place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import DataError, RecipeError
from refinery.inspect.refilter.refilter import refilter
from refinery.stats import StatsMerger
from tests.runs import settings, texts, write_lines


def recipe_of(folder: Path, source: str, **params: Any) -> Path:
    """A recipe file whose run writes statistics files to `stats`, with the step in its middle."""
    write_lines(folder / "in.jsonl", texts(["a b c", "d e f g", "h"]))
    step = {"stats_merger": {"input_folder": str(folder / source), "output_folder": str(folder / "merged"), **params}}
    summary = {"groups": ["summary", "histogram"], "export": str(folder / "stats")}
    options = settings(
        folder,
        [{"words_num_filter": {"min_num": 1}}, step, {"text_length_filter": {"min_len": 1}}],
        stat_summary=summary,
    )
    path = folder / "recipe.json"
    path.write_text(json.dumps(options, indent=1), "utf-8")
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.json")}


def test_files_of_the_run_and_of_others_are_merged_when_it_has_ended(tmp_path: Path) -> None:
    path = recipe_of(tmp_path, "stats", top_k=1, top_k_groups=["histogram"])
    other = tmp_path / "stats" / "summary" / "num_words" / "00007.json"
    other.parent.mkdir(parents=True)
    other.write_text('{"summary": {"total": 5, "n": 1, "mean": 5}}')
    run = refinery.run(path)
    merged = files(tmp_path / "merged")
    assert json.loads(merged["summary/num_words/metric.json"])["summary"]["n"] == 4
    assert len(json.loads(merged["histogram/num_words/metric.json"])) == 1
    assert any("stats_merger: " in note and "files of" in note for note in run.warnings), run.warnings
    assert other.exists()
    StatsMerger(tmp_path / "stats", tmp_path / "again").merge()
    assert files(tmp_path / "again")["summary/num_words/metric.json"] == merged["summary/num_words/metric.json"]


def test_top_k_config_is_both_of_its_parameters(tmp_path: Path) -> None:
    refinery.run(recipe_of(tmp_path, "stats", top_k_config={"top_k_groups": ["histogram"], "top_k": 1}))
    merged = files(tmp_path / "merged")
    assert len(json.loads(merged["histogram/num_words/metric.json"])) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"top_k_config": 5}, "must be a mapping"),
        ({"top_k_config": {"topk": 5}}, "no entry topk"),
        ({"top_k_config": {"top_k": -1}}, "top_k of top_k_config is -1"),
        ({"top_k_config": {"top_k_groups": "fqdn"}}, "must be a list of names"),
        ({"top_k_config": {"top_k": 5}, "top_k": 7}, "top_k is given beside top_k_config"),
    ],
)
def test_mistakes_in_top_k_config(tmp_path: Path, params: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        refinery.run(recipe_of(tmp_path, "stats", **params))


def test_samples_pass_as_they_are(tmp_path: Path) -> None:
    run = refinery.run(recipe_of(tmp_path, "stats", remove_input=True))
    assert list(files(tmp_path / "stats")) == [] and files(tmp_path / "merged")
    options = json.loads((tmp_path / "recipe.json").read_text("utf-8"))
    del options["process"][1]
    without = refinery.run(
        options | {"work_dir": str(tmp_path / "b"), "export_path": str(tmp_path / "b" / "out.jsonl")}
    )
    assert run.outputs[0].read_bytes() == without.outputs[0].read_bytes()
    assert run.sql("SELECT operator, kind, rows_in, removed, rows_out FROM steps WHERE step = 2").fetchall() == [
        ("stats_merger", "stats", 3, 0, 3)
    ]


def test_an_analysis_and_a_refiltered_run_do_not_merge(tmp_path: Path) -> None:
    path = recipe_of(tmp_path, "stats", remove_input=True)
    refinery.run(path, measure_only=True)
    assert not (tmp_path / "merged").exists() and files(tmp_path / "stats")
    refinery.run(path)
    before = files(tmp_path / "merged")
    refilter(tmp_path / "run", ["process.1.min_num=2"])
    assert files(tmp_path / "merged") == before


def test_mistakes_have_their_place(tmp_path: Path) -> None:
    path = recipe_of(tmp_path, "nowhere")
    with pytest.raises(RecipeError, match=r"recipe\.json:\d+: stats_merger: input_folder .*nowhere is not there"):
        refinery.run(path)
    (tmp_path / "nowhere").write_text("x")
    with pytest.raises(RecipeError, match="is a file, no folder"):
        refinery.run(path)
    with pytest.raises(RecipeError, match="output_folder is empty"):
        refinery.run(recipe_of(tmp_path, "stats", output_folder=""))
    assert not (tmp_path / "run").exists() or not any((tmp_path / "run").glob("*.duckdb"))


def test_damaged_files_leave_the_run_whole(tmp_path: Path) -> None:
    path = recipe_of(tmp_path, "stats")
    broken = tmp_path / "stats" / "summary" / "num_words" / "00007.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    with pytest.raises(
        DataError, match=r"recipe\.json:\d+: stats_merger: .*00007\.json(.|\n)*the run itself has ended well"
    ):
        refinery.run(path)
    assert (tmp_path / "run" / "refinery.duckdb").exists() and (tmp_path / "merged" / "summary").exists()
