"""The likely reason why one text, or one key, connects many samples, by plain rules over some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from refinery.dedup.audit.measure import ComparedText, Measure, cosine, jaccard
from refinery.errors import RefineryError

# Samples of a hub that are compared with each other.
MEMBERS = 20
# Characters of an excerpt.
_EXCERPT = 200
# Shares: of the members that have a property which stands for all, of characters in lines that all members have.
_ALL, _MUCH = 0.9, 0.5


@dataclass(frozen=True)
class Hub:
    """Unlikeness of the samples that a hub connects.

    compared: their number. median, least: similarity of pairs of them; NaN for fewer than two. alike: True if the median is that of texts that are
    alike. reason: in words. excerpt: the beginning of the connecting text.
    """

    compared: int
    median: float
    least: float
    alike: bool
    reason: str
    excerpt: str


def hub_of(text: ComparedText, members: Sequence[ComparedText], measure: Measure, params: Mapping[str, Any]) -> Hub:
    """Compare the connecting text and some samples that it connects. params: of the deduplicator."""
    texts = [text, *members]
    pairs = [similarity(one, other, measure) for one, other in combinations(texts, 2)]
    known = np.array([pair for pair in pairs if pair is not None])
    median, least = (float(np.median(known)), float(known.min())) if len(known) else (np.nan, np.nan)
    alike = not median < measure.alike
    return Hub(len(texts), median, least, alike, _reason(texts, alike, measure, params), _excerpt(text.text))


def similarity(one: ComparedText, other: ComparedText, measure: Measure) -> float | None:
    """Similarity of two samples of the kind by which the step compares."""
    return cosine(one, other) if measure.vector_key else jaccard(one, other)


def _reason(texts: Sequence[ComparedText], alike: bool, measure: Measure, params: Mapping[str, Any]) -> str:
    """The first rule that holds."""
    if _most(not one.text.strip() for one in texts):
        return "empty texts"
    if alike:
        return "texts that are alike"
    if "window_size" in params and _most(one.tokens < measure.window for one in texts):
        return f"texts shorter than window_size, which is {measure.window} tokens"
    if _most(not one.tokens for one in texts):
        return "texts without words"
    if "key" in params:
        return "one value of the key for texts that are unlike"
    share = shared_lines([one.text for one in texts])
    if share >= _MUCH:
        return f"the same lines in all: {share:.0%} of their characters"
    return "texts that are unlike, connected by chains of matches"


def _most(flags: Any) -> bool:
    values = list(flags)
    return sum(values) >= _ALL * len(values)


def shared_lines(texts: Sequence[str]) -> float:
    """Share of the characters of texts that are in lines which nearly all of them have."""
    lines = [[line.strip() for line in text.splitlines() if line.strip()] for text in texts]
    counts = Counter(line for own in lines for line in set(own))
    common = {line for line, count in counts.items() if count >= _ALL * len(texts)}
    total = sum(len(line) for own in lines for line in own)
    return sum(len(line) for own in lines for line in own if line in common) / total if total else 0.0


def _excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    short = " ".join(text[: 2 * _EXCERPT].split())
    return short[:_EXCERPT] + ("…" if len(short) > _EXCERPT else "")


# Texts of samples by their codes, with the measure of the step.
TextsOf = Callable[[Sequence[int]], tuple[Measure, Mapping[int, ComparedText]]]


def hub_told(step: Any, texts: TextsOf, connected: int, row: int, members: Sequence[int]) -> str:
    """Sentences on a hub and its cures; "" if its texts cannot be read. row, members: codes of samples."""
    try:
        measure, known = texts([row, *members])
    except (OSError, RefineryError):
        return ""
    if row not in known:
        return ""
    hub = hub_of(known[row], [known[member] for member in members if member in known], measure, step.params)
    like = f" The median {measure.name} of {hub.compared} of them is {hub.median:.2f}." if hub.compared > 1 else ""
    cure = "" if hub.alike else f" To keep them apart, {', or '.join(cures(step.params))}."
    return told(connected, hub.reason, hub.excerpt) + like + cure


def told(connected: int, reason: str, excerpt: str) -> str:
    """A sentence on a hub."""
    other = "1 other" if connected == 1 else f"{connected:,} others"
    return f"One sample connects {other} ({reason}): {excerpt!r}."


def _takes_short_for_alike(params: Mapping[str, Any]) -> bool:
    """Return whether MinHash takes all texts without a shingle for each other's duplicates."""
    return params.get("hash") == "data_juicer" and params.get("short") in (None, "data_juicer")


def cures(params: Mapping[str, Any]) -> list[str]:
    """Changes of a step or of the recipe that keep unlike samples apart."""
    return [
        "remove such texts, or what they share, with a filter or mapper before the step",
        *(["set verify: true"] if params.get("verify") is False else []),
        *(["set short: compare, or hash: fast"] if _takes_short_for_alike(params) else []),
        *(["set short: keep"] if params.get("short") == "data_juicer" and "hash" not in params else []),
        *(["set tokenization: character"] if params.get("tokenization") in ("space", "punctuation") else []),
        *(["make the key more precise"] if "key" in params else []),
    ]
