"""`substring_deduplicator` on a cluster leaves what one machine leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refinery.dedup import substrings
from tests.dedup.test_substrings import NAME, documents
from tests.execution.ray.runs import assert_same, in_partitions, local, on_ray
from tests.runs import texts, write_lines


def test_on_a_cluster(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_partitions(monkeypatch)
    monkeypatch.setattr(substrings, "_MOST", 300)
    write_lines(tmp_path / "in.jsonl", texts(documents()))
    steps = [{"sql_mapper": {"text": "upper(text)"}}, {NAME: {"min_length": 30}}, "clean_links_mapper"]
    keys = {"shard_size": 2_000, "np": 2}
    assert_same(local(tmp_path, steps, **keys), on_ray(tmp_path, steps, **keys))
