"""Removal of lines with a long word."""

from __future__ import annotations

import pyarrow as pa

OPERATOR = {
    "doc": (
        "Remove the lines with a word of more than max_length characters, and samples whose text is then empty. Lines end at "
        "line feeds. fasttext cuts words at ASCII white space, split at all white space, uniseg at the boundaries of UAX 29."
    ),
    "version": 1,
    "peer": "word_length_modifier of DCLM",
    "params": {
        "max_length": {"type": "float", "default": 1000, "doc": "Most characters of a word."},
        "model": {
            "type": "str",
            "default": "fasttext",
            "choices": ["fasttext", "uniseg", "split"],
            "doc": "How to cut words.",
        },
        "ignore_punctuation": {
            "type": "bool",
            "default": False,
            "doc": "Measure only words that begin with a letter or digit.",
        },
        "ignore_whitespace": {"type": "bool", "default": True, "doc": "Leave out words of white space."},
    },
    "functions": {
        "word_length_delta": {
            "columns": ["VARCHAR"],
            "constants": ["DOUBLE", "VARCHAR", "BOOLEAN", "BOOLEAN"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "lines_of_short_words",
        }
    },
    "sql": """
        SELECT
          word_length_delta(
            {{ text }}, {{ max_length | lit }}::DOUBLE, {{ model | lit }}, {{ ignore_punctuation | lit }}, {{ ignore_whitespace | lit }}
          ) AS _delta,
          _delta AS delta,
          coalesce(_delta, {{ text }}) <> '' AS keep_empty
    """,
    "examples": [
        {"text": "one\nthreefour five\n\nsix", "params": {"max_length": 5}, "out": "one\n\nsix", "keep": True},
        {"text": "ab\u00a0cd", "params": {"max_length": 4}, "keep": False},
        {"text": "ab\u00a0cd", "params": {"max_length": 4, "model": "split"}, "out": "ab\u00a0cd", "keep": True},
        {"text": "a.b-c", "params": {"max_length": 3, "model": "uniseg"}, "out": "a.b-c", "keep": True},
        {
            "text": "(abcdef ab",
            "params": {"max_length": 4, "ignore_punctuation": True},
            "out": "(abcdef ab",
            "keep": True,
        },
        {"text": "", "keep": False},
    ],
}


def lines_of_short_words(
    column: pa.Array, most: float, model: str | None, ignore_punctuation: bool, ignore_whitespace: bool
) -> pa.Array:
    """Each text without lines that have a longer word; NULL where nothing changes."""
    from refinery.kernels.text import line_rules
    from refinery.kernels.words.cut_tokens import BY_FIRST, INKED, MODELS

    kind = MODELS[model or "split"] + BY_FIRST * bool(ignore_punctuation) + INKED * bool(ignore_whitespace)
    return line_rules.lines_by_rule(column, line_rules.LONGEST, kind, most, False)
