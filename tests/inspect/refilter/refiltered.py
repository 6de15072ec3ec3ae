"""Refiltered runs for the tests, beside fresh runs of the same recipes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import refinery
from refinery.api import Run
from refinery.inspect.refilter.refilter import Refiltered, refilter
from tests.runs import content, settings, write_lines


def prepared(folder: Path, samples: list[Any], steps: list[Any], suffix: str = "jsonl", **keys: Any) -> Path:
    """A recipe in `folder` and its run in `folder/run`."""
    source = write_lines(folder / "in.jsonl", samples)
    if suffix == "parquet":
        source = folder / "in.parquet"
        good = [sample for sample in samples if isinstance(sample, dict)]
        pq.write_table(pa.Table.from_pylist(good), source, row_group_size=40)
    recipe = folder / "recipe.json"
    keys = {"dataset_path": str(source), "shard_size": 1500, "audit": 0, **keys}  # refilter makes no audit
    recipe.write_text(json.dumps(settings(folder, steps, **keys)), encoding="utf-8")
    refinery.run(recipe)
    return recipe


def again(recipe: Path, folder: Path, changes: dict[str, Any], **options: Any) -> Refiltered:
    sets = [f"{name}={json.dumps(value) if isinstance(value, bool) else value}" for name, value in changes.items()]
    return refilter(recipe.parent / "run", sets, work_dir=str(folder / "again"), **options)


def as_run(found: Refiltered) -> Run:
    outcome = found.outcome
    root, database = outcome.run_dir.root, outcome.run_dir.database
    return Run(root, database, outcome.outputs, outcome.counts, outcome.notes, outcome.seconds, outcome.bytes)


def same_as_fresh(recipe: Path, folder: Path, changes: dict[str, Any]) -> Refiltered:
    """Refilter, run afresh, and see that both have left the same."""
    found = again(recipe, folder, changes)
    name = found.outcome.outputs[0].name
    fresh = refinery.run(recipe, work_dir=str(folder / "fresh"), export_path=str(folder / "fresh" / name), **changes)
    assert content(as_run(found)) == content(fresh)
    assert (
        as_run(found).sql("SELECT bytes, fingerprint FROM runs").fetchall()
        == fresh.sql("SELECT bytes, fingerprint FROM runs").fetchall()
    )
    written = [path for path in sorted((folder / "fresh").rglob("*.jsonl*")) if ".refinery" not in path.parts]
    for left in written + list(fresh.outputs):
        assert (folder / "again" / left.relative_to(folder / "fresh")).read_bytes() == left.read_bytes()
    said = [json.loads((folder / name / ".refinery" / "manifest.json").read_text()) for name in ("again", "fresh")]
    assert [said[0][key] for key in ("rows", "inputs", "shard_size", "recipe")] == [
        said[1][key] for key in ("rows", "inputs", "shard_size", "recipe")
    ]
    return found
