"""Words and phrases of a list in texts, as dolma seeks those of C4."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pyarrow as pa


def has_listed_word(column: pa.Array, path: str) -> pa.Array:
    """True for each text with a word or a phrase of the list in a file; NULL for NULL."""
    words, phrases = _entries(path)
    verdicts = []
    for text in column.to_pylist():
        lower = text.lower() if text is not None else ""
        there = not words.isdisjoint(lower.split()) or any(phrase in lower for phrase in phrases)
        verdicts.append(None if text is None else there)
    return pa.array(verdicts, pa.bool_())


@lru_cache(maxsize=8)
def _entries(path: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Words of a file, and phrases: lines with a blank."""
    lines = Path(path).read_text("utf-8").splitlines()
    return frozenset(line for line in lines if " " not in line), tuple(line for line in lines if " " in line)
