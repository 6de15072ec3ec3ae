"""The parts that a recipe is measured against, and their table."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "bench"), *sys.path])
    import limits

    return limits


@pytest.mark.parametrize(
    ("name", "written"), [("bytes", "bytes"), ("write", "written.jsonl"), ("duckdb", "duckdb.jsonl")]
)
def test_parts_write_what_they_read(bench, tmp_path: Path, capsys, name: str, written: str) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"text": f"text {i} é"}, ensure_ascii=False) + "\n" for i in range(5000)))
    bench.PARTS[name][1](corpus, tmp_path, 2)
    seconds, used = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert seconds > 0 and used > 0
    rows = [json.loads(line) for line in (tmp_path / written).read_text().splitlines()]
    assert rows == [json.loads(line) for line in corpus.read_text().splitlines()]


@pytest.mark.parametrize("name", ["read", "text"])
def test_parts_read(bench, tmp_path: Path, capsys, name: str) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"text": "a"}\n' * 100)
    bench.PARTS[name][1](corpus, tmp_path, 2)
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_the_rate_of_a_core(bench) -> None:
    found = {"two": (3.0, 5.0), "one": (5.0, 4.8), "small, 1,000 rows": (1.0, 1.0), "reading": (0.5, 0.9)}
    table = bench.report(found, 100_000_000, 2)
    assert "| two | 3.00 | 5.00 | 33 |" in table
    assert "| small, 1,000 rows | 1.00 | 1.00 |  |" in table
    assert "Rate of a core, of that of one worker alone: 0.83; without the start, 1.00." in table
