"""`refinery sql --explain`: how each step runs, and what it costs on a sample."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from typing import Any

from refinery.compiler.explain import step_plans
from refinery.engine.worker import Worker, by_step
from refinery.pipeline import Prepared
from refinery.samples.read import read

# Input bytes that `--explain analyze` runs over.
_SAMPLE = 16 << 20


def planned(prepared: Prepared) -> str:
    """The stage's steps, how each runs, what they share, and DuckDB's plan."""
    lines = [
        f"stage 1: {len(prepared.program.steps)} steps fused into one pass over each of {len(prepared.shards)} shards, "
        f"{prepared.workers} workers",
    ]
    for plan in step_plans(prepared.program, prepared.chain, prepared.library):
        called = f" {', '.join(plan.functions)}" if plan.functions else ""
        shared = f"; shares {', '.join(plan.shared)}" if plan.shared else ""
        lines.append(f"  step {plan.index:>2} {plan.name} ({plan.where}): {plan.runs}{called}{shared}")
    worker = Worker(prepared.program)
    try:
        lines += ["", "DuckDB's plan for one batch:", worker.explain(prepared.shards)]
    finally:
        worker.close()
    return "\n".join(lines)


def analyzed(prepared: Prepared) -> str:
    """Seconds, rows and speed per step, measured on the first 16 MB of the input."""
    worker = Worker(prepared.program)
    spent: dict[int, float] = defaultdict(float)
    rows_in: dict[int, int] = defaultdict(int)
    rows = size = 0
    try:
        for batch in _sample(prepared):
            started = time.perf_counter()
            done = worker.measure(batch)
            elapsed = time.perf_counter() - started
            for step, seconds in by_step(json.loads(worker.profile()), dict(prepared.program.probes), elapsed).items():
                spent[step] += seconds
            rows, size = rows + len(done), size + batch.table.nbytes
            for dropped in done["_dropped"].to_pylist():
                for step in prepared.program.steps:
                    if dropped is None or dropped >= step.index:
                        rows_in[step.index] += 1
    finally:
        worker.close()
    total = sum(spent.values()) or 1.0
    lines = [f"measured on {rows:,} rows, {size / 1e6:.1f} MB, one thread: {total:.2f} s, {size / 1e6 / total:.0f} MB/s"]
    lines.append(f"  reading and the rest: {spent[0]:.3f} s, {100 * spent[0] / total:.0f} %")
    plans: dict[int, Any] = {p.index: p for p in step_plans(prepared.program, prepared.chain, prepared.library)}
    for step in prepared.program.steps:
        share, runs = 100 * spent[step.index] / total, plans[step.index].runs
        lines.append(
            f"  step {step.index:>2} {step.name} ({runs}): {spent[step.index]:.3f} s, {share:.0f} %, {rows_in[step.index]:,} rows in"
        )
    return "\n".join(lines)


def _sample(prepared: Prepared) -> Any:
    seen = 0
    for shard in prepared.shards:
        for batch in read(shard, 8 << 20):
            yield batch
            seen += batch.table.nbytes
            if seen >= _SAMPLE:
                return
