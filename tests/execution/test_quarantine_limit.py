"""More rows in quarantine than `max_quarantined` end the run, as soon as that is certain."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import refinery
from refinery.api import Run
from refinery.cli.main import main
from refinery.errors import QuarantineError, RecipeError
from refinery.execution.quarantine_limit import QuarantineLimit
from refinery.io.model import Shard, Source
from refinery.workers.tasks import ShardResult
from tests.runs import refine, settings, texts, write_lines
from tests.sampling import first_of_each

STEPS: list[Any] = [{"text_length_filter": {"min_len": 3}}, {"sql_filter": {"where": "CAST(text[6:] AS INTEGER) >= 0"}}]


def run(folder: Path, bad: int, good: int = 1000, **keys: Any) -> Run:
    samples = texts([f"text {'x' if k < bad else k}" for k in range(bad + good)])
    return refine(folder, samples, STEPS, **keys)


@pytest.mark.parametrize("most", first_of_each([3, "0.3%", "3", "100%", 2000, None], lambda most: "%" in str(most)))
def test_as_many_as_may_be_are_no_fault(tmp_path: Path, most: Any) -> None:
    found = run(tmp_path, 3, 997, max_quarantined=most)
    assert found.counts.quarantined == 3 and found.counts.kept == 997


@pytest.mark.parametrize(
    ("most", "when"),
    first_of_each(
        [(2, "so far"), ("0.29%", "in all"), (0, "so far"), ("0.1%", "so far")], lambda most, when: "%" in str(most)
    ),
)
def test_more_end_the_run(tmp_path: Path, most: Any, when: str) -> None:
    with pytest.raises(QuarantineError) as caught:
        run(tmp_path, 3, 997, max_quarantined=most)
    text = str(caught.value)
    assert text.startswith(f"3 of 1000 rows {when} are in quarantine, more than max_quarantined: {most}. One of them: ")
    assert "in.jsonl:1: sql_filter: " in text and caught.value.exit_code == 7
    assert not (tmp_path / "run" / "out.jsonl").exists() and not (tmp_path / "run" / "refinery.duckdb").exists()


def test_lines_that_cannot_be_read_count(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", ['{"text": "text 1"}', "broken"])
    with pytest.raises(QuarantineError, match=r"1 of 2 rows .*in\.jsonl:2: malformed JSON"):
        refinery.run(settings(tmp_path, STEPS, max_quarantined=0))


def test_a_line_of_a_later_shard_is_told_from_where_that_begins(tmp_path: Path) -> None:
    samples = texts([f"text {k}" for k in range(99)] + ["text x"])
    with pytest.raises(QuarantineError) as caught:
        refine(tmp_path, samples, STEPS, max_quarantined=0, shard_size=320)
    found = re.search(r"in\.jsonl: line (\d+) after byte ([\d,]+): sql_filter", str(caught.value))
    assert found
    after = (tmp_path / "in.jsonl").read_bytes()[int(found[2].replace(",", "")) :]
    assert b"text x" in after.split(b"\n")[int(found[1])]  # the shard's cut is within a line, which is not its own


def test_the_command_ends_with_its_own_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(tmp_path / "in.jsonl", ['{"text": "text 1"}', "broken"])
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(settings(tmp_path, STEPS)), encoding="utf-8")
    for most, expected in (("0", 7), ("50%", 0)):
        monkeypatch.setattr("sys.argv", ["refinery", "run", str(path), "--max_quarantined", most])
        code: Any = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        assert code == expected
        said = capsys.readouterr().err
        assert ("more than max_quarantined: 0" in said) == bool(expected) and "Traceback" not in said


@pytest.mark.parametrize("written", ["-1", "101%", "0.001", "some", "1e3%", True])
def test_what_is_neither_a_number_nor_a_share_is_refused(tmp_path: Path, written: Any) -> None:
    with pytest.raises(RecipeError, match="max_quarantined must be"):
        run(tmp_path, 1, 1, max_quarantined=written)


def test_a_run_ends_before_its_end_when_far_too_many_are_bad() -> None:
    shards = [Shard(k, (Source("a.jsonl", "jsonl", None, ".jsonl", 1000),), size=100) for k in range(10)]
    one = QuarantineLimit("1%", shards, Path)
    for k in range(5):
        one.take(ShardResult(k, rows=1000, quarantined=39))  # 195 of about 10,000
    with pytest.raises(QuarantineError, match="so far"):
        one.take(ShardResult(5, rows=1000, quarantined=39))
    other = QuarantineLimit("1%", shards, Path)
    for k in range(10):
        other.take(ShardResult(k, rows=1000, quarantined=20))
    with pytest.raises(QuarantineError, match="200 of 10000 rows in all"):
        other.end()
