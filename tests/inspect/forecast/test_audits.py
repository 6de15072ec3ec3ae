"""The audits that a forecast counts are those that a run makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.execution.open import open_recipe
from refinery.inspect.forecast.audits import AuditWork, audit_work, audited_work
from refinery.inspect.forecast.estimates import Estimate, StepEstimate
from refinery.planning.pipeline import prepare
from tests.runs import write_lines

COUNT = 300


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run that removes a fourth of its samples."""
    folder = tmp_path_factory.mktemp("run")
    texts = [f"text number {number if number % 4 else number + 1} of all" for number in range(COUNT)]
    data = write_lines(folder / "data.jsonl", [{"text": text} for text in texts])
    content = {"dataset_path": str(data), "export_path": str(folder / "out" / "kept.jsonl"), "np": 1}
    return content | {"process": [{"document_deduplicator": None}]}, refinery.run(
        content | {"process": [{"document_deduplicator": None}]}
    )


def work(run: Any, rows: float = COUNT, removed: float = COUNT / 4, **more: Any) -> AuditWork:
    content, done = run
    plan = prepare(*open_recipe(content | more), runs=False)
    [left] = [Estimate(value, value, value) for value in [rows - removed]]
    step = StepEstimate(1, "document_deduplicator", None, "deduplicator", left, left, left, removed=removed)
    return audit_work(plan, rows, [step], Path(done.work_dir) / "refinery.duckdb")


def test_the_samples_of_an_audit_are_those_of_the_run(run: Any) -> None:
    [(compared,)] = run[1].sql("SELECT count(*) FROM audit").fetchall()
    found = work(run)
    assert found.samples == compared == COUNT / 4 and found.seconds > 0
    plan = prepare(*open_recipe(run[0]), runs=False)
    assert audited_work(plan, plan.shards, Path(run[1].work_dir) / "refinery.duckdb").samples == compared


def test_a_recipe_asks_for_an_audit(run: Any) -> None:
    assert work(run, audit=7).samples == 7
    assert work(run, audit=0) == AuditWork(0.0, 0.0)


def test_of_many_samples_only_a_suspicious_result_is_audited(run: Any) -> None:
    assert work(run, 1e6, 2e5).samples == 0
    assert work(run, 1e6, 4e5).samples == 1000
