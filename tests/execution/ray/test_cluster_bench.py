"""The benchmark of a cluster runs from its first to its last table on a small one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import cluster as bench
from tests.bench.test_cluster_model import COSTS


@pytest.mark.long
def test_from_documents_to_tables(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ray = pytest.importorskip("ray")
    if ray.is_initialized():
        ray.shutdown()  # the benchmark joins the cluster itself
    known, out = tmp_path / "known.json", tmp_path / "results.json"
    known.write_text(json.dumps({"costs": vars(COSTS)}))
    options = ["--work", tmp_path / "work", "--gigabytes", "0.001", "--costs", known, "--json", out]
    command = ["cluster", "--address", cluster.address, "--cores", "1", "2", *options]
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    assert bench.main() == 0
    found = json.loads(out.read_text())
    for one, cores in zip(found["runs"], (1, 2), strict=True):
        seconds, tasks = one["phases"]["seconds"], one["phases"]["tasks"]
        assert one["cores"] == cores and {"shards", "joining", "clusters", "export"} <= seconds.keys()
        assert tasks["shards"] == 2 * one["shards"] and len(one["phases"]["stages"]) == 2
        assert 0 < sum(seconds.values()) < one["seconds"] and one["phases"]["barrier"] >= seconds["joining"]
        assert one["rows"]["read"] > one["rows"]["kept"] > 0 and one["driver_memory"] > 1e8 and one["task"] > 0
    assert found["runs"][0]["rows"] == found["runs"][1]["rows"]
    printed = capsys.readouterr().out
    for said in ("| 2, joining + clusters |", "2 cores, ", "| 5 TB, 1,280 cores | 168.1 |", "measured by model"):
        assert said in printed
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["data-1000000"]


def test_more_cores_than_there_are(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(RuntimeError, match="64 cores are asked for, and the cluster has"):
        bench.run(cluster.address, str(bench.HERE / "minhash.yaml"), str(tmp_path / "in.jsonl"), str(tmp_path), 64)
