"""Facts of a run and of each step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from refinery.common.step_label import step_label
from refinery.inspect.report.tables import Row, RunTables
from refinery.results.step_names import name_column

# Most input and output files to list by name.
MOST_FILES = 50


@dataclass(frozen=True)
class RunFile:
    """An input or output file. size: bytes, rows: samples, format: as read; None if not in the manifest."""

    path: str
    size: int | None = None
    rows: int | None = None
    format: str | None = None


@dataclass(frozen=True)
class Facts:
    """Facts of a run. run: the row of table `runs`. inputs, outputs: the first of each."""

    run: Row
    versions: dict[str, str]
    inputs: list[RunFile]
    outputs: list[RunFile]

    @property
    def name(self) -> str:
        """The project name in the recipe."""
        return str(self.run["project_name"])

    @property
    def measured_only(self) -> bool:
        """True if filters only measured and removed nothing: the run was an analysis."""
        import yaml

        recipe = yaml.safe_load(self.run["recipe"])
        return isinstance(recipe, dict) and recipe.get("measure_only") is True


@dataclass(frozen=True)
class ReportStep:
    """A row of table `steps`. parameters: all, with defaults."""

    step: int
    operator: str
    kind: str
    parameters: dict[str, Any]
    recipe_line: str
    rows_in: int
    rows_out: int
    removed: int
    changed: int
    quarantined: int
    bytes_in: int
    bytes_out: int
    seconds: float
    name: str | None

    @property
    def label(self) -> str:
        """The operator with the name of the step, if it has one."""
        return step_label(self.operator, self.name)


@dataclass(frozen=True)
class Reason:
    """A reason of a step, and the samples that it removed for it. text: None for all reasons that are not listed."""

    text: str | None
    removed: int


def read_facts(tables: RunTables) -> Facts:
    """Read the facts of the run."""
    [run] = tables.rows("SELECT * FROM runs")
    manifest = _manifest(tables)
    return Facts(
        run,
        json.loads(run["versions"]),
        _files(run["inputs"], manifest.get("inputs")),
        _files(run["outputs"], manifest.get("outputs")),
    )


def read_steps(tables: RunTables) -> list[ReportStep]:
    """Read the steps, in order."""
    plain = ", ".join(name for name in ReportStep.__dataclass_fields__ if name != "name")
    rows = tables.rows(f"SELECT {plain}, {name_column(tables.con)} AS name FROM steps ORDER BY step")
    return [ReportStep(**{**row, "parameters": json.loads(row["parameters"])}) for row in rows]


# Reasons listed for one step; the others are one row.
MOST_REASONS = 20


def read_reasons(tables: RunTables, steps: Sequence[ReportStep]) -> dict[int, list[Reason]]:
    """Read how many samples each step removed for each of its reasons, the most frequent first.

    Steps with a single reason are left out, and deduplicators, whose reasons name the kept sample.
    """
    several: dict[int, list[Reason]] = {}
    filters = {step.step for step in steps if step.kind != "deduplicator"}
    for row in tables.query("reasons", most=MOST_REASONS):
        if row["step"] in filters and row["reasons"] > 1:
            several.setdefault(row["step"], []).append(Reason(row["reason"], row["removed"]))
    return several


def _manifest(tables: RunTables) -> dict[str, Any]:
    """The run's manifest, the only place of file sizes; empty if it is missing, so that the report still works."""
    try:
        manifest = json.loads(tables.run_dir.manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _files(paths: list[str], items: Any) -> list[RunFile]:
    known = {item["path"]: item for item in items or () if isinstance(item, dict) and "path" in item}
    files = []
    for path in paths[:MOST_FILES]:
        item = known.get(path, {})
        files.append(RunFile(path, item.get("size", item.get("bytes")), item.get("rows"), item.get("format")))
    return files
