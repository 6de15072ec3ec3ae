"""Resources of steps on a cluster: a GPU step runs in actors that have a GPU, the steps around it elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refinery.errors import OperatorError
from refinery.execution.ray.scheduling import TaskResources
from tests.execution.ray.conftest import SMALL
from tests.execution.ray.runs import assert_same, local, on_ray, samples
from tests.runs import operator_folder, write_lines

# Each call leaves a file: the process, the devices that Ray gives it, the number of its samples.
NOTING = """
    import json, uuid
    found = os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES"), len(column)
    if "RAY_RAYLET_PID" in os.environ:  # else a process of the driver, which makes the traces
        Path({folder!r}, f"{name}-{{uuid.uuid4().hex}}.json").write_text(json.dumps(found))
    return each(column, change)
"""


def noting(folder: Path, *names: str) -> Path:
    """Mappers that note where they run."""
    (folder / "notes").mkdir()
    for name in names:
        own = operator_folder(folder / "own", **{name: 'return text + " x" if "tau3" in text else None'})
        path = own / "mappers" / f"{name}_mapper.py"
        body = NOTING.format(folder=str(folder / "notes"), name=name).strip()
        path.write_text(path.read_text().replace("return each(column, change)", body))
    return own


def notes(folder: Path, name: str) -> list[tuple[int, str | None, int]]:
    """Notes of processes of Ray, and of their children."""
    return [tuple(json.loads(path.read_text())) for path in (folder / "notes").glob(f"{name}-*.json")]


def test_a_gpu_step_between_cpu_steps(cluster: Any, driver: Any, tmp_path: Path) -> None:
    own = noting(tmp_path, "before", "model", "after")
    write_lines(tmp_path / "in.jsonl", samples(200))
    steps: list[Any] = ["before_mapper", {"words_num_filter": {"min_num": 5}}, {"model_mapper": {}}, "after_mapper"]
    steps += [{"document_minhash_deduplicator": {"jaccard_threshold": 0.5}}]
    keys = {"shard_size": 9_000, "np": 2, "operators": [str(own)], "open_tracer": True, "trace_num": 3}
    one = local(tmp_path, steps, **keys)
    for path in (tmp_path / "notes").glob("*"):
        path.unlink()
    node = cluster.add_node(**SMALL | {"num_gpus": 1, "num_cpus": 2})
    try:
        steps[2] = {"model_mapper": {"num_gpus": 0.5, "batch_size": 8, "num_proc": 1, "memory": "50MB"}}
        other = on_ray(tmp_path, steps, **keys)
    finally:
        cluster.remove_node(node)
    assert_same(one, other, "row_outcomes")
    on_gpu = notes(tmp_path, "model")
    assert {devices for _, devices, _ in on_gpu} == {"0"} and len({pid for pid, *_ in on_gpu}) == 1
    assert max(rows for *_, rows in on_gpu) == 8
    elsewhere = {pid for name in ("before", "after") for pid, *_ in notes(tmp_path, name)}
    assert elsewhere and not elsewhere & {pid for pid, *_ in on_gpu}


def test_nothing_runs_where_a_later_stage_cannot(driver: Any, tmp_path: Path) -> None:
    own = noting(tmp_path, "before", "model")
    write_lines(tmp_path / "in.jsonl", samples(10))
    with pytest.raises(OperatorError, match="step 2: model_mapper asks for 4 GPU, and no machine"):
        on_ray(tmp_path, ["before_mapper", {"model_mapper": {"num_gpus": 4}}], operators=[str(own)])
    assert not notes(tmp_path, "before")


def test_room_for_tasks() -> None:
    machines = [{"CPU": 8, "GPU": 2, "memory": 64e9}, {"CPU": 4, "memory": 10e9}]
    assert TaskResources().room(machines) == 12
    assert TaskResources(gpus=0.5).room(machines) == 4
    assert TaskResources(gpus=1, memory=40 * 10**9).room(machines) == 1
    assert TaskResources(cores=0.5, memory=5 * 10**9).room(machines) == 12 + 2
    with pytest.raises(OperatorError, match="no machine of the Ray cluster has together 1 CPU, 1 GPU"):
        TaskResources(gpus=1).check([{"CPU": 4}, {"GPU": 1}])
