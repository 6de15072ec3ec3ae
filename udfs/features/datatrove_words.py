"""Words of a text by the tokenizer of its language, for all steps that need them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.words import language_words

FEATURE = {
    "doc": (
        "Words and punctuation marks of a text, cut as datatrove does it for a language: of English by a kernel with the rules "
        "of spaCy's tokenizer, of other languages by a library. n: their number. joined: the words with U+000A between two; a "
        "line feed within a word is written as U+2028."
    ),
    "version": 1,
    "params": ["language"],
    "variables": "variables",
    "functions": {
        "english_words": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "STRUCT(n BIGINT, joined VARCHAR)",
            "runs": "kernel",
            "call": "english_words",
        },
        "library_words": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(n BIGINT, joined VARCHAR)",
            "runs": "python",
            "call": "library_words",
        },
    },
    "sql": (
        "{% if english %}english_words({{ text }}){% else %}library_words({{ text }}, {{ language | lit }}){% endif %}"
    ),
}


def variables(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the kernel cuts the words of the language."""
    return {"english": language_words.is_english(params["language"])}


def english_words(column: pa.Array) -> pa.Array:
    """The number of words of each text, and the words; NULL for NULL."""
    return language_words.english(column)


def library_words(column: pa.Array, language: str) -> pa.Array:
    """The number of words of each text, and the words, by the library for the language; NULL for NULL."""
    return language_words.by_library(column, language)
