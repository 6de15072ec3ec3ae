"""Time and memory of the driver for the tables of many samples, from synthetic facts: no text is read.

    python -m bench.tables 1e6 1e7
    python -m bench.tables 1e6 1e7 1e8 --layout parts --alike

Facts of two stages with a deduplicator between them are written as shards would leave them (one file stands for the equal
files of all shards), then the tables are made: by the driver alone (`whole`), or as parts by `--workers` processes, whose
processor time is printed apart from the driver's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from refinery.dedup.barrier import DedupResult
from refinery.execution.open import open_recipe
from refinery.planning.plan import Plan, prepare
from refinery.results import tables, trace
from refinery.results.database import Database
from refinery.results.part_tables import PartTables, TableOrder
from refinery.results.stage_result import StageResult
from refinery.results.summary_rows import SummaryPlan
from refinery.results.whole_tables import TableMaker, WholeTables
from refinery.storage.local import LocalStore
from refinery.workers.match_keys import SHARD_BITS
from refinery.workers.tasks import ShardResult

STEPS = [
    {"clean_email_mapper": {}},
    {"text_length_filter": {"min_len": 10}},
    {"words_num_filter": {"min_num": 5}},
    {"document_deduplicator": {}},
    {"alphanumeric_filter": {"min_ratio": 0.5}},
]
SIZE = 1 << 20  # samples of a block
REMOVED = 10  # of so many samples, one each is removed by a filter of either stage, and by the deduplicator


def plan_of(folder: Path) -> Plan:
    """The plan of the recipe, over one sample."""
    (folder / "in.jsonl").write_text('{"text": "one"}\n', "utf-8")
    recipe = {
        "dataset_path": str(folder / "in.jsonl"),
        "export_path": str(folder / "out.jsonl"),
        "work_dir": str(folder / "run"),
        "process": STEPS,
    }
    return prepare(*open_recipe(recipe))


def facts(plan: Plan, folder: Path, rows: int, shards: int, read: int) -> list[StageResult]:
    """Results of stages with `shards` shards of `rows` samples each. read: shards whose matches are read."""
    store, found, numbers = LocalStore(folder / "parts"), [], np.arange(rows)
    gone = numbers % REMOVED
    for stage, planned in enumerate(plan.stages):
        alive = numbers if not stage else numbers[(gone > 1)]
        dropped = pa.array(np.where(alive % REMOVED == 2 * stage, 2 + 3 * stage, 0), pa.int32())
        one = {
            "_row": pa.array(alive),
            "_dropped": pa.array(dropped.to_numpy(), pa.int32(), mask=dropped.to_numpy() == 0),
        }
        rng = np.random.default_rng(stage)
        for name in planned.program.facts:
            one.setdefault(name, pa.array(rng.integers(1, 5000, len(alive))))
        for change in planned.program.changes:
            one[change.changed] = pa.array(alive % 7 == 0)
        names = [f"stage_{stage + 1}/{shard:05d}.facts.parquet" for shard in range(shards)]
        written = store.scratch() / "facts.parquet"
        pq.write_table(pa.table(one), written, compression="zstd")
        store.publish(written, names[0])
        for name in names[1:]:
            os.link(store.fetch(names[0]), store.fetch(name))
        kept = len(alive) - int((alive % REMOVED == 2 * stage).sum())
        results = [
            ShardResult(shard, rows if not stage else len(alive), rows, kept, facts=name)
            for shard, name in enumerate(names)
        ]
        cut = [replace(plan.shards[0], index=shard) for shard in range(shards)]
        findings = _matches(store, planned, numbers[gone == 1], shards, read) if not stage else None
        found.append(StageResult(planned, None, cut, results, None, findings, store=store))  # type: ignore[arg-type]
    return found


def _matches(store: LocalStore, planned: Any, rows: np.ndarray, shards: int, read: int) -> DedupResult:
    """Each removed sample is a copy of the one before it."""
    at = (np.arange(read)[:, None] << SHARD_BITS) + rows
    gone = at.reshape(-1)
    n, none = len(gone), pa.nulls
    found = {
        "_row": gone,
        "kept": gone + 1,
        "via": gone + 1,
        "matched": pa.array(["key"] * n) if n < 1 else pa.DictionaryArray.from_arrays(np.zeros(n, np.int8), ["key"]),
    }
    found |= {
        "distance": none(n, pa.int32()),
        "estimated_jaccard": none(n, pa.float64()),
        "jaccard": none(n, pa.float64()),
    }
    clusters = {
        "_row": np.stack((gone, gone + 1), 1).reshape(-1),
        "kept": np.repeat(gone + 1, 2),
        "size": np.full(2 * n, 2),
    }
    for name, table in (("duplicates", found), ("clusters", clusters)):
        aside = store.scratch() / f"{name}.parquet"
        pq.write_table(pa.table(table), aside)
        store.publish(aside, f"stage_1/{name}.parquet")
    names = [(f"stage_1/{name}.parquet",) for name in ("duplicates", "clusters")]
    return DedupResult(planned.stage.after.index, np.zeros(shards * len(rows), np.int64), *names)


def maker(plan: Plan, layout: str, folder: Path, every: Callable[..., list[str]]) -> TableMaker:
    if layout == "whole":
        return WholeTables()
    programs = [stage.program for stage in plan.stages]
    order = TableOrder(
        SummaryPlan.of(programs, plan.recipe.stat_summary),
        trace.conditions(plan.stages, []), 10, (), tables.parameters_json(plan.recipe.steps),
    )  # fmt: skip
    return PartTables(plan.stages, order, every, LocalStore(folder / "parts"), LocalStore(folder / "tables"))


class Tasks:
    """Processes that run tasks. alike: blocks are equal, so one task runs, and links to its files stand for the others'."""

    def __init__(self, workers: int, folder: Path, alike: bool) -> None:
        self._workers, self._folder, self._alike, self.seconds = workers, folder, alike, 0.0

    def __call__(self, work: Callable[[str, str], str], shared: dict[str, Any], calls: Sequence[str]) -> list[str]:
        text = json.dumps(shared | {"threads": 1, "memory": "1GB", "spill": str(self._folder / "spill")})
        with ProcessPoolExecutor(self._workers) as pool:
            found = list(pool.map(partial(timed, work, text), calls[:1] if self._alike else calls))
        self.seconds += sum(seconds for _, seconds in found) * len(calls) / len(found)
        answers = [answer for answer, _ in found]
        return answers + [self._like(answers[0], number) for number in range(len(answers), len(calls))]

    def _like(self, answer: str, number: int) -> str:
        """The answer of another task, with files of its own."""
        for path in [one for one in (self._folder / "tables").rglob("000000.*") if one.name in answer]:
            target = path.with_name(path.name.replace("000000", f"{number:06d}"))
            if not target.exists():
                os.link(path, target)
        return answer.replace("/000000.", f"/{number:06d}.")


def timed(work: Callable[[str, str], str], shared: str, call: str) -> tuple[str, float]:
    began = time.process_time()
    return work(shared, call), time.process_time() - began


def measure(samples: int, shard: int, layout: str, workers: int, alike: bool) -> dict[str, Any]:
    """Make the tables; seconds of the driver's processor, of the tasks', and the driver's memory."""
    with tempfile.TemporaryDirectory(prefix="tables-") as made:
        folder = Path(made)
        plan = plan_of(folder)
        shards = -(-samples // SIZE) * (SIZE // shard)  # whole blocks, which are equal
        samples = shards * shard
        done = facts(plan, folder, shard, shards, SIZE // shard if alike else shards)
        tasks = Tasks(workers, folder, alike)
        table_maker = maker(plan, layout, folder, tasks)
        statements = tables.statements(
            plan.stages, [s.local_findings() for s in done], tables.parameters_json(plan.recipe.steps), samples
        )
        before, wall = time.process_time(), time.perf_counter()
        with Database(folder / "refinery.duckdb", [folder], spill=str(folder / "spill")) as db:
            table_maker.fill(db, done, statements)
            table_maker.summarise(db, [stage.program for stage in plan.stages], plan.recipe.stat_summary)
            table_maker.check(db, done)
            table_maker.chosen(db, done, [], 10)
            db.publish()
        driver = time.process_time() - before
        return {
            "samples": samples,
            "layout": layout,
            "driver, s": round(driver, 2),
            "driver, µs a sample": round(driver / samples * 1e6, 4),
            "tasks, s": round(tasks.seconds, 2),
            "wall, s": round(time.perf_counter() - wall, 2),
            "driver, MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "disk, MB": round(
                sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and "parts" not in p.parts) / 1e6
            ),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the driver's work on tables of many samples.")
    parser.add_argument("samples", nargs="+", type=float)
    parser.add_argument("--layout", nargs="+", default=["whole", "parts"], choices=["whole", "parts"])
    parser.add_argument("--shard", type=float, default=1 << 18, help="samples of each shard")
    parser.add_argument("--alike", action="store_true", help="run one task for all blocks, which are equal")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(int(given.samples[0]), int(given.shard), given.layout[0], given.workers, given.alike)))
        return 0
    for samples in given.samples:
        for layout in given.layout:
            command = [sys.executable, "-m", "bench.tables", str(samples), "--one", "--layout", layout]
            alike = ["--alike"] if given.alike else []
            options = ["--shard", str(given.shard), "--workers", str(given.workers), *alike]
            subprocess.run([*command, *options], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
