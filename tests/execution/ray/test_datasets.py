"""Ray datasets as input: tasks write their blocks, and the run is that over a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.errors import DataError
from refinery.execution.ray import datasets
from refinery.io.python_data.spool import SpoolNote
from refinery.storage.workplace import Workplace
from tests.execution.ray.runs import exported, samples
from tests.runs import content, rows, settings
from tests.sampling import sampled

STEPS: list[Any] = ["clean_email_mapper", {"words_num_filter": {"min_num": 5}}, "document_deduplicator"]
TABLE = pa.Table.from_pylist([sample for sample in samples(300) if isinstance(sample, dict)])


def blocks(driver: Any, count: int) -> Any:
    """The samples as a dataset of `count` blocks."""
    size = -(-len(TABLE) // count)
    return driver.data.from_arrow([TABLE.slice(start, size) for start in range(0, len(TABLE), size)])


def run_of(folder: Path, dataset: Any, **keys: Any) -> refinery.Run:
    recipe = settings(folder, STEPS, **{"export_path": folder / "run" / "kept", "executor_type": "ray", **keys})
    del recipe["dataset_path"]
    return refinery.run(recipe, dataset=dataset)


def test_blocks_are_written_by_tasks(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "_ENOUGH", 1)
    expected = run_of(tmp_path / "table", TABLE)
    fetched: list[Any] = []
    get = driver.get
    monkeypatch.setattr(driver, "get", lambda *given, **keys: fetched.append(found := get(*given, **keys)) or found)
    found = run_of(tmp_path / "blocks", blocks(driver, 7))
    assert exported(found) == exported(expected)
    by_file = ("shards", "files", "runs", "steps", "audit_summary")  # a block is a file of its own
    assert content(found, *by_file) == content(expected, *by_file)
    fetched = [one for item in fetched for one in (item if isinstance(item, list) else [item])]
    assert fetched and not any(hasattr(item, "num_rows") and hasattr(item, "columns") for item in fetched)  # no block
    place = Workplace.of(str(tmp_path / "blocks" / "run"))
    parts = SpoolNote(place.own(), place.run_dir.spooled.name).read()
    alive = {node["NodeID"] for node in driver.nodes() if node["Alive"]}
    assert len(parts) == 7 and {part.node for part in parts.values()} <= alive


def test_the_order_is_that_of_the_dataset(driver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "_ENOUGH", 1)

    def slow_first(table: pa.Table) -> pa.Table:
        import time

        time.sleep(1.0 if table["id"][0].as_py() == 0 else 0.0)
        return table

    lazy = blocks(driver, 5).map_batches(slow_first, batch_format="pyarrow").limit(201)
    run = run_of(tmp_path, lazy, process=[{"words_num_filter": {"min_num": 0}}])
    assert run.counts.read == run.counts.kept == 201
    assert run.to_arrow()["id"].to_pylist() == TABLE["id"].to_pylist()[:201]


@pytest.mark.parametrize("executor", ["ray", "default"])
def test_a_limit_computes_the_blocks_that_it_needs(driver: Any, tmp_path: Path, executor: str) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()

    def noted(table: pa.Table) -> pa.Table:
        (seen / str(table["id"][0].as_py())).touch()
        return table

    lazy = blocks(driver, 100).map_batches(noted, batch_format="pyarrow")
    none: list[Any] = [{"words_num_filter": {"min_num": 0}}]
    run = run_of(tmp_path, lazy, process=none, limit=7, executor_type=executor, export_path=tmp_path / "out.jsonl")
    assert run.counts.read == 7 and run.to_arrow()["id"].to_pylist() == TABLE["id"].to_pylist()[:7]
    assert 3 <= len(list(seen.iterdir())) < 100


def test_a_dataset_is_read_again_where_its_bytes_have_changed(driver: Any, tmp_path: Path) -> None:
    run_of(tmp_path, blocks(driver, 3))
    again = run_of(tmp_path, blocks(driver, 3))
    assert rows(again, "shards", "bool_and(reused > 0)") == [(True,)]
    changed = TABLE.set_column(1, "text", pa.array([f"{text} more" for text in TABLE["text"].to_pylist()]))
    assert rows(run_of(tmp_path, driver.data.from_arrow(changed)), "shards", "max(reused)") == [(0,)]


def test_without_a_cluster_the_blocks_are_read_here(driver: Any, tmp_path: Path) -> None:
    run = run_of(tmp_path, blocks(driver, 3), executor_type="default", export_path=tmp_path / "out.jsonl")
    assert exported(run) == exported(run_of(tmp_path / "ray", TABLE))


def test_a_dataset_that_cannot_be_computed(driver: Any, tmp_path: Path) -> None:
    def broken(table: pa.Table) -> pa.Table:
        raise ValueError("no such page")

    with pytest.raises(DataError, match=r"dataset: Ray cannot compute or write its blocks(.|\n)*Nothing was run"):
        run_of(tmp_path, blocks(driver, 2).map_batches(broken, batch_format="pyarrow"))
    assert run_of(tmp_path / "empty", blocks(driver, 2).filter(lambda row: False)).counts.read == 0


@pytest.mark.parametrize("kind", sampled(["parquet", "jsonl"]))
def test_kept_samples_are_a_dataset_that_tasks_read(driver: Any, tmp_path: Path, kind: str) -> None:
    run = run_of(tmp_path, blocks(driver, 3), shard_size=9000, export_type=kind)
    assert len(run.outputs) > 1
    found = run.to_ray()
    assert found.count() == run.counts.kept
    table = pa.concat_tables(driver.get(found.to_arrow_refs()))
    assert sorted(table["id"].to_pylist()) == sorted(run.to_arrow()["id"].to_pylist())
    assert table.schema.equals(run.to_arrow().schema)
    none = run_of(tmp_path / "none", TABLE, process=[{"text_length_filter": {"min_len": 100_000}}])
    assert none.to_ray().count() == 0
