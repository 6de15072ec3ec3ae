"""A run to browse in: two files, names that need quotes, every outcome, large numbers, clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import refinery
from tests.runs import Sample, settings, write_lines

STEPS: list[Any] = [
    {"clean_email_mapper": None},
    {"words_num_filter": {"min_num": 3}},
    {"sql_filter": {"where": "n <> 7"}},
    {"document_deduplicator": None},
    {"document_minhash_deduplicator": {"window_size": 3, "jaccard_threshold": 0.6}},
]
BIG = 2**60 + 1


def sample(row: int) -> Sample:
    """Rows of the input: short ones, copies of row 1, near copies of row 2, and lines that cannot be read."""
    if row % 41 == 40:
        return f"{{broken line {row} with a Needle"
    text = f"document {row} has words {row * 7} and {row % 3} more, write to me{row}@example.org"
    if row % 10 == 0:
        text = f"Short {row}"
    elif row % 10 == 1:
        text = "one and the same text in many rows"
    elif row % 20 == 2:
        text = " ".join(f"word{at}" for at in range(30)) + f" end{row}"
    host = ["a.example.org", "b.example.org", "other.net"][row % 3]
    return {
        "id": BIG + row,
        "text": text,
        "n": row % 11,
        "my field.x": "it's",
        "meta": {"url": f"https://user@{host}:80/{row}?x=//y"},
        **({"maybe": "needle Ünder"} if row % 4 else {}),
    }


SAMPLES = [sample(row) for row in range(120)]


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("browsed run's")
    write_lines(place / "in" / "a 'first'.jsonl", SAMPLES[:70])
    write_lines(place / "in" / "b.jsonl", SAMPLES[70:])
    refinery.run(settings(place, STEPS, dataset_path=place / "in", shard_size=4000))
    return place
