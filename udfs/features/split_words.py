"""Measures of the white space words of a text, which several filters on words share."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.words import split_words as kernels

FEATURE = {
    "doc": (
        "Measures of the words of a text, as str.split cuts them; with rust, as split_whitespace of Rust does, which does "
        "not cut at U+001C to U+001F. words: their number. chars, bytes: of all words. longest, median: characters of a "
        "word, 0 without words. alpha: words with a letter (str.isalpha; with rust, the property Alphabetic, which combining "
        "vowel signs have). stops, lower_stops: words that are the, be, to, of, and, that, have or with, as written, and in "
        "lower case. different_stops: how many of the eight occur, in lower case. marked_words: words with # or …. "
        "symbol_words: words that are ..., [...], (...), …, […] or -», or in which runs of # are more than half of the characters. "
        "lettered: words with the property Alphabetic, which Roman numerals and combining vowel signs have."
    ),
    "version": 1,
    "params": ["rust"],
    "functions": {
        "split_words": {
            "columns": ["VARCHAR"],
            "constants": ["BOOLEAN"],
            "returns": (
                "STRUCT(words BIGINT, chars BIGINT, bytes BIGINT, longest BIGINT, alpha BIGINT, stops BIGINT, "
                "lower_stops BIGINT, different_stops BIGINT, marked_words BIGINT, symbol_words BIGINT, lettered BIGINT, "
                "median DOUBLE)"
            ),
            "runs": "kernel",
            "call": "split_words",
        }
    },
    "sql": "split_words({{ text }}, {{ rust | lit }})",
}


def split_words(column: pa.Array, rust: bool) -> pa.Array:
    """A struct of measures for each text; NULL for NULL."""
    return kernels.split_words(column, rust)
