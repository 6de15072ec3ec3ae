"""Small runs for the tests: samples in, a finished run out, and its tables as plain rows."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import refinery
from refinery.api import Run
from refinery.results.open_tables import open_tables

TABLES = (
    "runs",
    "steps",
    "ledger",
    "duplicates",
    "clusters",
    "audit",
    "hubs",
    "chains",
    "stats",
    "row_outcomes",
    "stat_summary",
    "trace",
    "quarantine",
    "shards",
    "files",
    "passed_over",
)

# Views, whose rows have no order.
VIEWS = ("fields", "samples", "removed", "changed", "cluster_members", "audit_summary")

# What may differ between two runs over the same samples: names, places, times, sizes in memory.
VARIES = {
    "runs": {
        "run_id",
        "recipe",
        "began",
        "seconds",
        "bytes",
        "peak_memory",
        "disk",
        "inputs",
        "outputs",
    },
    "steps": {"seconds", "batch_size"},
    "shards": {"reused"},
    "audit": {"source"},
    "audit_summary": {"source"},
    **dict.fromkeys(("samples", "removed", "cluster_members"), {"file", "line"}),
}

Sample = Mapping[str, Any] | str | bytes


def write_lines(path: Path, samples: Iterable[Sample]) -> Path:
    """Samples as JSON lines; texts and bytes stand for lines that are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for sample in samples:
            if isinstance(sample, Mapping):
                sample = json.dumps(sample, ensure_ascii=False)
            file.write((sample.encode() if isinstance(sample, str) else sample) + b"\n")
    return path


def settings(folder: Path, steps: Sequence[Any], **keys: Any) -> dict[str, Any]:
    """A recipe that reads `folder/in.jsonl` and leaves everything in `folder/run`, unless `keys` say otherwise."""
    recipe = {
        "dataset_path": str(folder / "in.jsonl"),
        "export_path": str(folder / "run" / "out.jsonl"),
        "np": 1,
        "process": list(steps),
    }
    return recipe | {name: str(value) if isinstance(value, Path) else value for name, value in keys.items()}


def refine(folder: Path, samples: Iterable[Sample], steps: Sequence[Any], **keys: Any) -> Run:
    """Write the samples to `folder/in.jsonl` and run the steps over them."""
    write_lines(folder / "in.jsonl", samples)
    return refinery.run(settings(folder, steps, **keys))


def texts(values: Iterable[str]) -> list[dict[str, Any]]:
    """Samples with an `id` from 0."""
    return [{"id": i, "text": value} for i, value in enumerate(values)]


def lines_of(path: Path) -> list[Any]:
    """The values of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def exported(run: Run) -> list[Any]:
    """The samples that a run has kept, from its one JSON Lines file."""
    [path] = run.outputs
    return lines_of(path)


def rows(run: Run, table: str, columns: str = "*", where: str = "TRUE") -> list[tuple[Any, ...]]:
    """Rows of a table in its own order."""
    return run.sql(f"SELECT {columns} FROM {table} WHERE {where}").fetchall()


def content(run: Run, *without: str) -> dict[str, list[tuple[Any, ...]]]:
    """All tables and views, without what may differ between runs and without the tables `without`.

    Without `shards` is without `files`, too: where the samples stand is not asked then.
    """
    without = (*without, "files") if "shards" in without else without
    tables = [table for table in TABLES if table not in without]
    with open_tables(run.database) as con:  # opening costs more than all the queries
        rows = {table: con.execute(f"SELECT {_alike(table)} FROM {table}").fetchall() for table in tables}
        ordered = {view: con.execute(f"SELECT {_alike(view)} FROM {view} ORDER BY ALL").fetchall() for view in VIEWS}
        return rows | {view: found for view, found in ordered.items() if view not in without}


def _alike(table: str) -> str:
    """Columns of a table without those that may differ."""
    hidden = ", ".join(sorted(VARIES.get(table, ())))
    return f"* EXCLUDE ({hidden})" if hidden else "*"


def operator_folder(folder: Path, header: str = "", **functions: str) -> Path:
    """A folder of Python mappers named `<name>_mapper`; each body is that of a function `text -> text or None`.

    header: further fields of their headers, as Python source.
    """
    for name, body in functions.items():
        path = folder / "mappers" / f"{name}_mapper.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        indented = textwrap.indent(textwrap.dedent(body).strip(), "    ")
        path.write_text(_MAPPER.format(name=name, body=indented, header=header), encoding="utf-8")
    return folder


_MAPPER = '''"""A mapper for one test."""

import os
import signal
import time
from pathlib import Path

import pyarrow as pa

from refinery.kernels.core.arrow import each

OPERATOR = {{
    "doc": "A mapper for one test.",
    "version": 1,
    "params": {{}},
    "functions": {{"{name}_delta": {{"columns": ["VARCHAR"], "returns": "VARCHAR", "runs": "python", "call": "call"}}}},
    "sql": "SELECT {name}_delta({{{{ text }}}}) AS delta",
    "examples": [],
    {header}
}}


def change(text):
{body}


def call(column: pa.Array) -> pa.Array:
    return each(column, change)
'''
