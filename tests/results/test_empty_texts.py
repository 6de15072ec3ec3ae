"""A run notes that samples without a text are in its export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery


@pytest.mark.parametrize(
    ("process", "noted"),
    [
        (["clean_ip_mapper"], "1 kept sample has an empty text"),
        ([{"sql_mapper": {"text": "replace(text, 'a', '')"}}, "clean_ip_mapper"], "2 kept samples have an empty text"),
        (["clean_ip_mapper", {"text_length_filter": {"min_len": 1}}], ""),
    ],
)
def test_empty_texts_are_noted(tmp_path: Path, process: list[Any], noted: str) -> None:
    rows = [{"text": ""}, {"text": "a"}, {"text": "b"}]
    run = refinery.run({"process": process, "export_path": str(tmp_path / "o.jsonl")}, dataset=rows)
    notes = [note for note in run.warnings if "empty text" in note]
    assert len(notes) == bool(noted) and all(note.startswith(noted) for note in notes)
