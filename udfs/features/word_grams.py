"""Repeated n-grams of words, from which filters compute shares of a text."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.core.arrow import texts
from refinery.kernels.words import word_grams as kernels
from refinery.kernels.words.segmenters import cut_of

FEATURE = {
    "doc": (
        "Repeated n-grams of words: those between white space, or of jieba for lang zh and of MeCab for ja. Each field is "
        "a list, whose n-th item is for n-grams of n words, n from 1 to `most`, and 0 for a text of fewer words. "
        "top_count, top_chars: of the most frequent n-gram (of several, the first) the number, and the characters of its "
        "words. top_found, for n up to `find`: how often its words with a blank between them stand in the text, without overlap. "
        "repeated, all: characters of the words of n-grams that occur more than once, and of all, for each occurrence. "
        "again: characters of the words of second and later occurrences, and the blanks between them, each place once."
    ),
    "version": 1,
    "params": ["most", "find", "lang"],
    "functions": {
        "word_grams": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT", "BIGINT"],
            "returns": (
                'STRUCT(top_count BIGINT[], top_chars BIGINT[], top_found BIGINT[], repeated BIGINT[], "all" BIGINT[], '
                "again BIGINT[])"
            ),
            "runs": "kernel",
            "call": "word_grams",
        },
        "segmented_word_grams": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT", "BIGINT", "VARCHAR"],
            "returns": (
                'STRUCT(top_count BIGINT[], top_chars BIGINT[], top_found BIGINT[], repeated BIGINT[], "all" BIGINT[], '
                "again BIGINT[])"
            ),
            "runs": "python",
            "call": "segmented_word_grams",
        },
    },
    "sql": (
        "{% if lang | lower in ('zh', 'ja') %}"
        "segmented_word_grams({{ text }}, {{ most | lit }}, {{ find | lit }}, {{ lang | lower | lit }})"
        "{% else %}word_grams({{ text }}, {{ most | lit }}, {{ find | lit }}){% endif %}"
    ),
}


def word_grams(column: pa.Array, most: int, find: int) -> pa.Array:
    """A struct of lists for each text; NULL for NULL."""
    return kernels.word_grams(column, most, find)


def segmented_word_grams(column: pa.Array, most: int, find: int, lang: str) -> pa.Array:
    """As `word_grams`, for the words of a language without spaces."""
    return kernels.word_grams(column, most, find, cut_of(texts(column), lang))
