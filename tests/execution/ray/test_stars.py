"""Stars, verified stars, sizes of clusters and chains on a cluster: the rows of one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dedup.test_star_clusters import BANDS, MINHASH, shuffled
from tests.execution.ray.runs import assert_same, in_partitions, local, on_ray
from tests.runs import exported, rows, write_lines


@pytest.mark.parametrize(
    "own",
    [{"verify": "kept"}, {"cluster": "connected"}, pytest.param({"cluster": "star"}, marks=pytest.mark.long)],
    ids=str,
)
def test_on_a_cluster(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: dict[str, Any]) -> None:
    in_partitions(monkeypatch)
    samples = [{**sample, "id": f"{part}-{sample['id']}"} for part in range(3) for sample in shuffled(part)]
    write_lines(tmp_path / "in.jsonl", samples)
    step = {MINHASH: {**BANDS, **own, "save_cluster_size": True, "keep": "n desc, id"}}
    steps = ["clean_email_mapper", step, {"sql_filter": {"where": "cluster_size <> 2"}}]
    keys = {"shard_size": 3_000, "np": 2, "audit": 50}
    one, other = local(tmp_path, steps, **keys), on_ray(tmp_path, steps, **keys)
    assert_same(one, other)
    sizes = [sample["cluster_size"] for sample in exported(one)]
    assert 2 not in sizes and max(sizes) > 2 and rows(one, "shards", "count(*) > 3") == [(True,)]
    chained = own == {"cluster": "connected"}
    assert rows(one, "chains", "count(*) > 0") == [(chained,)]
