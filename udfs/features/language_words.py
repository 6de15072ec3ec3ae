"""Measures of the words of a text by language: between white space, or by jieba (Chinese) and MeCab (Japanese)."""

from __future__ import annotations

from refinery.kernels.words.segmenters import segmented_words

__all__ = ["segmented_words"]

FEATURE = {
    "doc": (
        "Words, chars, longest, lettered and symbol_words as in the feature split_words; for lang zh and ja of the words "
        "of jieba and MeCab, where white space within the text is a word, too."
    ),
    "version": 1,
    "params": ["lang"],
    "functions": {
        "segmented_words": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(words BIGINT, chars BIGINT, longest BIGINT, lettered BIGINT, symbol_words BIGINT)",
            "runs": "python",
            "call": "segmented_words",
        }
    },
    "sql": (
        "{% if lang | lower in ('zh', 'ja') %}segmented_words({{ text }}, {{ lang | lower | lit }})"
        "{% else %}{{ feature('split_words', rust=false) }}{% endif %}"
    ),
}
