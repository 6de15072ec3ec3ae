"""Fields that a recipe names and no sample has: a problem of the recipe, before anything runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import RecipeError
from tests.engine.runs import settings, write_lines

SAMPLES = [{"id": k, "text": f"some words {k}", "meta": {"lang": "en"}} for k in range(30)]
STEPS = [{"text_length_filter": {"min_len": 3}}]


def as_array(path: Path) -> Path:
    path.write_text(json.dumps(SAMPLES), encoding="utf-8")
    return path


def as_gzip(path: Path) -> Path:
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, SAMPLES)).encode()))
    return path


def as_csv(path: Path) -> Path:
    path.write_text("id,text\n" + "".join(f"{k},words {k}\n" for k in range(30)), encoding="utf-8")
    return path


def as_parquet(path: Path) -> Path:
    pq.write_table(pa.Table.from_pylist(SAMPLES), path)
    return path


KINDS: dict[str, Callable[[Path], Path]] = {
    "a.jsonl": lambda path: write_lines(path, SAMPLES),
    "a.json": as_array,
    "a.jsonl.gz": as_gzip,
    "a.csv": as_csv,
    "a.parquet": as_parquet,
}


def problems(recipe: dict[str, Any], dataset: Any = None) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        refinery.run(recipe, dataset=dataset)
    return [str(problem) for problem in caught.value.problems]


def recipe(folder: Path, path: Path, steps: Any = STEPS, **keys: Any) -> dict[str, Any]:
    return settings(folder, steps, dataset_path=str(path), **keys)


@pytest.mark.parametrize("name", KINDS)
def test_a_misspelt_text_field(tmp_path: Path, name: str) -> None:
    path = KINDS[name](tmp_path / name)
    [problem] = problems(recipe(tmp_path, path, text_keys="txet"))
    assert "text_keys names the field 'txet'" in problem and name in problem
    assert "Fields there: id, text" in problem and problem.endswith("Did you mean 'text'?")
    assert not (tmp_path / "run").exists()


def test_every_field_that_a_recipe_names(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", SAMPLES)
    steps = [
        {"text_length_filter": {"text_key": "meta.lnag"}},
        {"lang_stats": {"language": "en", "language_key": "lang"}},
        {"sql_filter": {"where": "score > 3"}},
        {"document_deduplicator": {"keep": "score desc"}},
    ]
    found = problems(recipe(tmp_path, path, steps, open_tracer=True, trace_keys=["idd"]))
    assert len(found) == 6
    for part in (
        "'meta.lnag'",
        "lang_stats.language_key names the field 'lang'",
        "'language_score'",
        "'idd'",
        "'score'",
    ):
        assert any(part in problem for problem in found), part
    assert any("Did you mean 'meta.lang'?" in problem for problem in found)


def test_a_field_that_only_some_files_have(tmp_path: Path) -> None:
    """Who reads several files may have one without the field; its rows are in the quarantine, and a note says why."""
    write_lines(tmp_path / "in" / "a.jsonl", SAMPLES)
    write_lines(tmp_path / "in" / "b.jsonl", [{"body": "x"}])
    run = refinery.run(recipe(tmp_path, tmp_path / "in"))
    assert run.counts.quarantined == 1
    assert any("b.jsonl: no sample looked at has the field 'text'" in line for line in run.warnings)


def test_a_field_that_comes_later(tmp_path: Path) -> None:
    """Where the first samples of a large file lack the field, those in its middle are looked at too."""
    lines = [{"note": "x" * 100} for _ in range(2000)] + [{"text": "words " * 20} for _ in range(3000)]
    path = write_lines(tmp_path / "a.jsonl", lines)
    run = refinery.run(recipe(tmp_path, path, shard_size=50_000))
    assert run.counts.kept == 3000


@pytest.mark.parametrize("lines", [["{broken", "x"], [], ['["no object"]']])
def test_no_sample_to_look_at(tmp_path: Path, lines: list[str]) -> None:
    """Nothing is known of the fields then, so nothing is said of them."""
    path = write_lines(tmp_path / "a.jsonl", lines)
    run = refinery.run(recipe(tmp_path, path, text_keys="anything", max_quarantined="100%"))
    assert run.counts.quarantined == len(lines)


def test_samples_that_are_handed_over(tmp_path: Path) -> None:
    given = settings(tmp_path, STEPS, text_keys="body")
    given.pop("dataset_path", None)
    [problem] = problems(given, pa.table({"text": ["a"]}))
    assert "'body'" in problem and "Fields there: text." in problem


@pytest.mark.parametrize("kind", ["a.jsonl", "a.parquet"])
def test_a_name_with_a_dot_in_it_is_found(tmp_path: Path, kind: str) -> None:
    """In quotes it is one name, without them the way to a member; `trace_keys` take it both ways."""
    path = tmp_path / kind
    rows = [{"te.xt": f"some words {k}", "meta": {"body": "other words"}} for k in range(3)]
    if kind == "a.jsonl":
        write_lines(path, rows)
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    traced = {"open_tracer": True, "trace_keys": ["te.xt", "meta.body"]}
    for number, name in enumerate(['"te.xt"', "meta.body", 'meta."body"']):
        run = refinery.run(recipe(tmp_path / str(number), path, text_keys=name, **traced))
        assert run.counts.kept == 3
    assert "'te.xt'" in problems(recipe(tmp_path, path, text_keys="te.xt"))[0]
