"""The inputs and tables of the deduplication benchmark: copies that are no duplicates, parts that lose no row."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench import copies, parts, table

WORDS = [f"w{number:x}" for number in range(3000)]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Twenty texts of 200 words; each odd one is its predecessor with one word changed."""
    dice = random.Random(5)
    rows: list[dict[str, Any]] = []
    for number in range(0, 20, 2):
        words = dice.choices(WORDS, k=200)
        rows.append({"id": number, "text": " ".join(words), "source": None})
        rows.append({"id": number + 1, "text": " ".join([*words[:-1], "other"]), "source": "b"})
    return write(tmp_path / "documents.jsonl", rows)


def jaccard(left: str, right: str) -> float:
    a, b = ({tuple(words[at : at + 5]) for at in range(len(words) - 4)} for words in (left.split(), right.split()))
    return len(a & b) / len(a | b)


def test_copies_keep_duplicates_inside_and_make_none_across(documents: Path, tmp_path: Path) -> None:
    assert copies.write_copies(documents, tmp_path / "out.jsonl", times=3, seed=1) == 3
    rows = read(tmp_path / "out.jsonl")
    assert rows[:20] == read(documents)
    assert len({row["id"] for row in rows}) == 60
    for first in range(0, 60, 2):
        assert jaccard(rows[first]["text"], rows[first + 1]["text"]) > 0.95
    for row in range(20):
        across = [jaccard(rows[row + a]["text"], rows[row + b]["text"]) for a, b in ((0, 20), (0, 40), (20, 40))]
        assert max(across) < 0.3


def test_copies_depend_on_the_seed_alone(documents: Path, tmp_path: Path) -> None:
    made = []
    for seed in (1, 1, 2):
        copies.write_copies(documents, tmp_path / "out.jsonl", times=2, seed=seed)
        made.append((tmp_path / "out.jsonl").read_bytes())
    assert made[0] == made[1] != made[2]


def test_parts_lose_no_row(documents: Path, tmp_path: Path) -> None:
    parts.parquet(documents, tmp_path / "all.parquet")
    assert pq.read_table(tmp_path / "all.parquet").to_pylist() == read(documents)
    parts.split(documents, tmp_path / "split", 3)
    files = sorted((tmp_path / "split").glob("*.jsonl"))
    assert len(files) == 3
    assert [row for file in files for row in read(file)] == read(documents)
    parts.sample(documents, tmp_path / "tenth.jsonl", 10)
    assert [row["id"] for row in read(tmp_path / "tenth.jsonl")] == [0, 10]


def measurement(tool: str, corpus: str, seconds: float, **more: object) -> dict[str, Any]:
    figures = {"best_seconds": seconds, "median_seconds": seconds, "text_mb_per_second": 300 / seconds}
    sizes = {"largest_rss": 1e9, "tree_rss": None, "disk_bytes": 0, "kept_rows": 90}
    return {"tool": tool, "task": "minhash", "format": "jsonl", "corpus": corpus, **figures, **sizes, **more}


@pytest.fixture
def results() -> dict[str, Any]:
    size = {"rows": 100, "file_bytes": 310e6, "text_bytes": 300e6}
    return {
        "date": "2030-01-01",
        "note": "",
        "machine": {"cores": 2, "cpu": "any", "memory_gib": 24, "load_before": 0.1},
        "workers": 2,
        "share": 10,
        "corpora": {"whole": size},
        "measurements": [
            measurement("refinery", "whole", 5.0, params={}),
            measurement("data_juicer", "whole", 105.0, processing_seconds=90.0),
        ],
        "signatures": [],
        "comparisons": [],
        "skipped": ["rensa: not named (--rensa)"],
        "failures": [],
    }


def test_table_sets_whole_commands_and_rates_side_by_side(results: dict[str, Any]) -> None:
    lines = table.tables(results).splitlines()
    (line,) = [line for line in lines if line.startswith("| Data-Juicer, MinHash, JSONL |")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[2:] == ["105.0", "5.00", "21.0", "90.0, 3.33", "60.0", "18.0", "20"]
    assert "- Not measured: rensa: not named (--rensa)" in lines


def test_table_gives_published_rates_per_core(results: dict[str, Any]) -> None:
    lines = [line for line in table.tables(results).splitlines() if "as published" in line]
    assert [line.split("|")[-2].strip() for line in lines] == ["0.47", "0.51", "0.46", "0.35", "0.43", "0.39"]


def test_only_the_marked_part_of_a_page_changes(results: dict[str, Any], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{table.BEGIN}\nof last year\n{table.END}\n\nafter\n", "utf-8")
    table.put_into(page, table.tables(results))
    once = page.read_text("utf-8")
    assert once.startswith("before\n\n") and once.endswith("\n\nafter\n") and "of last year" not in once
    table.put_into(page, table.tables(results))
    assert page.read_text("utf-8") == once
