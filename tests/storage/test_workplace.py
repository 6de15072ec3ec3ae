"""A run whose work_dir is a URL: its parts, its tables, and what another try finds there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.errors import OperatorError
from refinery.storage.open import open_store
from refinery.storage.workplace import Workplace
from tests.runs import content, rows, settings, texts, write_lines
from tests.s3 import make_bucket
from tests.sampling import sampled

STEPS = ["clean_email_mapper", "document_deduplicator", {"text_length_filter": {"min_len": 6}}]
KEYS = {"np": 2, "open_tracer": True}


def recipe(folder: Path, work_dir: Any, *steps: Any) -> dict[str, Any]:
    write_lines(folder / "in.jsonl", texts(f"mail {n % 40} to a{n % 40}@example.org" for n in range(100)))
    return settings(folder, steps or STEPS, work_dir=work_dir, **KEYS)


def test_tables_and_traces_are_those_of_a_folder(server: str, tmp_path: Path) -> None:
    url = f"{make_bucket('tables')}/runs/one"
    here = refinery.run(recipe(tmp_path, tmp_path / "run"))
    there = refinery.run(recipe(tmp_path, url))
    assert content(here) == content(there)
    place = open_store(url)
    names = [name for name in place.names() if not name.startswith(".refinery/parts/")]
    traced = [f"trace/{path.name}" for path in (tmp_path / "run" / "trace").iterdir()]
    assert names == sorted(
        [
            ".refinery/manifest.json",
            ".refinery/plan.json",
            ".refinery/published.json",
            ".refinery/recipe.yaml",
            "refinery.duckdb",
            *traced,
        ]
    )
    with duckdb.connect(str(place.fetch("refinery.duckdb")), read_only=True) as con:
        assert con.sql("SELECT count(*) FROM ledger").fetchall() == rows(here, "ledger", "count(*)")
    assert json.loads(place.read_text(".refinery/manifest.json"))["rows"]["read"] == 100
    for name in traced:
        assert place.read_text(name) == (tmp_path / "run" / name).read_text("utf-8")


@pytest.mark.parametrize("changed", sampled([False, True]))
def test_another_run_finds_what_is_done(server: str, tmp_path: Path, changed: bool) -> None:
    """changed: then the recipe has other steps."""
    url = f"{make_bucket(f'again-{changed}'.lower())}/one"
    rail = {"document_deduplicator": {"max_removed_share": 0.01}}
    with pytest.raises(OperatorError, match="max_removed_share"):
        refinery.run(recipe(tmp_path, url, "clean_email_mapper", rail))
    assert ".refinery/manifest.json" not in open_store(url).names()
    rail = {"document_deduplicator": {"max_removed_share": 0.99}}
    again = refinery.run(recipe(tmp_path, url, "clean_email_mapper", rail))
    assert rows(again, "shards", "min(reused)") == [(1,)]
    steps = ["clean_email_mapper"] if changed else ["clean_email_mapper", rail]
    last = refinery.run(recipe(tmp_path, url, *steps)) if changed else again
    fresh = refinery.run(recipe(tmp_path, tmp_path / "fresh", *steps))
    assert content(last, "shards") == content(fresh, "shards")


def test_nothing_is_kept_where_the_recipe_says_so(server: str, tmp_path: Path) -> None:
    url = f"{make_bucket('nothing')}/one"
    refinery.run(recipe(tmp_path, url, "clean_email_mapper") | {"use_cache": False})
    assert open_store(url).names(".refinery/parts/") == []


def test_a_folder_is_itself() -> None:
    place = Workplace.of("outputs/run")
    assert (str(place.run_dir.root), place.url, place.name) == (
        "outputs/run",
        "",
        "outputs/run",
    ) and place.publish() == []
    assert Workplace.of("s3://a/b").run_dir != Workplace.of("s3://a/c").run_dir
