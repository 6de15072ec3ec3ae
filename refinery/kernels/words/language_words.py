"""Words and sentences of texts as datatrove cuts them for a language: of English by a kernel, of others by a library."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.errors import did_you_mean
from refinery.kernels.core.arrow import of_texts, present, structs
from refinery.kernels.words import library_words, spacy_words
from refinery.kernels.words.spacy_chunks import ChunkTokenizer, TextTokenizer, Words

_local = threading.local()


def is_english(language: str) -> bool:
    """Return whether the words of a language are those of the kernel."""
    return spacy_words.languages().get(language) == spacy_words.ENGLISH


def problems(language: str, parameter: str = "language") -> list[str]:
    """Reasons why the words of a language are unavailable, as sentences that name the cure."""
    if is_english(language):
        return []
    if language in spacy_words.languages():
        return spacy_words.problems(language, parameter)
    if language in library_words.languages():
        return library_words.problems(language, parameter)
    known = {**spacy_words.languages(), **library_words.languages()}
    return [f"{parameter}: datatrove has no words for {language!r}{did_you_mean(language, known)}"]


def words(text: str, language: str) -> list[str]:
    """Words and marks of a text, white space left out."""
    code = spacy_words.languages().get(language)
    if code == spacy_words.JAPANESE:
        return [word for piece in library_words.japanese(text) if (word := piece.strip())]
    return (spacy_words if code else library_words).words(text, language)


def numbered(text: str, language: str) -> tuple[Words, np.ndarray]:
    """Known words of a language, and the numbers of the words of a text, as `words` gives them."""
    chunks = _local.__dict__.setdefault("chunks", {})
    code = spacy_words.languages().get(language, spacy_words.JAPANESE)
    key = language if code == spacy_words.JAPANESE else spacy_words.pipeline(code)
    known = chunks.get(key)
    if known is None or known.full:
        chunks.clear()
        known = chunks[key] = _tokenizer(key)
    return known.words, known.of(text)


def _tokenizer(key: Any) -> ChunkTokenizer | TextTokenizer:
    """Tokenizer that numbers words. key: a pipeline of spaCy, or a language whose words another library cuts."""
    if isinstance(key, str):
        return TextTokenizer(lambda text: words(text, key))
    if type(key.tokenizer).__name__ == "Tokenizer":
        return ChunkTokenizer(key.tokenizer)
    return TextTokenizer(lambda text: [word for token in key.tokenizer(text) if (word := token.text.strip())])


def sentences(text: str, language: str) -> list[str]:
    """Sentences of a text, one at least, with all white space: each begins where the last word of the one before ended."""
    if language in spacy_words.languages():
        ends = spacy_words.sentence_ends(_parts(text, language), language)
    else:
        ends = library_words.sentence_ends(text, language)
    return [text[a:b] for a, b in zip([0, *ends[:-1]], [*ends[:-1], len(text)], strict=False)]


def stripped_sentences(text: str, language: str) -> list[str]:
    """Sentences of a text without white space at their ends, as a library returns them: they need not be all of the text."""
    if language not in spacy_words.languages():
        return library_words.sentences(text, language)
    return [one for part in _parts(text, language) for one in spacy_words.sentences(part, language)]


def _parts(text: str, language: str) -> list[str]:
    """Parts of a text that spaCy cuts into sentences by themselves."""
    return library_words.japanese_parts(text) if spacy_words.languages()[language] == spacy_words.JAPANESE else [text]


def english(column: pa.Array) -> pa.Array:
    """Struct for each text, NULL for NULL: n, the number of words, and joined, the words with U+000A between two."""
    from refinery.kernels.words.english_words import english_words  # not needed to compile a recipe

    n, joined = english_words(column)
    return structs(present(column), n=n, joined=joined)


def english_count(column: pa.Array) -> pa.Array:
    """Number of words of each text, by the kernel; NULL for NULL."""
    from refinery.kernels.words.english_words import english_word_count

    return english_word_count(column)


def by_library(column: pa.Array, language: str) -> pa.Array:
    """Words as of `english`, by the library for a language; a line feed within a word is written as U+2028."""
    counts, joined = np.zeros(len(column), np.int64), list[str | None]()
    for row, text in enumerate(column.to_pylist()):
        if text is None:
            joined.append(None)
            continue
        known, places = numbered(text, language)
        counts[row] = len(places)
        words_of_text = [known.written[number] for number in places.tolist()]
        line = "\n".join(words_of_text)
        if line.count("\n") >= len(words_of_text) > 0:
            line = "\n".join(word.replace("\n", "\u2028") for word in words_of_text)
        joined.append(line)
    return structs(present(column), n=counts, joined=of_texts(joined))
