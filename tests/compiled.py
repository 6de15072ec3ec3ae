"""Runs steps over a few samples, through everything but files."""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from refinery.compiler.ledger import case_of_step, ledger_columns
from refinery.compiler.model import Schema
from refinery.compiler.program import Program, build
from refinery.execution.open import open_recipe
from refinery.io.batch import Batch
from refinery.workers.worker import Worker

# Workers of the last programs: most tests run one program over other samples, or shared and not, which is often the same.
_OPEN: list[Worker] = []
_MOST = 3


@atexit.register
def _close() -> None:
    """Close the workers before the interpreter takes their functions away."""
    while _OPEN:
        _OPEN.pop().close()


def _worker(program: Program) -> Worker:
    """A worker for a program, opened unless it is one of the last."""
    for worker in _OPEN:
        if worker.program == program:
            return worker
    _OPEN.append(Worker(program))
    if len(_OPEN) > _MOST:
        _OPEN.pop(0).close()
    return _OPEN[-1]


@lru_cache(maxsize=8)
def _program(given: str, share: bool, folder: str, operators: tuple[str, ...] = ()) -> tuple[Program, str]:
    """The compiled steps, and SQL for the reason of a removal.

    given: steps and columns as JSON. folder: the current one, which paths are relative to. operators: folders of a user's.
    """
    steps, columns = json.loads(given)
    recipe, library = open_recipe({"process": steps, "operators": list(operators)}, need_inputs=False)
    program, chain = build(recipe.steps, library, Schema(True, columns), ("text",), share)
    reason = case_of_step(ledger_columns(chain, recipe.steps)["reason"], "VARCHAR")
    return replace(program, folders=(folder,)), reason


def program_of(steps: list[Any]) -> Program:
    """The compiled steps, for samples of a text."""
    return _program(json.dumps([steps, {}]), True, os.getcwd())[0]


def run_samples(
    samples: Sequence[dict[str, Any]],
    steps: list[Any],
    share: bool = True,
    columns: dict[str, str] | None = None,
    operators: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """One dict per sample: text (at the end, or when it was removed), kept, stats, dropped (step), reason, error."""
    program, reason = _program(json.dumps([steps, columns or {}]), share, os.getcwd(), tuple(operators))
    lines = [json.dumps(sample, ensure_ascii=False) for sample in samples]
    numbers = np.arange(len(lines))
    batch = Batch(True, pa.table({"_line": pa.array(lines, pa.string())}), numbers, numbers + 1)
    done, failed = _worker(program).attempt(batch)
    found = {row["_i"]: row for row in done.to_pylist()}
    reasons = dict(duckdb.sql(f"SELECT _i, {reason} FROM done WHERE _dropped IS NOT NULL").fetchall())
    errors = {failure.at: failure.error for failure in failed}
    rows = []
    for i, sample in enumerate(samples):
        row = found.get(i, {})
        new = row.get("_out_text")
        rows.append(
            {
                "text": sample["text"] if new is None else new,
                "kept": bool(row) and row["_dropped"] is None,
                "dropped": row.get("_dropped"),
                "reason": reasons.get(i),
                "written": {keys[0]: row.get(program.outs[keys]) for keys in program.written},
                "stats": {stat.column: row.get(stat.column) for stat in program.stats},
                "error": errors.get(i, row.get("_bad")),
            }
        )
    return rows
