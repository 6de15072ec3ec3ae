"""The data and the comparison of the benchmark of merging."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    import stats_merge

    return stats_merge


def test_files_that_are_made(bench, tmp_path: Path) -> None:
    options = argparse.Namespace(files=4, folders=2, keys=5, distinct=3)
    size = bench.make(tmp_path, options)
    files = sorted(tmp_path.rglob("*.json"))
    assert [path.name for path in files] == [f"{rank:05d}.json" for rank in range(4)] * 2
    assert size == sum(path.stat().st_size for path in files)
    contents = [path.read_bytes() for path in files[:4]]
    assert contents[3] == contents[0] and len(set(contents)) == 3
    assert {frozenset(json.loads(content)) for content in contents} == {frozenset(json.loads(contents[0]))}


def test_differences(bench, tmp_path: Path) -> None:
    one = {"total": 4.0, "n": 2, "mean": 2.0, "variance": 2.0, "min": 1.0, "max": 3.0}
    for name, changed in (("a", {}), ("b", {}), ("c", {"n": 3}), ("d", {"total": 4.1})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metric.json").write_text(json.dumps({"k": one | changed}))
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "metric.json").write_text(json.dumps({"k": one, "other": one}))
    assert [bench.differences(tmp_path / "a", tmp_path / name) for name in "abcde"] == [0, 0, 1, 1, 1]
