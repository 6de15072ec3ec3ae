"""`c4_lines` in plain Python, for languages whose sentences a library cuts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import of_texts, present, structs
from refinery.kernels.text.c4_lines import FIELDS
from refinery.kernels.text.c4_phrases import PHRASES, POLICY
from refinery.kernels.words import language_words

_CITATION = re.compile(r"\[\d*\]|\[edit\]|\[citation needed\]")
_POLICIES = tuple(phrase for phrase, kind, _ in PHRASES if kind == POLICY)


def c4_lines(column: pa.Array, rules: Sequence[int], by_sentence: bool, language: str) -> pa.Array:
    """The rest of each text, and counts, as a struct; NULL for NULL."""
    judged = [None if text is None else _judged(text, rules, by_sentence, language) for text in column.to_pylist()]
    counts = np.array([row[1] if row else [0] * len(FIELDS) for row in judged], np.int64).reshape(-1, len(FIELDS))
    fields = {name: counts[:, k] for k, name in enumerate(FIELDS)}
    return structs(present(column), delta=of_texts([row[0] if row else None for row in judged]), **fields)


def _judged(text: str, rules: Sequence[int], by_sentence: bool, language: str) -> tuple[str | None, list[int]]:
    """The new text, None if it does not change, and the counts in the order of FIELDS."""
    lines = language_words.sentences(text, language) if by_sentence else text.splitlines()
    kept: list[str] = []
    sentences = 0
    for number, line in enumerate(lines, 1):
        verdict, line = _verdict(line.strip(), rules)
        if verdict in ("lorem_ipsum", "curly_bracket"):
            return None, [number, len(kept), sentences, verdict == "lorem_ipsum", verdict == "curly_bracket"]
        if verdict == "keep":
            kept.append(line)
            if rules[8]:
                sentences += 1 if by_sentence else len(language_words.sentences(line, language))
    left = (" " if by_sentence else "\n").join(kept).strip()
    return (None if left == text else left), [len(lines), len(kept), sentences, 0, 0]


def _verdict(line: str, rules: Sequence[int]) -> tuple[str, str]:
    """`keep`, `drop` or the reason for removing the text; and the line without citations."""
    longest, citations, ends, fewest, lorem, javascript, bracket, policy, _ = rules
    words: Any = line.split()
    if longest != -1 and any(len(word) > longest for word in words):
        return "drop", line
    if citations:
        line = _CITATION.sub("", line)
    if ends and (not line.endswith((".", "?", "!", '"', "'")) or line.endswith("...")):
        return "drop", line
    lower = line.lower()
    if len(words) < fewest:
        return "drop", line
    if lorem and "lorem ipsum" in lower:
        return "lorem_ipsum", line
    if javascript and "javascript" in lower:
        return "drop", line
    if bracket and "{" in line:
        return "curly_bracket", line
    return ("drop" if policy and any(phrase in lower for phrase in _POLICIES) else "keep"), line
