"""A run notes samples that are removed because a value is NULL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery


@pytest.mark.parametrize(
    ("process", "noted"),
    [
        ([{"sql_filter": {"where": "n > 1"}}], ["step 1 sql_filter removed 2 samples because n is NULL"]),
        (
            [{"sql_filter": {"where": "length(text) > 0 AND m.k = 1 AND n > 1"}}],
            [
                "step 1 sql_filter removed 1 sample because m.k is NULL",
                "step 1 sql_filter removed 1 sample because n is NULL",
            ],
        ),
        ([{"sql_filter": {"where": "n is NULL"}}], []),
        ([{"text_length_filter": {"min_len": 2}}], []),
    ],
)
def test_samples_removed_for_a_null_are_noted(tmp_path: Path, process: list[Any], noted: list[str]) -> None:
    rows = [
        {"text": "one", "n": 1, "m": {"k": 1}},
        {"text": "two", "n": None, "m": {"k": None}},
        {"text": "three", "n": None, "m": {"k": 1}},
        {"text": "four", "n": 4, "m": {"k": 1}},
    ]
    run = refinery.run({"process": process, "export_path": str(tmp_path / "o.jsonl")}, dataset=rows)
    assert [note for note in run.warnings if "NULL" in note] == noted
