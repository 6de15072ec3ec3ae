"""A run on a cluster whose parts are on object storage: machines that see no folder of each other's but the export's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refinery.store import Store
from tests.cluster.runs import assert_same, local, on_ray, samples
from tests.engine.runs import rows, write_lines
from tests.s3 import make_bucket

KEYS = {"shard_size": 40_000, "np": 2, "open_tracer": True, "trace_num": 2}
STEPS = [
    "clean_email_mapper",
    "document_deduplicator",
    {"document_minhash_deduplicator": {"jaccard_threshold": 0.5}},
    {"document_line_deduplicator": {"frequency_threshold": 20}},
]


def test_parts_on_object_storage(driver: Any, tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", samples(400))
    url = f"{make_bucket('cluster')}/run"
    one = local(tmp_path, STEPS, **KEYS)
    other = on_ray(tmp_path, STEPS, **KEYS | {"work_dir": url, "export_path": tmp_path / "ray" / "kept"})
    assert rows(one, "duplicates", "count(DISTINCT step)") == [(3,)]
    assert_same(one, other)
    names = Store.open(url).names()
    assert {"manifest.json", "refinery.duckdb", "parts/stage_1/00000.done.json"} <= set(names)
    assert not [name for name in names if "/joined/" in name]
    again = on_ray(tmp_path, STEPS, **KEYS | {"work_dir": url, "export_path": tmp_path / "ray" / "kept"})
    assert rows(again, "shards", "min(reused)") == [(4,)]
