"""Number of the words of a text by the tokenizer of its language, for recipes without another use of the words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.words import language_words

FEATURE = {
    "doc": "Number of words and punctuation marks of a text: n of the feature datatrove_words, without writing English words.",
    "version": 1,
    "params": ["language"],
    "variables": "variables",
    "functions": {
        "count_english_words": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "BIGINT",
            "runs": "kernel",
            "call": "count_english_words",
        },
    },
    "sql": (
        "{% if english %}count_english_words({{ text }})"
        "{% else %}{{ feature('datatrove_words', language=language) }}.n{% endif %}"
    ),
}


def variables(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the kernel cuts the words of the language."""
    return {"english": language_words.is_english(params["language"])}


def count_english_words(column: pa.Array) -> pa.Array:
    """The number of words of each text; NULL for NULL."""
    return language_words.english_count(column)
