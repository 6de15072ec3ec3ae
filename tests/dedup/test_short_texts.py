"""Texts of fewer tokens than the window are duplicates of each other, as in Data-Juicer; a run says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from tests.commands import exit_code
from tests.runs import write_lines

MINHASH = "document_minhash_deduplicator"
SHORT = [{"text": f"text {word} here"} for word in ("one", "two", "three")]
LONG = [{"text": f"{word} and six more words stand here"} for word in ("one", "one", "two")]


def notes(folder: Path, name: str, params: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """The notes of a run on short texts, without those on the examined texts and on samples that connect many."""
    recipe = {"process": [{name: params}], "export_path": str(folder / "out.jsonl")}
    found = [note for note in refinery.run(recipe, dataset=rows).warnings if "fewer tokens" in note]
    return [note for note in found if "examined" not in note and "One sample connects" not in note]


@pytest.mark.parametrize(
    ("name", "params", "cure"),
    [
        ("document_minhash_deduplicator", {}, "short: compare, tokenization: character or a smaller window_size"),
        (
            "document_minhash_deduplicator",
            {"tokenization": "character", "window_size": 50},
            "short: compare or a smaller",
        ),
        ("document_minhash_deduplicator", {"num_bands": 3, "num_rows_per_band": 5}, "short: compare"),
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
        ("document_deduplicator", {}, [*SHORT, *SHORT]),
    ],
)
def test_a_run_that_removes_no_text_for_being_short_notes_nothing(
    tmp_path: Path, name: str, params: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    assert notes(tmp_path, name, params, rows) == []


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        pytest.param(MINHASH, {"hash": "fast"}, "such a text matches only the same text", marks=pytest.mark.long),
        (MINHASH, {"short": "compare"}, "such a text matches only the same text"),
        pytest.param(MINHASH, {"verify": True}, "such a text matches only the same text", marks=pytest.mark.long),
        pytest.param(MINHASH, {"short": "keep"}, "such a text is compared with nothing", marks=pytest.mark.long),
        ("document_simhash_deduplicator", {"short": "keep"}, "such a text is compared with nothing"),
    ],
)
def test_a_run_counts_short_texts_also_where_it_keeps_them(
    tmp_path: Path, name: str, params: dict[str, Any], said: str
) -> None:
    rows = [*SHORT, {"text": ""}, *LONG[:1]]
    (note,) = notes(tmp_path, name, params, rows)
    assert f"{name}: 4 of 5 texts have fewer tokens than window_size" in note
    assert said in note and "tokenization: character" in note
    assert len((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()) == 5


CHINESE = [{"text": f"第{n}篇文章讲述了完全不同的事情。" * 3} for n in "一二三四五"]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "all such texts are duplicates of each other, whatever they say. Set short: compare, tokenization"),
        ({"short": "compare"}, "such a text matches only the same text. Set tokenization: character or a smaller"),
        ({"tokenization": "character"}, ""),
    ],
)
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_check_looks_at_the_first_texts(
    tmp_path: Path,
    params: dict[str, Any],
    said: str,
    suffix: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = tmp_path / f"in{suffix}"
    if suffix == ".jsonl":
        write_lines(source, CHINESE)
    else:
        pq.write_table(pa.Table.from_pylist(CHINESE), source)
    recipe = {
        "dataset_path": str(source),
        "export_path": str(tmp_path / "out.jsonl"),
        "process": [{"document_minhash_deduplicator": params}],
    }
    (tmp_path / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    assert exit_code(monkeypatch, "check", tmp_path / "recipe.json") == 0
    printed = " ".join("".join(capsys.readouterr()).split())
    assert ("5 of the 5 examined texts of the input are shorter than window_size" in printed) is bool(said)
    assert said in printed
