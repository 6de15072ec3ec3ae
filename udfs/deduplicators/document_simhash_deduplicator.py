"""Near-duplicate removal by SimHash; Data-Juicer's hash in a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

OPERATOR = {
    "doc": (
        "Remove near-duplicates: samples whose SimHash, 64 bits over shingles of window_size tokens, differs from "
        "another sample's in at most hamming_distance bits. Connected samples form a cluster, and its first sample "
        "stays. Texts with fewer tokens than window_size all get the SimHash 0, so they are duplicates of each "
        "other, whatever they say, as in Data-Juicer; `short: keep` keeps them. SimHash is unreliable for texts of a "
        "few shingles. Tokens are separated by U+0020 alone with `space`, so the end of a line is part of a word."
    ),
    "version": 1,
    "peer": "document_simhash_deduplicator of Data-Juicer 1.6.1 with simhash-pybind 0.0.3",
    "params": {
        "tokenization": {
            "type": "str",
            "default": "space",
            "choices": ["space", "punctuation", "character"],
            "doc": (
                "Kind of tokens: text between spaces, text between punctuation (perhaps empty), or a character, "
                "which suits Chinese."
            ),
        },
        "window_size": {"type": "int", "default": 6, "min": 1, "doc": "Tokens of a shingle."},
        "lowercase": {"type": "bool", "default": True, "doc": "Compare texts in lower case."},
        "ignore_pattern": {
            "type": "regex",
            "default": None,
            "nullable": True,
            "doc": (
                "Compare texts without the matches of this regular expression (Python's regex module). With "
                "`punctuation` it should not match punctuation, which separates the tokens."
            ),
        },
        "num_blocks": {
            "type": "int",
            "default": 6,
            "min": 1,
            "max": 64,
            "doc": "Must be above hamming_distance; does not change results. Data-Juicer's time depends on it.",
        },
        "hamming_distance": {
            "type": "int",
            "default": 4,
            "min": 0,
            "doc": "Maximum number of bits in which duplicates differ.",
        },
        "short": {
            "type": "str",
            "default": "data_juicer",
            "choices": ["data_juicer", "keep"],
            "doc": (
                "Treatment of texts with fewer tokens than window_size: `data_juicer` removes all but the first "
                "of them, `keep` compares them with nothing."
            ),
        },
    },
    "checks": "check",
    "functions": {
        "text_simhash": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BIGINT", "BOOLEAN", "VARCHAR", "BOOLEAN"],
            "returns": "UBIGINT",
            "runs": "kernel",
            "call": "text_simhash",
        }
    },
    "match": "hamming",
    "sql": (
        "SELECT text_simhash({{ text }}, {{ tokenization | lit }}, {{ window_size | lit }}, {{ lowercase | lit }}, "
        "{{ ignore_pattern | lit }}, {{ (short == 'keep') | lit }}) AS simhash"
    ),
    "examples": [
        {"texts": ["one two three", "one  Two three", "three two one"], "params": {"window_size": 2}, "kept": [0, 2]},
        {"texts": ["too short", "something else", "a b c d e f"], "kept": [0, 2]},
        {"texts": ["too short", "something else", "too short"], "params": {"short": "keep"}, "kept": [0, 1, 2]},
        {
            "texts": ["a, b; c.", "a b c", "c b a"],
            "params": {"window_size": 1, "ignore_pattern": "\\p{P}"},
            "kept": [0],
        },
        {
            "texts": ["今天天气很好", "今天天氣很好", "明天会下雨吗"],
            "params": {"tokenization": "character", "window_size": 2, "num_blocks": 18, "hamming_distance": 16},
            "kept": [0, 2],
        },
    ],
}


def check(params: dict[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    num_blocks, distance = params["num_blocks"], params["hamming_distance"]
    if num_blocks <= distance:
        return [
            f"num_blocks is {num_blocks}, which must be greater than hamming_distance ({distance}). "
            f"Set num_blocks: {min(distance + 2, 64)}, or lower hamming_distance."
        ]
    return []


def text_simhash(
    column: pa.Array, tokenization: str, window_size: int, lowercase: bool, ignore_pattern: str | None, keep_short: bool
) -> pa.Array:
    """The SimHash of each text; NULL for NULL, and with `keep_short` for texts of fewer tokens than `window_size`."""
    from refinery.kernels.core.arrow import ints  # imports numpy and Arrow, which check() does not need
    from refinery.kernels.dedup.shingles import tokens
    from refinery.kernels.dedup.simhash import simhash

    split = tokens(column, tokenization, lowercase, ignore_pattern)
    known = split.valid
    if keep_short:
        known = known & (np.diff(split.firsts) > window_size)
    return ints(simhash(split, window_size), known)
