"""`refinery sql --explain`: how each step runs, and what it costs on a sample."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refinery.compiler.explain import StepPlan, step_plans
from refinery.engine.worker import Worker, by_step
from refinery.preparing import Prepared
from refinery.samples.batch import Batch
from refinery.samples.read import read
from refinery.staging import BATCH

# Input bytes that `--explain analyze` runs over.
_SAMPLE = 16 << 20


def planned(prepared: Prepared) -> Iterator[Any]:
    """The stage's steps, how each runs, what they share, and DuckDB's plan."""
    steps, shards, workers = len(prepared.stages[0].program.steps), len(prepared.shards), prepared.workers
    yield f"stage 1: {_many(steps, 'step')} fused into one pass over {_many(shards, 'shard')} with {_many(workers, 'worker')}"
    table = _table("step", "operator", "runs as", "functions", "shares", "line")
    for plan in step_plans(prepared.stages[0].program, prepared.stages[0].chain, prepared.library):
        functions, shared = ", ".join(plan.functions), ", ".join(plan.shared)
        table.add_row(str(plan.index), plan.name, plan.runs, functions, shared, plan.where.rpartition(":")[2])
    yield table
    worker = Worker(prepared.stages[0].program)
    try:
        yield f"DuckDB's plan for one batch of up to {BATCH >> 20} MB:"
        yield worker.explain(prepared.shards)
    finally:
        worker.close()


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _table(*names: str, right: tuple[str, ...] = ("step",)) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in names:
        wide = name in ("functions", "shares")
        table.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=not wide)
    return table


def analyzed(prepared: Prepared) -> Iterator[Any]:
    """Seconds, rows and speed per step, measured on the first 16 MB of the input."""
    spent: dict[int, float] = defaultdict(float)
    ended: Counter[int | None] = Counter()
    rows = size = 0
    worker = Worker(prepared.stages[0].program)
    try:
        for batch in _sample(prepared):
            if not rows:
                _measured(worker, batch)  # loads or compiles the kernels, which is not what is measured
            started = time.perf_counter()
            done = _measured(worker, batch)
            elapsed = time.perf_counter() - started
            for step, seconds in by_step(json.loads(worker.profile()), dict(prepared.stages[0].program.probes), elapsed).items():
                spent[step] += seconds
            done = done.filter(pc.is_null(done["_bad"]))
            ended.update(done["_dropped"].to_pylist())
            rows, size = rows + len(done), size + batch.table.nbytes
    finally:
        worker.close()
    total = sum(spent.values()) or 1e-9
    yield f"measured on {rows:,} rows, {size / 1e6:.1f} MB, by one thread: {total:.3f} s, {size / 1e6 / total:.0f} MB/s"
    yield _costs(prepared, spent, ended, rows, size)


def _measured(worker: Worker, batch: Batch) -> pa.Table:
    """The statement's rows; samples on which a step fails are left out, as a run would leave them out."""
    try:
        return worker.measure(batch)
    except duckdb.Error:
        _, failed = worker.attempt(batch)
        return worker.measure(batch.take(np.delete(np.arange(len(batch)), [failure.at for failure in failed])))


def _costs(prepared: Prepared, spent: dict[int, float], ended: Counter[int | None], rows: int, size: int) -> Any:
    total = sum(spent.values()) or 1e-9
    numbers = ("step", "rows in", "removed", "seconds", "share", "MB/s")
    table = _table("step", "operator", "runs as", *numbers[1:], right=numbers)
    plans: dict[int, StepPlan] = {p.index: p for p in step_plans(prepared.stages[0].program, prepared.stages[0].chain, prepared.library)}
    left = rows
    for step in prepared.stages[0].program.steps:
        seconds, removed = spent[step.index], ended[step.index]
        speed = f"{size / 1e6 * left / max(rows, 1) / seconds:,.0f}" if seconds >= 0.0005 else ""
        cells = [
            f"{left:,}",
            f"{removed:,}" if removed else "",
            f"{seconds:.3f}",
            f"{100 * seconds / total:.0f} %",
            speed,
        ]
        table.add_row(str(step.index), step.name, plans[step.index].runs, *cells)
        left -= removed
    table.add_row(
        "", "reading and the rest", "", f"{rows:,}", "", f"{spent[0]:.3f}", f"{100 * spent[0] / total:.0f} %", ""
    )
    return table


def _sample(prepared: Prepared) -> Iterator[Batch]:
    seen = 0
    for shard in prepared.shards:
        for batch in read(shard, BATCH):
            yield batch
            seen += batch.table.nbytes
            if seen >= _SAMPLE:
                return
