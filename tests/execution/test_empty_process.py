"""A recipe without steps: samples are read, checked and exported as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from tests.runs import exported, refine, settings

SAMPLES: list[Any] = ['{"text": "abc",  "n": 1.50}', '{"text": null}', "{broken", {"text": "", "n": None}]


def test_samples_are_exported_as_they_are(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, [])
    assert (run.counts.read, run.counts.kept, run.counts.quarantined) == (4, 2, 2)
    assert run.outputs[0].read_text() == '{"text": "abc",  "n": 1.50}\n{"text": "", "n": null}\n'  # type: ignore[union-attr]
    assert run.sql("SELECT * FROM steps").fetchall() == [] and run.sql(
        "SELECT count(*) FROM row_outcomes"
    ).fetchall() == [(2,)]
    assert any("process is empty" in line for line in run.warnings)
    assert refine(tmp_path, SAMPLES, []).counts == run.counts  # gone on with


def test_a_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a", None, "c"], "n": [1, 2, 3]}), tmp_path / "in.parquet")
    run = refinery.run(settings(tmp_path, [], dataset_path=tmp_path / "in.parquet"))
    assert exported(run) == [{"text": "a", "n": 1}, {"text": "c", "n": 3}] and run.counts.quarantined == 1


@pytest.mark.parametrize(
    "process",
    [
        None,
        {"text_length_filter": {"min_len": 2}},
        pytest.param("text_length_filter", marks=pytest.mark.long),
    ],
)
def test_run_and_script(tmp_path: Path, process: Any) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": "some words here"}) + "\n")
    recipe = settings(tmp_path, []) | {"process": process}
    assert refinery.run(recipe).counts.kept == 1
    assert "COPY" in refinery.compile(recipe)


def test_deduplicators_that_are_left_out_leave_nothing_to_do(tmp_path: Path) -> None:
    run = refine(tmp_path, [*SAMPLES, SAMPLES[0]], ["document_deduplicator"], measure_only=True)
    assert (run.counts.kept, run.counts.quarantined) == (3, 2)
