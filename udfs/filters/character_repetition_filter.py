"""Filter on repeated character n-grams; a kernel that counts them by their hashes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, texts
from refinery.kernels.text.repetition import AT_ONCE, ratio_rows

OPERATOR = {
    "doc": (
        "Keep samples in which the share of repeated character n-grams lies in [min_ratio, max_ratio]. Of d distinct "
        "n-grams, only the floor(sqrt(d)) most frequent ones count, and only if they occur more than once; so a long "
        "text written twice has a share far below 1. A text shorter than rep_len has 0. Characters are code points."
    ),
    "version": 1,
    "peer": "character_repetition_filter of Data-Juicer 1.6.1",
    "params": {
        "rep_len": {"type": "int", "default": 10, "min": 1, "doc": "Characters of an n-gram."},
        "min_ratio": {"type": "float", "default": 0.0, "doc": "Smallest share."},
        "max_ratio": {"type": "float", "default": 0.5, "doc": "Largest share."},
    },
    "stats": {"char_rep_ratio": {"type": "DOUBLE", "most": 1, "doc": "Occurrences of the counted n-grams per n-gram."}},
    "bounds": {"char_rep_ratio": ["min_ratio", "max_ratio"]},
    "functions": {
        "character_repetition": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "character_repetition",
        }
    },
    "sql": "SELECT character_repetition({{ text }}, {{ rep_len | lit }}) AS char_rep_ratio",
    "examples": [
        {"text": "too short", "stats": {"char_rep_ratio": 0.0}, "keep": True},
        {"text": "aaaaaaaaaaaa", "stats": {"char_rep_ratio": 1.0}, "keep": False},
        {"text": "abcabcabc", "params": {"rep_len": 3}, "stats": {"char_rep_ratio": 0.42857142857142855}, "keep": True},
        {"text": "一二三一二", "params": {"rep_len": 2}, "stats": {"char_rep_ratio": 0.5}, "keep": True},
        {"text": "abcdefghijklmnopqrst abcdefghijklmnopqrst", "stats": {"char_rep_ratio": 0.25}, "keep": True},
    ],
}


def character_repetition(column: pa.Array, rep_len: int) -> pa.Array:
    """The repetition ratio of each text for n-grams of `rep_len` characters; NULL for NULL.

    The statistic goes back to Laurençon et al., "The BigScience ROOTS Corpus" (2022); the square root is Data-Juicer's.
    """
    view = texts(column)
    ratios = np.zeros(len(view), np.float64)
    if not len(view):  # constants have no value then, either
        return ints(ratios)
    ratio_rows(view.data, view.offsets, view.valid, rep_len, AT_ONCE, ratios)
    return ints(ratios, view.valid)
