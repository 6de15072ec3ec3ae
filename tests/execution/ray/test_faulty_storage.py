"""Runs of a cluster on object storage that fails now and then leave what a run on one machine leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refinery.storage.drivers import located
from refinery.storage.open import open_store
from tests.execution.ray.runs import assert_same, in_partitions, in_parts, local, on_ray, samples
from tests.faulty_proxy import Faults
from tests.runs import rows, write_lines
from tests.s3 import make_bucket
from tests.sampling import sampled

KEYS = {"shard_size": 40_000, "np": 2, "open_tracer": True, "trace_num": 2}
STEPS: list[Any] = ["clean_email_mapper", {"document_minhash_deduplicator": {"jaccard_threshold": 0.5}}]


@pytest.mark.parametrize("rate", sampled([0.01, 0.1]))
def test_everything_on_object_storage(
    driver: Any, faults: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: float
) -> None:
    """Input, run folder and export are objects; clusters and tables are made by tasks, too."""
    in_parts(monkeypatch, 100)
    in_partitions(monkeypatch)
    lines = write_lines(tmp_path / "in.jsonl", samples(300))
    url = make_bucket(f"faulty-{round(1 / rate)}")
    located(url)[0].put_file(str(lines), f"{url.removeprefix('s3://')}/data/in.jsonl")
    one = local(tmp_path, STEPS, **KEYS)
    keys = KEYS | {"dataset_path": f"{url}/data/", "export_path": f"{url}/kept/", "work_dir": f"{url}/run"}
    before = faults.failed.total()
    monkeypatch.setattr(faults, "rate", rate)
    other = on_ray(tmp_path, STEPS, **keys)
    monkeypatch.setattr(faults, "rate", 0.0)
    assert faults.failed.total() > before
    assert_same(one, other, "shards", "quarantine")
    files = rows(other, "quarantine", "file, line, error")
    assert files == [(f"{url}/data/in.jsonl", *rest) for _, *rest in rows(one, "quarantine", "file, line, error")]
    assert rows(other, "table_parts", f"bool_and(starts_with(path, '{url}/run/'))") == [(True,)]
    assert len(other.outputs) > 1 and all(str(path).startswith(f"{url}/kept/") for path in other.outputs)
    assert not [name for name in open_store(url).names() if ".tmp" in name or "/joined/" in name]
    again = on_ray(tmp_path, STEPS, **keys)
    assert rows(again, "shards", "min(reused)") == [(2,)]
