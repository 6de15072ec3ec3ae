"""Description of a run: the table `runs`, and recipe.yaml, plan.json and manifest.json beside the database."""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from refinery.common.packages import installed_version
from refinery.common.version import __version__
from refinery.kernels.core.library import compiler
from refinery.results.database import Counts, Database
from refinery.results.stage_result import StageResult
from refinery.storage.run_folder import RunDir, aside
from refinery.storage.urls import is_url


def peak_memory() -> int:
    """Peak memory of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@cache
def versions() -> dict[str, str]:
    """Versions of the software that results can depend on."""
    names = ("duckdb", "pyarrow", "regex", "ftfy", "selectolax", "sqlglot")
    return {"refinery": __version__, "python": platform.python_version(), "kernels": compiler()} | {
        name: installed_version(name) for name in names
    }


def describe(
    facts: dict[str, Any],
    outputs: Sequence[Any],
    beside: Sequence[Any],
    counts: Counts,
    began: datetime,
    seconds: float,
    size: int,
    disk: int,
) -> dict[str, Any]:
    """The manifest as plain data. facts: known before the run. beside: files of the samples' statistics."""
    return {
        "run_id": uuid.uuid4().hex,
        **facts,
        "began": began.astimezone(UTC).isoformat(),
        "seconds": round(seconds, 3),
        "rows": asdict(counts),
        "bytes": size,
        "peak_memory": peak_memory(),
        "disk": disk,
        "outputs": described(outputs),
        "beside": described(beside),
        "versions": versions(),
    }


def described(outputs: Sequence[Any]) -> list[dict[str, Any]]:
    """Description of output files."""
    return [_output(output) for output in outputs]


def _output(output: Any) -> dict[str, Any]:
    """Description of an output file: path, rows, size and time of change, or version of the object."""
    modified = output.version if is_url(output.path) else os.stat(output.path).st_mtime_ns
    return {"path": str(output.path), "rows": output.rows, "bytes": output.bytes, "modified": modified}


def write(db: Database, run_dir: RunDir, manifest: dict[str, Any], recipe_text: str, plan: dict[str, Any]) -> None:
    """Fill the table `runs`; write `recipe.yaml`, `plan.json` and `manifest.json`."""
    row = {
        "run_id": manifest["run_id"],
        "project_name": manifest["project_name"],
        "recipe": recipe_text,
        "fingerprint": manifest["fingerprint"],
        "portion": manifest["portion"] and manifest["portion"]["description"],
        "began": datetime.fromisoformat(manifest["began"]).astimezone(UTC).replace(tzinfo=None),
        "seconds": manifest["seconds"],
        "rows_read": manifest["rows"]["read"],
        "rows_kept": manifest["rows"]["kept"],
        "rows_removed": manifest["rows"]["removed"],
        "rows_quarantined": manifest["rows"]["quarantined"],
        "bytes": manifest["bytes"],
        "peak_memory": manifest["peak_memory"],
        "disk": manifest["disk"],
        "inputs": [item["path"] for item in manifest["inputs"]],
        "outputs": [item["path"] for item in manifest["outputs"]],
        "versions": json.dumps(manifest["versions"]),
        "assets": json.dumps(manifest["assets"], ensure_ascii=False),
    }
    kinds = {"inputs": "VARCHAR[]", "outputs": "VARCHAR[]", "began": "TIMESTAMP", "seconds": "DOUBLE"}
    kinds |= {name: "BIGINT" for name, value in row.items() if isinstance(value, int)}
    columns = ", ".join(f"CAST(? AS {kinds.get(name, 'VARCHAR')}) AS {name}" for name in row)
    db.con.execute(f"CREATE OR REPLACE TABLE runs AS SELECT {columns}", list(row.values())).fetchall()
    publish(run_dir.recipe, recipe_text)
    publish(run_dir.plan, json.dumps(plan, ensure_ascii=False, indent=2))
    publish(run_dir.manifest, written(manifest))


def written(manifest: dict[str, Any]) -> str:
    """The manifest as JSON, each of its inputs and outputs on a line: a run may have a hundred thousand of them."""
    lists = {name: value for name, value in manifest.items() if name in ("inputs", "outputs") and value}
    text = json.dumps(manifest | dict.fromkeys(lists, []), ensure_ascii=False, indent=2)
    for name, items in lists.items():
        lines = ",\n".join(f"    {json.dumps(item, ensure_ascii=False)}" for item in items)
        text = text.replace(f'\n  "{name}": []', f'\n  "{name}": [\n{lines}\n  ]', 1)
    return text


def publish(path: Path, text: str, unfinished: Path | None = None) -> None:
    """Write a text file atomically. unfinished: its name until it is complete."""
    unfinished = unfinished or aside(path)
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path)


def plan(done: Sequence[StageResult]) -> list[dict[str, Any]]:
    """The statements and steps of each stage, for plan.json."""
    stages = []
    for stage in done:
        planned = stage.planned.stage
        after = [planned.after] if planned.after is not None else []
        steps = [
            {"step": s.index, "operator": s.name, "recipe_line": s.where, "given": sorted(s.given)}
            for s in (*stage.planned.steps, *after)
        ]
        sql = stage.program.pass_sql
        stages.append({"stage": planned.number, "fingerprint": planned.fingerprint, "steps": steps, "sql": sql})
    return stages
