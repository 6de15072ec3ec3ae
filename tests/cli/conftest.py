"""A folder with a small recipe and its data, and the command line called in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands import caller

RECIPE = """\
project_name: tiny
dataset_path: docs.jsonl
export_path: out/docs.jsonl
np: 1
process:
  - sql_mapper:
      text: "replace(text, 'programme', 'program')"
  - text_length_filter:
      min_len: 6
  - sql_filter:
      where: "score > 0.3 OR text_len > 50"
"""
DOCS = [
    {"id": 1, "text": "Write to jane@example.org about the programme, please.", "score": 0.9, "meta": {"lang": "en"}},
    {"id": 2, "text": "short", "score": 0.5, "meta": {"lang": "en"}},
    {"id": 3, "text": "日本語のテキストです。", "score": 0.1, "meta": {"lang": "ja"}},
    {"id": 4, "text": "A line\nand another line", "score": None, "meta": {"lang": "en"}},
    {"id": 5, "text": "one more programme", "score": 1.0, "meta": {"lang": "de"}},
]


@dataclass(frozen=True)
class Done:
    """Result of a command: its exit code, its output, and the lines of the output that are not empty."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return [line.strip() for line in self.out.splitlines() if line.strip()]


Call = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with `recipe.yaml` and `docs.jsonl`."""
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps(doc, ensure_ascii=False) for doc in DOCS]
    Path("docs.jsonl").write_text("\n".join([*lines, "{broken", ""]), encoding="utf-8")
    Path("recipe.yaml").write_text(RECIPE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def call(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `refinery` with arguments, as its script does."""

    run = caller(monkeypatch, capsys)
    return lambda *arguments: Done(*run(*arguments))
