"""Check the model of docs/scaling-study.md on a cluster: time by phase at several numbers of cores, beside the model's and the published times.

    python -m bench.cluster --address auto --data s3://bucket/docs/ --work s3://bucket/bench --cores 640 1280
    python -m bench.cluster --address auto --gigabytes 200 --work /shared/bench --cores 64 128 --json results.json

--work is a folder or URL that all machines see; generated documents stay there for the next time, everything else is removed. Each
run is a process of its own with some of the cluster's cores (bench/cluster_run.py). The model (bench/cluster_model.py) takes
its costs from bench/scale.json, or from an earlier --json file by --costs; costs of tasks that neither has are measured here first.
Where the last column, measured time by the model's, is not near 1, the model is wrong for that phase.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields, replace
from pathlib import Path
from typing import Any

from bench.cluster_data import generate
from bench.cluster_model import MB, Cluster, Costs, simulate
from bench.markdown import table
from bench.scale import HERE, KEPT, PUBLISHED, SHARDS, of_tasks

ROOT = HERE.parent
# The parts of the model's time, and the measured phases of each.
PARTS = {"shards": ("shards",), "barrier": ("joining", "clusters"), "tables": ("tables",)}


def costs(path: Path) -> Costs:
    """Costs of the model: those of a file, and for those that it lacks, measured ones."""
    known = json.loads(path.read_text("utf-8"))["costs"]
    if {one.name for one in fields(Costs) if one.default is MISSING} - known.keys():
        known = of_tasks(json.loads(KEPT.read_text("utf-8"))["roots"]) | known
    return Costs(**known | {"shards": tuple(map(tuple, known["shards"]))})


def of_cluster(model: Costs, run: Mapping[str, Any]) -> Costs:
    """The costs with what a run has shown of its data and cluster: samples by size, time to hand out a task."""
    return replace(model, rows_per_byte=run["rows"]["read"] / run["bytes"], task=run["task"])


def run(address: str, recipe: str, data: str, work: str, cores: int) -> dict[str, Any]:
    """Run a recipe over data with some cores of the cluster. Raises RuntimeError with the output of a failed run."""
    from refinery.storage.open import open_store

    place = f"{work.rstrip('/')}/run-{cores}"
    keys = {"executor_type": "ray", "ray_address": address, "dataset_path": data, "use_cache": False}
    keys |= {"export_path": f"{place}/kept", "work_dir": f"{place}/work"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_text(json.dumps({"address": address, "recipe": recipe, "cores": cores, "keys": keys}), "utf-8")
        command = [sys.executable, "-m", "bench.cluster_run", str(path)]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    open_store(place).remove()
    if ended.returncode:
        raise RuntimeError(f"the run with {cores} cores failed:\n{ended.stderr[-4000:]}")
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def prepared(address: str, work: str, size: int) -> tuple[str, int]:
    """The folder of generated documents, which are written unless they are there; and cores of the largest node."""
    import ray

    from refinery.storage.open import open_store

    folder = f"{work.rstrip('/')}/data-{size}"
    ray.init(address=address, logging_level="ERROR", log_to_driver=False)
    try:
        if size and not open_store(folder).exists("complete.json"):
            open_store(folder).remove()
            open_store(folder).write_text("complete.json", json.dumps({"bytes": generate(ray, folder, size)}))
            open_store(folder).tidy()
        return folder, max(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"])
    finally:
        ray.shutdown()


# Tables


def by_phase(runs: Sequence[Mapping[str, Any]], model: Costs, per_node: int, link: float) -> list[str]:
    """Seconds of each run by phase, beside the model's."""
    rows = []
    for one in runs:
        said = simulate(of_cluster(model, one), one["bytes"], Cluster(one["cores"], SHARDS, per_node, link))
        modelled = {"shards": said.shards, "barrier": said.moving + said.barrier, "tables": said.tables}
        seconds = one["phases"]["seconds"]
        for part, phases in PARTS.items():
            each = [seconds.get(phase, 0.0) for phase in phases]
            rows.append(_line(one, " + ".join(phases), " + ".join(f"{s:.2f}" for s in each), sum(each), modelled[part]))
        rows.append(_line(one, "export (beside tables)", f"{seconds.get('export', 0.0):.2f}", 0.0, 0.0))
        waited = sum(seconds.values()) - min(seconds.get("export", 0.0), seconds.get("tables", 0.0))
        rest = max(0.0, one["seconds"] - waited)
        rows.append(_line(one, "start, driver", f"{rest:.2f}", rest, said.start + said.driver))
        rows.append(_line(one, "all", f"{one['seconds']:.2f}", one["seconds"], said.total))
    return table(("cores, phase", "measured, s", "model, s", "measured by model"), rows)


def _line(one: Mapping[str, Any], phase: str, said: str, measured: float, modelled: float) -> list[str]:
    ratio = f"{measured / modelled:.2f}" if modelled and measured else ""  # few samples have no tasks for tables
    return [f"{one['cores']:,}, {phase}", said, f"{modelled:.2f}" if modelled else "", ratio]


def by_unit(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Costs of a shard, a barrier and a task, and of the driver."""
    rows = []
    for one in runs:
        phases, cores = one["phases"], one["cores"]
        shards = sum(seconds * cores / max(1, count) for seconds, count in phases["stages"])
        tasks = sum(phases["tasks"].get(name, 0) for name in ("joining", "clusters"))
        rows.append(
            [
                f"{cores:,} cores, {one['shards']:,} shards, {one['bytes'] / MB:,.0f} MB, {one['rows']['read']:,} samples",
                f"{one['bytes'] / MB / one['seconds'] / cores:.2f}",
                f"{shards:.2f}",
                f"{phases['barrier']:.2f} ({tasks:,})",
                f"{one['task'] * 1e3:.2f}",
                f"{one['driver_seconds']:.1f}",
                f"{one['driver_memory'] / MB:,.0f}",
            ]
        )
    head = ("run", "MB/s a core", "a shard, core s", "barrier, s (tasks)", "empty task, ms", "driver, s", "driver, MB")
    return table(head, rows)


def beside_published(runs: Sequence[Mapping[str, Any]], model: Costs, per_node: int, link: float) -> list[str]:
    """The published times, and the model's with the costs of the largest run."""
    model = of_cluster(model, max(runs, key=lambda one: one["bytes"]))
    rows = []
    for (cores, size), minutes in PUBLISHED.items():
        said = simulate(model, size, Cluster(cores, SHARDS, per_node, link)).total
        rate = size / MB / (minutes * 60) / cores
        rows.append([f"{size / 1e12:g} TB, {cores:,} cores", f"{minutes:.1f}", f"{rate:.2f}", f"{said / 60:.1f}"])
    return table(("size, cores", "published, min", "published, MB/s a core", "model, min"), rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the model of docs/scaling-study.md on a Ray cluster.")
    parser.add_argument("--address", default="auto", help="of the cluster, as ray_address of a recipe")
    parser.add_argument("--data", help="files, folder or URL; without it documents are generated")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of generated documents")
    parser.add_argument("--recipe", default=str(HERE / "minhash.yaml"))
    parser.add_argument("--work", default="bench-cluster", help="folder or URL that all machines see")
    parser.add_argument("--cores", type=int, nargs="+", required=True, help="numbers of cores to run with")
    parser.add_argument("--link", type=float, default=25.0, help="Gbit/s of a node's network link, for the model")
    parser.add_argument("--costs", type=Path, default=KEPT, help="file with costs of the model")
    parser.add_argument("--json", type=Path, help="file for the results")
    arguments = parser.parse_args()
    work = arguments.work if "://" in arguments.work else str(Path(arguments.work).absolute())
    size = 0 if arguments.data else int(arguments.gigabytes * 1e9)
    model, link = costs(arguments.costs), arguments.link * 1e9 / 8
    folder, per_node = prepared(arguments.address, work, size)
    data = arguments.data or f"{folder}/*.jsonl"
    runs = []
    for cores in arguments.cores:
        runs.append(run(arguments.address, arguments.recipe, data, work, cores))
        print(f"{cores:,} cores: {runs[-1]['seconds']:.1f} s", file=sys.stderr)
    for lines in (by_phase(runs, model, per_node, link), by_unit(runs), beside_published(runs, model, per_node, link)):
        print(*lines, "", sep="\n")
    if arguments.json:
        arguments.json.write_text(json.dumps({"runs": runs, "costs": asdict(model)}, indent=1), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
