"""Audits of deduplicators that take out parts of texts, and of matches in an index: threads, a cluster, and recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refinery.dedup.audit.measure import Measure
from refinery.dedup.audit.readings import nearest
from refinery.inspect.audit.audit import audit_of
from tests.runs import refine


def rows(run: Any, query: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = run.sql(query).fetchall()
    return found


def paragraph(number: int, words: int = 12) -> str:
    return " ".join(f"p{number}w{at}" for at in range(words))


PARAGRAPHS: dict[str, Any] = {"paragraph_deduplicator": {"min_length": 1, "lowercase": True}}
SENTENCES: dict[str, Any] = {
    "sentence_deduplicator": {"n_sentences": 1, "min_doc_words": 0, "min_num_sentences": 0, "sentences": "lines"}
}
SUBSTRINGS: dict[str, Any] = {"substring_deduplicator": {"min_length": 60}}


def test_a_paragraph_is_compared_with_the_one_that_stays(tmp_path: Path) -> None:
    samples = [
        {"text": f"{paragraph(at)}\n\n{paragraph(900).upper() if at % 2 else paragraph(900)}\n\n{paragraph(at)}"}
        for at in range(20)
    ]
    run = refine(tmp_path, samples, [PARAGRAPHS])
    found = rows(run, "SELECT _row, unit, kept, basis, jaccard, weight FROM audit ORDER BY _row, unit")
    of_all = [(at, 1, 0, "paragraphs", 1.0, 1.0) for at in range(1, 20)]
    own = [(at, 2, at, "paragraphs", 1.0, 1.0) for at in range(20)]
    assert found == sorted([*of_all, *own])
    [(n, removed, share)] = rows(
        run, "SELECT n, removed, share FROM audit_summary WHERE source IS NULL AND threshold = 0.8"
    )
    assert (n, removed, share) == (39, 39, 1.0)
    assert rows(run, "SELECT count(*) FROM audit_summary WHERE source LIKE '%in.jsonl'") == [(2,)]


def test_what_a_step_ignores_is_told(tmp_path: Path) -> None:
    """Numbers and punctuation are not compared by the step: so unlike lines are removed."""
    samples = [{"text": f"{'x' * at} line\n{at * 7919} {at * 104729} {at}"} for at in range(1, 60)]
    run = refine(tmp_path, samples, [SENTENCES])
    [(low, high, basis)] = rows(
        run, "SELECT min(jaccard), max(jaccard), any_value(basis) FROM audit WHERE matched = 'seen before'"
    )
    assert low == 0 and high < 1 and basis == "sentences"
    [note] = [text for text in run.warnings if "of the removed" in text]
    assert "of the removed sentences are like one that stays" in note


def test_the_part_itself_is_not_what_stays() -> None:
    measure = Measure.of_words({}, ("text",), {"normalize": "none", "tokenization": "word", "lowercase": True, "ignore_pattern": None, "tokenizer_model": None}, 1)  # fmt: skip
    one, other, third = measure.of_texts(["a b c", "a b", "A b c"])
    assert nearest(one, [other]) == pytest.approx(2 / 3) and nearest(one, [other, third]) == 1.0
    assert nearest(one, []) == 0.0


def test_a_passage_is_compared_with_its_copy(tmp_path: Path) -> None:
    shared = paragraph(70, 30)
    samples = [{"text": f"{paragraph(at)} {shared} {paragraph(100 + at)}"} for at in range(10)]
    run = refine(tmp_path, samples, [SUBSTRINGS])
    found = rows(run, "SELECT _row, kept, basis, jaccard FROM audit ORDER BY _row")
    assert [(row, basis, value) for row, _, basis, value in found] == [(at, "passages", 1.0) for at in range(1, 10)]
    assert all(kept < row for row, kept, *_ in found)


def test_lines_that_stay_nowhere_are_left_out(tmp_path: Path) -> None:
    samples = [{"text": f"{paragraph(at)}\nshared line"} for at in range(10)]
    run = refine(tmp_path, samples, [{"document_line_deduplicator": {"frequency_threshold": 3}}])
    assert rows(run, "SELECT count(*) FROM duplicates") == [(10,)] and rows(run, "FROM audit") == []


def test_matches_in_an_index_are_estimated_by_signatures(tmp_path: Path) -> None:
    step = {"document_minhash_deduplicator": {"index": str(tmp_path / "seen"), "hash": "fast"}}
    texts = [paragraph(at, 60) for at in range(8)]
    refine(tmp_path / "a", [{"text": text} for text in texts], [step])
    again = [{"text": f"{text} end"} for text in texts[:5]] + [{"text": paragraph(50, 40)}] * 2
    run = refine(tmp_path / "b", again, [step])
    found = rows(run, "SELECT _row, kept, basis, jaccard, estimated_jaccard > 0.7 FROM audit ORDER BY _row")
    assert found == [*((at, None, "signatures", None, True) for at in range(5)), (6, 5, "texts", 1.0, True)]
    assert rows(run, "SELECT basis, measure, n FROM audit_summary WHERE source IS NULL AND threshold = 0.5 ORDER BY ALL") == [
        ("signatures", "estimated_jaccard", 5),
        ("texts", "jaccard", 1),
    ]  # fmt: skip


STEPS: list[Any] = ["clean_links_mapper", PARAGRAPHS, SENTENCES, SUBSTRINGS, {"document_minhash_deduplicator": {"hash": "fast"}}]  # fmt: skip


def mixed() -> list[dict[str, Any]]:
    """Samples that share paragraphs, lines, passages and nearly all of their words."""
    shared = paragraph(7, 30)
    return [
        {
            "text": f"{paragraph(at)} http://x.org/{at}\n\n{paragraph(at % 3)}\n\nline {at % 4} of all.\n"
            f"{paragraph(at, 5)} {shared} {paragraph(at % 9, 40)}"
        }
        for at in range(40)
    ]


def tables(run: Any) -> dict[str, list[tuple[Any, ...]]]:
    orders = {"audit": "step, _row, unit", "hubs": "step, via", "chains": "step, _row"}
    return {name: rows(run, f"SELECT * FROM {name} ORDER BY {order}") for name, order in orders.items()}


def test_shards_threads_and_a_later_audit_agree(tmp_path: Path) -> None:
    one = refine(tmp_path, mixed(), STEPS, audit=20)
    assert {basis for (basis,) in rows(one, "SELECT DISTINCT basis FROM audit")} >= {"paragraphs", "sentences", "passages"}  # fmt: skip
    expected = tables(one)
    later = audit_of(one.work_dir, 20)
    assert [tuple(row.values()) for row in later.pairs] == expected["audit"]
    assert tables(refine(tmp_path, mixed(), STEPS, audit=20, shard_size=2000, np=2)) == expected
