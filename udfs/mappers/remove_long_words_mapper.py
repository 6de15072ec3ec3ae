"""Remove words by their length; a kernel over the UTF-8 bytes."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.words import word_removal

OPERATOR = {
    "doc": (
        "Remove words of fewer than min_len or more than max_len code points. A word that is too long stays, "
        "unchanged, if it is short enough without the special characters at its ends; a word that is too short is "
        "always removed. Words are cut at U+0020, tab and line feed, and joined by the strongest of these between "
        "them. So runs of white space, indentation and empty lines disappear even with the default parameters, which "
        "remove no word."
    ),
    "version": 1,
    "peer": "remove_long_words_mapper of Data-Juicer 1.6.1",
    "params": {
        "min_len": {"type": "int", "default": 1, "doc": "Length of the shortest words that stay."},
        "max_len": {"type": "int", "default": 9223372036854775807, "doc": "Length of the longest words that stay."},
    },
    "functions": {
        "remove_long_words": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT", "BIGINT"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "remove_long_words",
        }
    },
    "sql": "SELECT remove_long_words({{ text }}, {{ min_len | lit }}, {{ max_len | lit }}) AS delta",
    "examples": [
        {"text": "a bb ccc dddd", "params": {"min_len": 2, "max_len": 3}, "out": "bb ccc"},
        {"text": "(((word))) ((longer))", "params": {"max_len": 4}, "out": "(((word)))"},
        {"text": "  two  words\t\n\n\tmore \t end ", "out": "two words\nmore\tend"},
        {"text": "x\n- \n\ty", "params": {"min_len": 1, "max_len": 0}, "out": ""},
        {"text": "übermäßig 長い言葉です ok", "params": {"max_len": 5}, "out": "ok"},
        {"text": "no\u00a0break stays\rone word", "params": {"max_len": 8}, "out": "no\u00a0break word"},
    ],
}


def remove_long_words(column: pa.Array, min_len: int, max_len: int) -> pa.Array:
    """Each text without words of a length outside of [min_len, max_len]; NULL where nothing changes."""
    return word_removal.remove_long_words(column, min_len, max_len)
