"""Time and memory of the driver for the tables of many samples, from synthetic facts: no text is read.

    python -m bench.tables 1e6 1e7
    python -m bench.tables 1e6 1e7 1e8 --layout parts --alike
    python -m bench.tables 1e6 --layout parts --alike --piece 65536

Facts of two stages with a deduplicator between them are written as shards would leave them (one file stands for the equal
files of all shards), then the tables are made: by the driver alone (`whole`), or as parts by `--workers` processes, whose
processor time is printed apart from the driver's. Three of ten samples are copies; files of members are those of partitions of a block.
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

from refinery.dedup.model import DedupResult
from refinery.execution.open import open_recipe
from refinery.io.model import RemovedIn
from refinery.planning.pipeline import prepare
from refinery.planning.plan import Plan
from refinery.results import tables, trace
from refinery.results.database import Database
from refinery.results.part_tables import PartTables, TableOrder
from refinery.results.stage_result import StageResult
from refinery.results.summary_rows import SummaryPlan
from refinery.results.whole_tables import TableMaker, WholeTables
from refinery.storage.local import LocalStore
from refinery.workers.executor import Executor, ThreadExecutor
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
UNIT = ", µs a sample"
PIECE = 1 << 17  # samples of a task
# Of ten samples, a filter of either stage removes one each, and the deduplicator three, which are copies of another one.
TEN, FILTERED, ORIGINAL, COPIES = 10, (0, 2), 1, (3, 4, 5)


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
    tens = numbers % TEN
    for stage, planned in enumerate(plan.stages):
        alive = numbers if not stage else numbers[~np.isin(tens, (FILTERED[0], *COPIES))]
        dropped = pa.array(np.where(alive % TEN == FILTERED[stage], 2 + 3 * stage, 0), pa.int32())
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
        kept = len(alive) - int((alive % TEN == FILTERED[stage]).sum())
        results = [
            ShardResult(shard, rows if not stage else len(alive), rows, kept, facts=name)
            for shard, name in enumerate(names)
        ]
        cut = [replace(plan.shards[0], index=shard) for shard in range(shards)]
        findings = _matches(store, planned, numbers, shards, read) if not stage else None
        found.append(StageResult(planned, None, cut, results, None, findings, store=store))  # type: ignore[arg-type]
    return found


def _matches(store: LocalStore, planned: Any, rows: np.ndarray, shards: int, read: int) -> DedupResult:
    """Removed samples are copies of one sample among ten. A file stands for the equal files of all blocks, `read` shards each."""
    at = ((np.arange(read)[:, None] << SHARD_BITS) + rows).reshape(-1)
    tens, originals = np.tile(rows % TEN, read), at - np.tile(rows % TEN, read) + ORIGINAL
    is_copy, is_member = np.isin(tens, COPIES), np.isin(tens, (ORIGINAL, *COPIES))
    gone, kept = at[is_copy], originals[is_copy]
    n, none = len(gone), pa.nulls
    found = {
        "_row": gone,
        "kept": kept,
        "via": kept,
        "matched": pa.DictionaryArray.from_arrays(np.zeros(n, np.int8), ["key"]),
    }
    found |= {
        "distance": none(n, pa.int32()),
        "estimated_jaccard": none(n, pa.float64()),
        "jaccard": none(n, pa.float64()),
    }
    size = np.full(is_member.sum(), 1 + len(COPIES))
    clusters = {"_row": at[is_member], "kept": originals[is_member], "size": size}
    count, names = -(-shards // read), {}
    for name, table in (("duplicates", found), ("clusters", clusters)):
        aside = store.scratch() / f"{name}.parquet"
        pq.write_table(pa.table(table), aside)
        names[name] = tuple(f"stage_1/{name}_{number:05d}.parquet" for number in range(count))
        store.publish(aside, names[name][0])
        for other in names[name][1:]:
            os.link(store.fetch(names[name][0]), store.fetch(other))
    places = {
        shard: RemovedIn(f"stage_1/removed_{shard // read:05d}.rows", 0, n // read, "") for shard in range(shards)
    }
    step = planned.stage.after.index
    return DedupResult(step, duplicates=names["duplicates"], clusters=names["clusters"], removed_in=places)


def maker(plan: Plan, layout: str, folder: Path, executor: Executor, piece: int) -> TableMaker:
    if layout == "whole":
        return WholeTables()
    programs = [stage.program for stage in plan.stages]
    order = TableOrder(
        SummaryPlan.of(programs, plan.recipe.stat_summary),
        trace.conditions(plan.stages, []), 10, (), tables.step_cells(plan.recipe.steps, plan.library.operators, plan.sizes),
    )  # fmt: skip
    return PartTables(plan.stages, order, executor, LocalStore(folder / "parts"), LocalStore(folder / "tables"), piece)


class Processes(ThreadExecutor):
    """Runs tasks in processes. alike: tasks of a kind are equal, so one runs, and links to its files stand for the others'.

    seconds: of processors, by the kind of a task. own: of this process, for what is in the place of a cluster.
    """

    def __init__(self, workers: int, folder: Path, alike: bool) -> None:
        super().__init__(str(folder / "parts"), workers, workers * 1_000_000_000, str(folder / "spill"))
        self._folder, self._alike, self.seconds = folder, alike, dict[str, float]()
        self.own = 0.0

    def map(
        self,
        work: Callable[..., str],
        calls: Sequence[tuple[Any, ...]],
        shared: Sequence[Any] = (),
        label: str = "",
        files: Sequence[str] = (),
    ) -> list[str]:
        """Call a function in processes."""
        if not calls:
            return []
        began = time.process_time()
        call = partial(timed, work, (self._place(self._workers), *shared))
        with ProcessPoolExecutor(1 if self._alike else self._workers) as pool:
            if self._alike:  # the first task of a process imports libraries
                found = list(pool.map(call, calls[:1] * 2))[1:]
            else:
                found = list(pool.map(call, calls))
        self.seconds[work.__name__] = sum(seconds for _, seconds in found) * len(calls) / len(found)
        answers = [answer for answer, _ in found]
        answers += [self._like(answers[0], number) for number in range(len(answers), len(calls))]
        self.own += time.process_time() - began
        return answers

    def _like(self, answer: str, number: int) -> str:
        """The answer of another task, with files of its own."""
        for path in [one for one in (self._folder / "tables").rglob("000000.*") if one.name in answer]:
            target = path.with_name(path.name.replace("000000", f"{number:06d}"))
            if not target.exists():
                os.link(path, target)
        return answer.replace("/000000.", f"/{number:06d}.")


def timed(work: Callable[..., str], first: tuple[Any, ...], call: tuple[Any, ...]) -> tuple[str, float]:
    began = time.process_time()
    return work(*first, *call), time.process_time() - began


def measure(samples: int, shard: int, layout: str, workers: int, alike: bool, piece: int = PIECE) -> dict[str, Any]:
    """Make the tables; seconds of the driver's processor, of the tasks', and the driver's memory. piece: samples of a task."""
    with tempfile.TemporaryDirectory(prefix="tables-") as made:
        folder = Path(made)
        plan = plan_of(folder)
        shards = -(-samples // SIZE) * (SIZE // shard)  # whole blocks, which are equal
        samples = shards * shard
        done = facts(plan, folder, shard, shards, SIZE // shard if alike else shards)
        tasks = Processes(workers, folder, alike)
        table_maker = maker(plan, layout, folder, tasks, piece)
        statements = tables.statements(
            plan.stages,
            [s.local_findings() for s in done],
            tables.step_cells(plan.recipe.steps, plan.library.operators, plan.sizes),
            samples,
        )
        before, wall = time.process_time(), time.perf_counter()
        with Database(folder / "refinery.duckdb", [folder], spill=str(folder / "spill")) as db:
            table_maker.fill(db, done, statements)
            table_maker.summarise(db, [stage.program for stage in plan.stages], plan.recipe.stat_summary)
            table_maker.check(db, done)
            table_maker.chosen(db, done, [], 10)
            db.publish()
        driver = time.process_time() - before - tasks.own
        return {
            "samples": samples,
            "layout": layout,
            "driver, s": round(driver, 2),
            "driver, µs a sample": round(driver / samples * 1e6, 4),
            "tasks, s": round(sum(tasks.seconds.values()), 2),
            **{f"{name}{UNIT}": round(each / samples * 1e6, 4) for name, each in tasks.seconds.items()},
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
    parser.add_argument("--shard", type=float, default=1 << 15, help="samples of each shard")
    parser.add_argument("--piece", type=float, default=PIECE, help="samples of each task")
    parser.add_argument("--alike", action="store_true", help="run one task for all blocks, which are equal")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(
            json.dumps(
                measure(
                    int(given.samples[0]),
                    int(given.shard),
                    given.layout[0],
                    given.workers,
                    given.alike,
                    int(given.piece),
                )
            )
        )
        return 0
    for samples in given.samples:
        for layout in given.layout:
            command = [sys.executable, "-m", "bench.tables", str(samples), "--one", "--layout", layout]
            alike = ["--alike"] if given.alike else []
            options = [
                "--shard",
                str(given.shard),
                "--workers",
                str(given.workers),
                "--piece",
                str(given.piece),
                *alike,
            ]
            subprocess.run([*command, *options], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
