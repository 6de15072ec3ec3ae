"""A run on a cluster whose parts are on object storage: machines that see no folder of each other's but the export's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.storage.drivers import located
from refinery.storage.open import open_store
from tests.execution.ray.runs import assert_same, in_partitions, in_parts, local, on_ray, samples
from tests.runs import rows, settings, write_lines
from tests.s3 import make_bucket

KEYS = {"shard_size": 40_000, "np": 2, "open_tracer": True, "trace_num": 2}
STEPS = [
    "clean_email_mapper",
    "document_deduplicator",
    {"document_minhash_deduplicator": {"jaccard_threshold": 0.5}},
    {"document_line_deduplicator": {"frequency_threshold": 20}},
]


@pytest.mark.long
def test_parts_on_object_storage(driver: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(400))
    url = f"{make_bucket('cluster')}/run"
    one = local(tmp_path, STEPS, **KEYS)
    other = on_ray(tmp_path, STEPS, **KEYS | {"work_dir": url, "export_path": tmp_path / "ray" / "kept"})
    assert rows(one, "duplicates", "count(DISTINCT step)") == [(3,)]
    assert_same(one, other)
    names = open_store(url).names()
    assert {".refinery/manifest.json", "refinery.duckdb", ".refinery/parts/stage_1/00000.done.json"} <= set(names)
    assert not [name for name in names if "/joined/" in name]
    again = on_ray(tmp_path, STEPS, **KEYS | {"work_dir": url, "export_path": tmp_path / "ray" / "kept"})
    assert rows(again, "shards", "min(reused)") == [(4,)]


@pytest.mark.long  # the same, on storage that fails: tests/execution/ray/test_faulty_storage.py
@pytest.mark.parametrize(("steps", "stages"), [(STEPS[:2], 2), (STEPS, 4)])
def test_input_and_export_on_object_storage(
    driver: Any, tmp_path: Path, steps: list[Any], stages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_parts(monkeypatch, 100)
    in_partitions(monkeypatch)
    lines = write_lines(tmp_path / "in.jsonl", samples(300))
    url = make_bucket(f"elsewhere-{stages}")
    fs, _ = located(url)
    fs.put_file(str(lines), f"elsewhere-{stages}/data/in.jsonl")
    one = local(tmp_path, steps, **KEYS)
    keys = KEYS | {"dataset_path": f"{url}/data/", "export_path": f"{url}/kept/", "work_dir": f"{url}/run"}
    other = on_ray(tmp_path, steps, **keys)
    assert_same(one, other, "shards", "quarantine")
    assert rows(other, "table_parts", f"bool_and(starts_with(path, '{url}/run/'))") == [(True,)]
    there = sorted(str(path) for path in other.outputs)
    assert len(there) > 1 and all(path.startswith(f"{url}/kept/") for path in there)
    files = rows(other, "quarantine", "file, line, error")
    assert files == [(f"{url}/data/in.jsonl", *rest) for _, *rest in rows(one, "quarantine", "file, line, error")]
    again = on_ray(tmp_path, steps, **keys)
    assert rows(again, "shards", "min(reused)") == [(stages,)] and sorted(map(str, again.outputs)) == there


def test_a_dataset_and_kept_samples_on_object_storage(driver: Any, tmp_path: Path) -> None:
    table = pa.Table.from_pylist([sample for sample in samples(300) if isinstance(sample, dict)])
    url = make_bucket("datasets")
    recipe = settings(tmp_path, STEPS[:2], export_path=f"{url}/kept", work_dir=f"{url}/run", executor_type="ray")
    del recipe["dataset_path"]
    blocks = driver.data.from_arrow([table.slice(start, 50) for start in range(0, len(table), 50)])
    run = refinery.run(recipe, dataset=blocks)
    assert ".refinery/input/part-000000.arrow" in open_store(f"{url}/run").names()
    one = refinery.run(settings(tmp_path, STEPS[:2]), dataset=table)
    assert run.to_arrow() == one.to_arrow() and run.to_ray().count() == one.counts.kept
