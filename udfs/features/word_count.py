"""Number of refined words of a text, for recipes without another use of the words."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.words import words

FEATURE = {
    "doc": "Number of refined words of a text, upper case kept: n of the feature words, without writing them.",
    "version": 1,
    "functions": {
        "count_words": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "BIGINT",
            "runs": "kernel",
            "call": "count_words",
        }
    },
    "sql": "count_words({{ text }})",
}


def count_words(column: pa.Array) -> pa.Array:
    """Number of words of each text; NULL for NULL."""
    return words.word_count(column)
