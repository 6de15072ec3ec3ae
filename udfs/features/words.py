"""Refined words of a text, the input of the filters on words."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.words import words

FEATURE = {
    "doc": (
        "Words of a text, cut at U+0020, line feed and tab, without the special characters at their ends; a word "
        "of special characters only (a number is one) is none. n: their number, upper case kept. lower: the words "
        "refined after str.lower, one space between them, which loses nothing because no word holds a space. The "
        "two may differ in number: ø and π are special and Ø and Π are not."
    ),
    "version": 1,
    "functions": {
        "refined_words": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "STRUCT(n BIGINT, lower VARCHAR)",
            "runs": "kernel",
            "call": "refined_words",
        }
    },
    "sql": "refined_words({{ text }})",
}


def refined_words(column: pa.Array) -> pa.Array:
    """A struct for each text: the number of its words, and the words in lower case; NULL for NULL."""
    return words.words(column)
