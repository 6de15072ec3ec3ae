"""Texts of fewer tokens than the window are duplicates of each other, as in Data-Juicer; a run says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery

SHORT = [{"text": f"text {word} here"} for word in ("one", "two", "three")]
LONG = [{"text": f"{word} and six more words stand here"} for word in ("one", "one", "two")]


def notes(folder: Path, name: str, params: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """The notes of a run on short texts."""
    recipe = {"process": [{name: params}], "export_path": str(folder / "out.jsonl")}
    return [note for note in refinery.run(recipe, dataset=rows).warnings if "fewer tokens" in note]


@pytest.mark.parametrize(
    ("name", "params", "cure"),
    [
        ("document_minhash_deduplicator", {}, "hash: fast, tokenization: character or a smaller window_size"),
        ("document_minhash_deduplicator", {"tokenization": "character", "window_size": 50}, "hash: fast or a smaller"),
        ("document_minhash_deduplicator", {"num_bands": 3, "num_rows_per_band": 5}, "hash: fast"),
        ("document_simhash_deduplicator", {}, "short: keep, tokenization: character or a smaller window_size"),
    ],
)
def test_a_run_notes_how_many_short_texts_it_removed(
    tmp_path: Path, name: str, params: dict[str, Any], cure: str
) -> None:
    (note,) = notes(tmp_path, name, params, [*SHORT, *LONG])
    removed = 5 if params.get("window_size") == 50 else 2
    assert f"{name}: {removed} removed texts have fewer tokens than window_size" in note
    assert cure in note


def test_a_chinese_text_without_spaces_is_one_token(tmp_path: Path) -> None:
    rows = [{"text": f"第{n}篇文章讲述了完全不同的事情。" * 30} for n in "一二三"]
    (note,) = notes(tmp_path, "document_minhash_deduplicator", {}, rows)
    assert "2 removed texts have fewer tokens" in note


@pytest.mark.parametrize(
    ("name", "params", "rows"),
    [
        ("document_minhash_deduplicator", {}, LONG),
        ("document_minhash_deduplicator", {}, [*SHORT[:1], *LONG]),
        ("document_minhash_deduplicator", {"hash": "fast"}, SHORT),
        ("document_minhash_deduplicator", {"verify": True}, [*SHORT, SHORT[0]]),
        ("document_simhash_deduplicator", {"short": "keep"}, SHORT),
        ("document_deduplicator", {}, [*SHORT, *SHORT]),
    ],
)
def test_a_run_that_removes_no_text_for_being_short_notes_nothing(
    tmp_path: Path, name: str, params: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    assert notes(tmp_path, name, params, rows) == []
