"""`refinery audit`, `Run.audit`, the report and the card: what a run says of its removed samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from refinery.api import Run
from refinery.inspect.audit.audit import audit_of
from tests.commands import command
from tests.runs import refine


def page(number: int, words: int = 30) -> str:
    return " ".join(f"w{number}x{at}" for at in range(words))


STEPS: list[Any] = [
    "clean_links_mapper",
    {"text_length_filter": {"min_len": 3}},
    {"paragraph_deduplicator": {"min_length": 1}},
    "document_deduplicator",
    "whitespace_normalization_mapper",
    {"document_minhash_deduplicator": {"hash": "fast"}},
    {"key_deduplicator": {"key": "length(text) > 0"}},
]


def samples() -> list[dict[str, Any]]:
    """Samples that each deduplicator removes some of; paragraphs are taken out of the texts before."""
    texts = [
        f"{page(at % 20)} http://x.org/{at}\n\nthe same paragraph in all\n\n{page(at % 20 + 50, 9)}" for at in range(60)
    ]
    near = [f"{page(at)} {page(900 + at, 2)}\u3000end\n\nmore of it {at}" for at in range(20)]
    return [{"id": at, "text": text} for at, text in enumerate([*texts, "", *near])]


def run_of(folder: Path, **keys: Any) -> Run:
    return refine(folder, samples(), STEPS, shard_size=4000, **keys)


def test_an_audit_afterwards_is_that_of_the_run(tmp_path: Path) -> None:
    """The texts are recomputed through all stages; in the run they are read from the files of the stage."""
    stored = audit_of(run_of(tmp_path / "with", audit=1000).work_dir)
    again = audit_of(run_of(tmp_path / "without", audit=0).work_dir)
    assert stored.stored and not again.stored and len({row["step"] for row in stored.pairs}) >= 2
    for name in ("summary", "hubs", "chains", "pairs"):
        rows = [[row | {"source": None} for row in getattr(one, name)] for one in (stored, again)]
        assert rows[0] == rows[1], name
    assert any("key_deduplicator" in note for note in again.notes)


def test_the_command_prints_it(tmp_path: Path) -> None:
    run = run_of(tmp_path, audit=0)
    code, printed = command("audit", str(run.work_dir), folder=tmp_path)
    assert code == 0 and "recomputed from the input; nothing was written" in printed
    assert "others (one value of the key for texts that are unlike" in printed
    code, printed = command("audit", str(run.work_dir), "--pairs", "5", "--json", folder=tmp_path)
    found = json.loads(printed)
    assert code == 0 and len([row for row in found["pairs"] if row["step"] == 7]) <= 6
    assert run.sql("FROM audit").fetchall() == []


def test_there_is_nothing_to_compare(tmp_path: Path) -> None:
    run = refine(tmp_path, [{"text": page(at)} for at in range(3)], ["document_deduplicator"])
    code, printed = command("audit", str(run.work_dir), folder=tmp_path)
    assert code == 0 and "there is nothing to compare" in printed
    (tmp_path / "empty").mkdir()
    code, printed = command("audit", str(tmp_path / "empty"), folder=tmp_path)
    assert code == 3 and "no run here" in printed


def test_python_the_report_and_the_card_have_it(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    answer = run.audit()
    assert answer.stored and answer.as_dict()["hubs"] and "connects" in repr(answer)
    text = Path(run.report()).read_text("utf-8")
    alerts = text[text.index('id="alerts"') : text.index('id="ran"')]
    assert "Unlike samples were removed as duplicates." in alerts and "one value of the key" in alerts
    assert "Samples that connect most others" in text and "with 95 % intervals" in text
    code, printed = command("card", str(run.work_dir), "--format", "markdown", "--out", "-", folder=tmp_path)
    assert code == 0 and "Removed samples that are like those that stay" in printed and "FROM audit_summary" in printed


def test_refilter_leaves_no_audit_of_the_old_run(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    assert run.sql("FROM audit").fetchall()
    again = run.refilter({"process.2.min_len": 4}, work_dir=tmp_path / "again", writes=False)
    for table in ("audit", "hubs", "chains", "audit_summary"):
        assert again.sql(f"FROM {table}").fetchall() == []
