"""The batch size that is chosen for each operator stands in the log, in the plan and in the table of steps."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import refinery
from refinery.execution.open import open_recipe
from refinery.inspect.explain import planned
from refinery.planning.pipeline import prepare
from refinery.planning.sizes import ROWS

PROCESS: list[Any] = [
    {"text_length_filter": {"min_len": 1}},
    {"clean_html_mapper": {"batch_size": 100}},
    "document_deduplicator",
]


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "in.jsonl").write_text('{"text": "<p>a"}\n')
    return {"dataset_path": str(tmp_path / "in.jsonl"), "export_path": str(tmp_path / "o.jsonl"), "process": PROCESS}


def test_the_table_and_the_log_have_it(recipe: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    run = refinery.run(recipe)
    assert run.sql("SELECT batch_size FROM steps ORDER BY step").fetchall() == [(ROWS,), (100,), (ROWS,)]
    assert f"1 text_length_filter {ROWS:,} samples, 2 clean_html_mapper 100 samples" in caplog.text


def test_the_plan_has_it(recipe: dict[str, Any]) -> None:
    out = Console(width=200, record=True, file=io.StringIO())
    for part in planned(prepare(*open_recipe(recipe)), False):
        out.print(part)
    text = out.export_text()
    assert (
        f"batches of up to {ROWS:,} samples and 16.8 MB for each operator; step 2 clean_html_mapper 100 at a time"
        in text
    )
