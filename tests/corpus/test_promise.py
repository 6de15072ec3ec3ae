"""After any order of adds and withdrawals, a corpus is what one run over all remaining data keeps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from refinery.corpus import levels
from refinery.corpus.change import Settings
from refinery.corpus.corpus import Corpus
from tests.corpus.living import Living, near_copies

MINHASH = {"tokenization": "space", "window_size": 3, "num_permutations": 32, "jaccard_threshold": 0.6}
STEPS: dict[str, list[Any]] = {
    "exact": [{"words_num_filter": {"min_num": 6}}, "document_deduplicator"],
    "key": [{"key_deduplicator": {"key": "host || length(text) // 40", "keep": "length(text) desc"}}],
    "minhash": [{"document_minhash_deduplicator": MINHASH}, "whitespace_normalization_mapper"],
    "minhash verified": [{"document_minhash_deduplicator": MINHASH | {"verify": True, "hash": "fast"}}],
    "simhash": [{"document_simhash_deduplicator": {"window_size": 3}}],
    "line": [{"document_line_deduplicator": {"frequency_threshold": 4}}, {"words_num_filter": {"min_num": 2}}],
    "paragraph": ["paragraph_deduplicator"],
    "sentence": [{"sentence_deduplicator": {"n_sentences": 2, "min_doc_words": 3, "min_num_sentences": 1}}],
    "semantic": [{"semantic_deduplicator": {"cosine_threshold": 0.95}}],
    "substring": [{"substring_deduplicator": {"min_length": 40, "boundaries": "word"}}],
    "newest": [{"document_minhash_deduplicator": MINHASH | {"keep": "newest", "date_key": "day"}}],
    "several": ["paragraph_deduplicator", "document_deduplicator", {"key_deduplicator": {"key": "host"}}],
}


def change(living: Living, chance: random.Random, first: int) -> int:
    """Make a random change; return the next id."""
    left = living.left()
    if len(left) < 10 or chance.random() < 0.55:
        count = chance.randint(1, 15)
        living.add(near_copies(chance, count, first))
        return first + count
    parts = [number for number, part in enumerate(living.parts, 1) if any(part)]
    if chance.random() < 0.25:
        living.withdraw_part(chance.choice(parts))
    else:
        ids = {row["id"] for row in chance.sample(left, chance.randint(1, len(left) // 2))}
        living.withdraw_ids(ids)
    return first


def walk(folder: Path, steps: list[Any], seed: int, changes: int, lines: bool, engine: str | None = None) -> None:
    chance, first = random.Random(seed), 0
    living = Living(folder, steps, lines, engine)
    for _ in range(changes):
        first = change(living, chance, first)
        living.require_promise()


@pytest.mark.parametrize("name", ["minhash verified", "several", "simhash", "substring"])
def test_random_changes(tmp_path: Path, name: str) -> None:
    """Two adds and a withdrawal; `test_engine.py` has other deduplicators."""
    walk(tmp_path, STEPS[name], 2, 3, lines=name in ("several", "simhash"))


def test_random_changes_by_runs_over_everything(tmp_path: Path) -> None:
    walk(tmp_path, STEPS["several"], 12, 3, lines=True, engine="reference")


def test_engines_take_turns(tmp_path: Path) -> None:
    chance, living = random.Random(8), Living(tmp_path, STEPS["several"])
    for first, engine in ((0, "incremental"), (100, "reference"), (200, "incremental")):
        living.add(near_copies(chance, 8, first), Settings(engine=engine))
    living.require_promise()
    with Corpus(living.place) as corpus:
        assert [made.engine for made in corpus.snapshots] == ["incremental", "reference", "incremental"]


@pytest.mark.parametrize("engine", ["incremental", pytest.param("reference", marks=pytest.mark.long)])
def test_small_files_are_merged(tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots before and after are as they were published."""
    monkeypatch.setattr(levels, "EACH", 2)
    living, snapshots = Living(tmp_path, ["paragraph_deduplicator", "document_deduplicator"], engine=engine), []
    for number in range(5):
        living.add(near_copies(random.Random(number), 4, 100 * number))
        if number == 2:
            living.withdraw_ids({0, 1, 100})
        snapshots.append(living.kept())
    living.require_promise()
    made = [Corpus(living.place, number) for number in (1, 2, 4, 5, 6)]
    assert [[(*row.values(),)[:2] for row in old.kept.to_arrow_table().to_pylist()] for old in made] == [
        [row[:2] for row in rows] for rows in snapshots
    ]
    last = made[-1].manifest
    assert [file.first for file in last.additions] == [1, 5]
    assert max(len(last.retractions), len(last.outcomes)) <= 2


@pytest.mark.long
@pytest.mark.parametrize("engine", ["incremental", "reference"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", STEPS)
def test_many_random_changes(tmp_path: Path, name: str, seed: int, engine: str) -> None:
    walk(tmp_path, STEPS[name], 100 + seed, 12, seed % 2 == 0, engine)
