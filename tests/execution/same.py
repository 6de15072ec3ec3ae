"""Runs over the same samples that differ in how the work is done: all that they leave must be equal, to the byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import refinery
from refinery.api import Run
from tests.runs import content, settings

Found = tuple[dict[str, list[tuple[Any, ...]]], list[bytes], dict[str, bytes]]


def left_by(run: Run, *without: str) -> Found:
    """All tables but `shards` and `without`, the exported files and the traces."""
    traces = {path.name: path.read_bytes() for path in sorted((run.work_dir / "trace").glob("*.jsonl"))}
    return content(run, "shards", *without), [path.read_bytes() for path in run.outputs], traces


def assert_same(
    folder: Path, path: Path, steps: Sequence[Any], variants: Mapping[str, Mapping[str, Any]], **keys: Any
) -> Run:
    """Run the steps over `path` in one shard with one worker, then once more with each variant's settings on top.

    keys: settings of all runs. Answers the first run.
    """
    keys = {"dataset_path": path, "open_tracer": True, "trace_num": 5, "shard_size": 1 << 40, **keys}
    first = refinery.run(settings(folder / "first", steps, **keys))
    assert first.sql("SELECT count(*) FROM shards").fetchall() == [(1,)]
    expected = left_by(first)
    files = [(Path(name).name, *rest) for name, *rest in first.sql("SELECT * FROM files").fetchall()]
    for name, changed in variants.items():
        run = refinery.run(settings(folder / name, steps, **{**keys, **changed}))
        found = left_by(run)
        assert found[0] == expected[0], name
        assert found[1:] == expected[1:], name
        assert [(Path(name).name, *rest) for name, *rest in run.sql("SELECT * FROM files").fetchall()] == files
    return first
