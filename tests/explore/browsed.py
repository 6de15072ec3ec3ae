"""A run whose texts, fields, files and reasons would like to take part in the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import refinery
from tests.inspect.report.conftest import HOSTILE, STEPS
from tests.runs import Sample, settings, write_lines

MARKUP = "<img src=x onerror=alert(1)>"
FILE = "<svg onload=alert(2)> \u202e'&.jsonl"
ROWS = 124


def sample(row: int) -> Sample:
    """A sample with hostile names and values; every fortieth line is no sample."""
    if row % 40 == 39:
        return f"<script>alert({row})</script> \u202e broken Needle"
    text = HOSTILE[row % 6] + "\u00a0word" * (row % 23) + (" needle" if row % 5 == 0 else "")
    if 60 <= row < 65:
        text = f"{HOSTILE[0]} stands in several rows"
    if row == 70:
        text = f"{'many plain words ' * 30}alert{' and many others' * 30}"
    if row >= 100:
        text = "short" + "!" * (row % 5) * (300 if row > 114 else 1)
    return {
        "id": row,
        "text": text,
        MARKUP: [MARKUP, "</script>", "\u202eturned"][row % 3],
        "nested": {"<b>": row % 2, "url": f"https://{['a', 'b'][row % 2]}.example.org/{MARKUP}"},
    }


def browsed_run(place: Path, **keys: Any) -> Path:
    """Make the run in a folder whose name is markup, too; its run folder."""
    folder = place / "run <i>of&"
    write_lines(folder / "in" / FILE, [sample(row) for row in range(ROWS // 2)])
    write_lines(folder / "in" / "z.jsonl", [sample(row) for row in range(ROWS // 2, ROWS)])
    name = {"project_name": f"{MARKUP} \u202e </title>"}
    return refinery.run(settings(folder, STEPS, dataset_path=folder / "in", **name, **keys)).work_dir


def stricter_run(run: Path) -> Path:
    """Make a run of the same input with a stricter filter, in a folder beside it; its run folder."""
    place = run.parent
    steps = [step | {"words_num_filter": {"min_num": 9}} if "words_num_filter" in step else step for step in STEPS]
    export = place / "stricter" / "out.jsonl"
    return refinery.run(settings(place, steps, dataset_path=place / "in", export_path=export)).work_dir
