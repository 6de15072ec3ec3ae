"""Words of many texts by the tokenizer of a language: of English by a kernel, of others by a library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import of_texts, present, structs
from refinery.kernels.words import spacy_words


def is_english(language: str) -> bool:
    """Return whether the words of a language are those of the kernel."""
    return spacy_words.languages().get(language) == spacy_words.ENGLISH


def problems(language: str) -> list[str]:
    """Reasons why the words of a language are unavailable, as sentences that name the cure."""
    return [] if is_english(language) else spacy_words.problems("spacy", language, "language")


def english(column: pa.Array) -> pa.Array:
    """Struct for each text, NULL for NULL: n, the number of words, and joined, the words with U+000A between two."""
    from refinery.kernels.words.english_words import english_words  # not needed to compile a recipe

    n, joined = english_words(column)
    return structs(present(column), n=n, joined=joined)


def by_library(column: pa.Array, language: str) -> pa.Array:
    """The same by the library for a language; a line feed within a word is written as U+2028."""
    rows: list[Any] = [None if text is None else spacy_words.words(text, language) for text in column.to_pylist()]
    joined = of_texts(
        [None if row is None else "\n".join(word.replace("\n", "\u2028") for word in row) for row in rows]
    )
    return structs(present(column), n=np.array([len(row or ()) for row in rows], np.int64), joined=joined)


def english_count(column: pa.Array) -> pa.Array:
    """Number of words of each text, by the kernel; NULL for NULL."""
    from refinery.kernels.words.english_words import english_word_count

    return english_word_count(column)


def sentences(text: str, language: str) -> list[str]:
    """Sentences of a text, one at least, with all white space: each begins where the last word of the one before ended."""
    ends = [end for _, end in spacy_words.sentence_spans(text, language)]
    return [text[a:b] for a, b in zip([0, *ends[:-1]], [*ends[:-1], len(text)], strict=False)]
