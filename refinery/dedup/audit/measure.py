"""Similarity of the texts of a deduplicator, by the shingles that it compares itself where it has any."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from refinery.common.fields import keys_of
from refinery.kernels.core.arrow import items, numbers, of_texts

# Similarity from which two texts count as alike: far below the thresholds at which deduplicators match.
ALIKE = 0.5
# Most shingles of a text that are compared; of more, those with the least hashes, which estimate the similarity with a
# standard error of at most 0.002.
MOST = 1 << 16
# Characters of a text that are kept for excerpts and for the lines that texts share.
_KEPT = 4000
# Shingles for deduplicators that make none, and for one that ignores white space, digits and ASCII punctuation.
_WORDS: dict[str, Any] = {"tokenization": "word", "window_size": 5, "lowercase": True, "ignore_pattern": None}
_LETTERS = _WORDS | {"tokenization": "character", "ignore_pattern": r"[\s\d!-/:-@\[-`{-~]"}
_SPLIT = ("normalize", "tokenization", "lowercase", "ignore_pattern", "tokenizer_model")


@dataclass(frozen=True)
class ComparedText:
    """A text in the form that is compared.

    text: its beginning. digest: of the whole text without white space at the ends. tokens: their number. shingles: sorted
    hashes (uint64). vector: the embedding of the sample.
    """

    text: str
    digest: str
    tokens: int
    shingles: np.ndarray
    vector: np.ndarray | None = None


@dataclass(frozen=True)
class Measure:
    """A step's way of comparing.

    text_key, vector_key: places in a sample. shingles: how they are made, as MinHash has it. window: tokens of a shingle.
    threshold: the least similarity that the step asks for, if it asks for one.
    """

    text_key: tuple[str, ...]
    shingles: Mapping[str, Any]
    window: int
    vector_key: tuple[str, ...] = ()
    threshold: float | None = None

    @staticmethod
    def of(step: Any, text_key: Sequence[str]) -> Measure:
        """The measure of a deduplicator of samples. text_key: that of the recipe."""
        params, own = step.params, step.params.get("text_key")
        vector = keys_of(params["embedding_key"]) if "embedding_key" in params else ()
        threshold = params.get("cosine_threshold" if vector else "jaccard_threshold")
        how = {"normalize": "none", "tokenizer_model": None, **_shingles(params)}
        window = int(how.get("n_grams") or how["window_size"])
        key = tuple(keys_of(own)) if own else tuple(text_key)
        return Measure(key, {name: how[name] for name in _SPLIT}, window, tuple(vector), threshold)

    @staticmethod
    def of_words(params: Mapping[str, Any], text_key: Sequence[str], how: Mapping[str, Any], window: int) -> Measure:
        """The measure of a deduplicator that takes out parts. how: their shingles. text_key: that of the recipe."""
        own = params.get("text_key")
        return Measure(tuple(keys_of(own)) if own else tuple(text_key), dict(how), window)

    @property
    def name(self) -> str:
        """The similarity by which the step removes samples: `cosine` or `jaccard`."""
        return "cosine" if self.vector_key else "jaccard"

    @property
    def alike(self) -> float:
        """The similarity, of the kind `name`, from which samples count as alike."""
        return self.threshold if self.vector_key and self.threshold is not None else ALIKE

    def plain(self) -> dict[str, Any]:
        """The measure as JSON values."""
        return asdict(self)

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> Measure:
        """The measure of `plain`."""
        keys = {name: tuple(plain[name]) for name in ("text_key", "vector_key")}
        return Measure(**{**plain, **keys})

    def compared(self, samples: Sequence[Any]) -> Iterator[ComparedText]:
        """The texts of samples, in order; a field that is missing is an empty text."""
        texts = self.of_texts([self.text_of(sample) for sample in samples])
        for sample, text in zip(samples, texts, strict=True):
            yield replace(text, vector=_vector(sample, self.vector_key))

    def text_of(self, sample: Any) -> str:
        """The text of a sample; half surrogate pairs, which no UTF-8 has, become `?`."""
        value = _value(sample, self.text_key)
        return "" if value is None else str(value).encode("utf-8", "replace").decode()

    def of_texts(self, texts: Sequence[str]) -> Iterator[ComparedText]:
        """Texts in the form that is compared."""
        from refinery.kernels.dedup.minhash_texts import shingle_set, split

        if not texts:
            return
        tokens = split(of_texts(texts), *(self.shingles[name] for name in _SPLIT))
        sets, counts = shingle_set(tokens, self.window), (np.diff(tokens.firsts) - 1).tolist()
        for at, text in enumerate(texts):
            digest = hashlib.blake2b(text.strip().encode(), digest_size=16).hexdigest()
            hashes = numbers(items(sets.slice(at, 1)))[:MOST].astype(np.uint64)
            yield ComparedText(text[:_KEPT], digest, counts[at], hashes)


def _shingles(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Parameters of the shingles of a step."""
    if params.keys() >= _WORDS.keys():
        return params
    return _LETTERS if params.get("ignore_non_character") else _WORDS


def _value(sample: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        sample = sample.get(key) if isinstance(sample, dict) else None
    return sample


def _vector(sample: Any, keys: Sequence[str]) -> np.ndarray | None:
    value = _value(sample, keys) if keys else None
    return np.asarray(value, np.float64) if isinstance(value, list) and value else None


def jaccard(one: ComparedText, other: ComparedText) -> float:
    """Share of the shingles of either text that both have. Texts without shingles are alike if they are equal."""
    if one.digest == other.digest:
        return 1.0
    both = np.intersect1d(one.shingles, other.shingles, assume_unique=True)
    union = len(one.shingles) + len(other.shingles) - len(both)
    if (
        max(len(one.shingles), len(other.shingles)) == MOST
    ):  # the least hashes of the union are known, and which are in both
        least = np.union1d(one.shingles, other.shingles)[:MOST]
        both, union = both[both <= least[-1]], len(least)
    return len(both) / union if union else 0.0


def cosine(one: ComparedText, other: ComparedText) -> float | None:
    """Cosine of the embeddings of two samples; None if one has none."""
    if one.vector is None or other.vector is None or len(one.vector) != len(other.vector):
        return None
    size = float(np.linalg.norm(one.vector) * np.linalg.norm(other.vector))
    return float(one.vector @ other.vector) / size if size else None
