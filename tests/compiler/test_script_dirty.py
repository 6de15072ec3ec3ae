"""Scripts over lines that are no samples: they run to their end, and keep what a run keeps."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

import refinery


def test_lines_that_are_not_utf_8_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good = [json.dumps({"id": number, "text": "long enough" if number else "no"}) for number in range(3)]
    lines = [good[0].encode(), b'{"text": "\xff"}', b"", good[1].encode(), b"no JSON", good[2].encode()]
    Path("docs.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    recipe = {
        "dataset_path": "docs.jsonl",
        "export_path": "script.jsonl",
        "process": [{"text_length_filter": {"min_len": 5}}],
    }
    script = refinery.compile(recipe)
    assert "Lines that are not UTF-8 are left out" in script
    with duckdb.connect() as con:
        con.execute(script).fetchall()
        assert con.execute("SELECT line FROM reject_errors").fetchall() == [(2,)]
        assert con.execute("SELECT raw FROM quarantine").fetchall() == [("no JSON",)]
    assert Path("script.jsonl").read_text(encoding="utf-8").splitlines() == good[1:]
