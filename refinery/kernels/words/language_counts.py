"""Measures of the words and sentences of texts by language, as datatrove defines them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs
from refinery.kernels.text.piece_stats import lists
from refinery.kernels.words import language_words
from refinery.kernels.words.spacy_chunks import Words


def word_counts(
    texts: Sequence[str | None], stops: Sequence[str], short: Sequence[int], long: Sequence[int], language: str
) -> pa.Array:
    """Measures of `word_stats.word_stats`, by the words of a language."""
    rows = [
        _counts(text, *language_words.numbered(text, language), stops) if text is not None else None for text in texts
    ]
    names = ("words", "chars", "uppers", "titles", "stops", "types", "lines")
    return _struct(rows, names, short, long)


def sentence_counts(texts: Sequence[str | None], short: Sequence[int], long: Sequence[int], language: str) -> pa.Array:
    """Struct for each text, NULL for NULL: sentences, their code points, numbers of short and long ones."""
    rows = [_lengths(language_words.stripped_sentences(text, language)) if text is not None else None for text in texts]
    return _struct(rows, ("sentences", "chars"), short, long)


def _counts(text: str, known: Words, numbers: np.ndarray, stops: Sequence[str]) -> tuple[tuple[int, ...], np.ndarray]:
    lengths, times = known.length.array[numbers], np.bincount(numbers)
    listed = (known.numbers.get(word, len(times)) for word in set(stops))
    counts = (
        len(numbers),
        int(lengths.sum()),
        int(known.upper.array[numbers].sum()),
        int(known.title.array[numbers].sum()),
        sum(int(times[number]) for number in listed if number < len(times)),
        int(np.count_nonzero(times)),
        len(text.splitlines()),
    )
    return counts, lengths


def _lengths(sentences: list[str]) -> tuple[tuple[int, ...], np.ndarray]:
    lengths = np.array([len(sentence) for sentence in sentences], np.int64)
    return (len(sentences), int(lengths.sum())), lengths


def _struct(
    rows: list[tuple[tuple[int, ...], np.ndarray] | None],
    names: Sequence[str],
    short: Sequence[int],
    long: Sequence[int],
) -> pa.Array:
    valid = np.array([row is not None for row in rows], np.bool_)
    counts = np.array([row[0] if row else (0,) * len(names) for row in rows], np.int64).reshape(len(rows), len(names))
    lengths = [row[1] if row else np.zeros(0, np.int64) for row in rows]
    shorter = np.array([[(n <= limit).sum() for limit in short] for n in lengths], np.int64).reshape(
        len(rows), len(short)
    )
    longer = np.array([[(n >= limit).sum() for limit in long] for n in lengths], np.int64).reshape(len(rows), len(long))
    fields = {name: counts[:, k] for k, name in enumerate(names)}
    return structs(valid, **fields, short=lists(shorter), long=lists(longer))
