"""Runs steps over a few samples, through everything but files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.compiler.model import Schema
from refinery.compiler.program import build
from refinery.execution.open import open_recipe
from refinery.io.batch import Batch
from refinery.workers.worker import Worker


def run_samples(
    samples: Sequence[dict[str, Any]], steps: list[Any], share: bool = True, columns: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """One dict per sample: text (at the end, or when it was removed), kept, stats, dropped (step), error."""
    recipe, library = open_recipe({"process": steps}, need_inputs=False)
    program, _ = build(recipe.steps, library, Schema(True, columns or {}), ("text",), share)
    lines = [json.dumps(sample, ensure_ascii=False) for sample in samples]
    numbers = np.arange(len(lines))
    batch = Batch(True, pa.table({"_line": pa.array(lines, pa.string())}), numbers, numbers + 1)
    worker = Worker(replace(program, folders=(os.getcwd(),)))
    try:
        done, failed = worker.attempt(batch)
        found = {row["_i"]: row for row in done.to_pylist()}
    finally:
        worker.close()
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
                "stats": {stat.column: row.get(stat.column) for stat in program.stats},
                "error": errors.get(i, row.get("_bad")),
            }
        )
    return rows
