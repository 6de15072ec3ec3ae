"""Numbers of the word segments of a text, for filters that count words."""

from __future__ import annotations

import pyarrow as pa

FEATURE = {
    "doc": (
        "Numbers of the word segments of a text by UAX 29 (Unicode 16), which cover all of it. segments: all. words: with a "
        "letter or digit of Unicode, vowel signs included. ink, python_ink: with a character that is no white space of "
        "Unicode, or of str.isspace. alnum_first, space_first: whose first character is str.isalnum or str.isspace. "
        "Ideographs, Hiragana and Thai letters are segments one by one."
    ),
    "version": 1,
    "functions": {
        "count_segments": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": (
                "STRUCT(segments BIGINT, words BIGINT, ink BIGINT, python_ink BIGINT, alnum_first BIGINT, space_first BIGINT)"
            ),
            "runs": "kernel",
            "call": "count_segments",
        }
    },
    "sql": "count_segments({{ text }})",
}


def count_segments(column: pa.Array) -> pa.Array:
    """A struct of counts for each text; NULL for NULL."""
    from refinery.kernels.unicode import word_segments  # imported late: checking a recipe needs no kernel

    return word_segments.segment_counts(column)
