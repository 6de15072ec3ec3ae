"""After any order of adds and withdrawals the corpus is, row for row, what one run over the remaining samples keeps."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.incremental.corpora import Corpus, lived

EXACT = {"document_deduplicator": {}}
KEY = {"key_deduplicator": {"key": "id % 5", "keep": "length(text) desc"}}
MINHASH = {"document_minhash_deduplicator": {"jaccard_threshold": 0.6, "window_size": 2}}
VERIFIED = {"document_minhash_deduplicator": {"jaccard_threshold": 0.6, "window_size": 2, "verify": True}}
SHORT = {"text_length_filter": {"min_len": 60}}
LOWER = {"sql_mapper": {"text": "replace(text, 'kan', 'kar')"}}
LINES = {"document_line_deduplicator": {"frequency_threshold": 2}}
PARAGRAPHS = {"paragraph_deduplicator": {}}
SENTENCES = {"sentence_deduplicator": {"n_sentences": 1}}

RECIPES: dict[str, list[Any]] = {
    "exact": [EXACT],
    "exact with filters": [LOWER, SHORT, EXACT, {"text_length_filter": {"max_len": 160}}],
    "minhash": [MINHASH],
    "exact then minhash": [EXACT, SHORT, MINHASH],
    "key": [KEY],
    "lines": [LINES],
    "paragraphs": [SHORT, PARAGRAPHS],
    "sentences": [SENTENCES],
    "lines then minhash": [LINES, LOWER, MINHASH, SHORT],
    "verified": [VERIFIED],
    "key, paragraphs, verified": [KEY, PARAGRAPHS, VERIFIED],
}
# Keys of the recipe besides its steps.
KEYS: dict[str, dict[str, Any]] = {}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("seed", range(3))
def test_a_corpus_is_what_one_run_keeps(tmp_path: Path, name: str, seed: int) -> None:
    lived(Corpus(tmp_path, RECIPES[name]), random.Random(f"{name} {seed}"), 8)
