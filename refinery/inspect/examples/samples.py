"""Runs steps over a few samples, through everything but files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.connections import connect
from refinery.compiler.ledger import case_of_step, ledger_columns
from refinery.compiler.model import Schema
from refinery.compiler.program import Program, build
from refinery.execution.open import open_recipe
from refinery.io.batch import LINE, Batch
from refinery.workers.worker import Worker

Sample = Mapping[str, Any]


@dataclass(frozen=True)
class CompiledSteps:
    """Compiled steps. reason: SQL for the reason of a removal."""

    program: Program
    reason: str


def compiled(
    steps: Sequence[Any],
    schema: Schema,
    share: bool = True,
    operators: Sequence[str] = (),
    folders: tuple[str, ...] = (),
) -> CompiledSteps:
    """Compile steps for samples with a text. share: with shared features. folders: those whose files the SQL may read."""
    recipe, library = open_recipe({"process": list(steps), "operators": list(operators)}, need_inputs=False)
    program, chain = build(recipe.steps, library, schema, ("text",), share)
    reason = case_of_step(ledger_columns(chain, recipe.steps)["reason"], "VARCHAR")
    return CompiledSteps(replace(program, folders=folders), reason)


def as_lines(samples: Sequence[Sample]) -> Batch:
    """A batch of samples as JSON lines."""
    lines = pa.array([json.dumps(sample, ensure_ascii=False) for sample in samples], pa.string())
    return _numbered(True, pa.table({LINE: lines}))


def as_columns(table: pa.Table) -> Batch:
    """A batch of the rows of a table."""
    return _numbered(False, table)


def _numbered(lines: bool, table: pa.Table) -> Batch:
    numbers = np.arange(len(table))
    return Batch(lines, table, numbers, numbers + 1)


@contextmanager
def working(program: Program) -> Iterator[Worker]:
    """A worker for a program, closed in the end."""
    worker = Worker(program)
    try:
        yield worker
    finally:
        worker.close()


def outcomes(steps: CompiledSteps, worker: Worker, batch: Batch, texts: Sequence[Any]) -> list[dict[str, Any]]:
    """One dict per sample: text (at the end, or when it was removed), kept, stats, dropped (step), reason, error.

    worker: of the steps' program. texts: of the samples of the batch.
    """
    program = steps.program
    done, failed = worker.attempt(batch)
    rows = {row["_i"]: row for row in done.to_pylist()}
    reasons = _reasons(done, steps.reason)
    errors = {failure.at: failure.error for failure in failed}
    return [_outcome(program, rows.get(i, {}), text, reasons.get(i), errors.get(i)) for i, text in enumerate(texts)]


def _outcome(program: Program, row: dict[str, Any], text: Any, reason: str | None, error: str | None) -> dict[str, Any]:
    new = row.get("_out_text")
    return {
        "text": text if new is None else new,
        "kept": bool(row) and row["_dropped"] is None,
        "dropped": row.get("_dropped"),
        "reason": reason,
        "written": {keys[0]: row.get(program.outs[keys]) for keys in program.written},
        "stats": {stat.column: row.get(stat.column) for stat in program.stats},
        "error": error if error is not None else row.get("_bad"),
    }


def _reasons(done: pa.Table, sql: str) -> dict[int, str]:
    if done["_dropped"].null_count == len(done):
        return {}
    with connect() as con:
        con.register("done", done)
        return dict(con.execute(f"SELECT _i, {sql} FROM done WHERE _dropped IS NOT NULL").fetchall())
