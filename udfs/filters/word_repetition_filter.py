"""Filter on repeated word n-grams; a kernel that finds equal n-grams by hash and confirms them byte by byte."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Keep samples in which the share of repeated word n-grams lies in [min_ratio, max_ratio]: occurrences of "
        "n-grams that occur more than once, divided by all n-grams. A text written twice has nearly 1. Words are "
        "lowered and lose the special characters at their ends, so n-grams that differ only in numbers or "
        "punctuation are equal. A text with fewer words than rep_len has 0."
    ),
    "version": 1,
    "peer": "word_repetition_filter of Data-Juicer 1.6.1",
    "resources": {"loads": {"tokenization": True}},
    "params": {
        "lang": {"type": "str", "default": "en", "doc": "Language of the tokenizer to look for."},
        "tokenization": {"type": "bool", "default": False, "doc": "Use the pieces of a tokenizer as words."},
        "rep_len": {"type": "int", "default": 10, "min": 1, "doc": "Words of an n-gram."},
        "min_ratio": {"type": "float", "default": 0.0, "doc": "Smallest share."},
        "max_ratio": {"type": "float", "default": 0.5, "doc": "Largest share."},
        "model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{lang}.sp.model",
            "needed": "tokenization",
            "doc": "Tokenizer for tokenization: a SentencePiece model, or a tokenizer.json of the tokenizers library.",
        },
    },
    "stats": {"word_rep_ratio": {"type": "DOUBLE", "most": 1, "doc": "Occurrences of repeated n-grams per n-gram."}},
    "bounds": {"word_rep_ratio": ["min_ratio", "max_ratio"]},
    "checks": "check",
    "functions": {
        "word_repetition": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "word_repetition",
        },
        "piece_repetition": {
            "columns": ["BLOB", "VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR", "BIGINT"],
            "returns": "DOUBLE",
            "runs": "kernel",
            "call": "piece_repetition",
        },
    },
    "sql": """
        {% if tokenization %}{% set pieces = feature('numbered_pieces', model=model) %}{% endif %}
        SELECT
        {% if tokenization %}
        piece_repetition(
            {{ pieces }}.numbers, {{ pieces }}.joined, {{ pieces }}.ends, {{ model | lit }}, {{ rep_len | lit }}
        )
        {% else %}word_repetition({{ text }}, {{ rep_len | lit }})
        {% endif %}
        AS word_rep_ratio
    """,
    "examples": [
        {"text": "too short to repeat", "stats": {"word_rep_ratio": 0.0}, "keep": True},
        {"text": "a b c a b d", "params": {"rep_len": 2}, "stats": {"word_rep_ratio": 0.4}, "keep": True},
        {
            "text": "Ping 1, pong 2; PING: pong!",
            "params": {"rep_len": 2},
            "stats": {"word_rep_ratio": 0.6666666666666666},
            "keep": False,
        },
        {"text": "x x x x", "params": {"rep_len": 3}, "stats": {"word_rep_ratio": 1.0}, "keep": False},
        {"text": "12 34 12 34 12 34", "params": {"rep_len": 1}, "stats": {"word_rep_ratio": 0.0}, "keep": True},
        {"text": "ΟΔΟΣ ΟΔΟΣ οδος οδός", "params": {"rep_len": 1}, "stats": {"word_rep_ratio": 0.75}, "keep": False},
    ],
}


check = subwords.check


def word_repetition(column: pa.Array, rep_len: int) -> pa.Array:
    """The repetition ratio of each text; NULL for NULL.

    The statistic goes back to Laurençon et al., "The BigScience ROOTS Corpus" (2022).
    """
    from refinery.kernels.words import word_repetition  # imports numpy and Arrow, which check() does not need

    return word_repetition.word_repetition(column, rep_len)


def piece_repetition(numbers: pa.Array, joined: pa.Array, ends: pa.Array, model: str | None, rep_len: int) -> pa.Array:
    """The repetition ratio of each text's refined pieces (see the feature numbered_pieces); NULL for NULL."""
    from refinery.kernels.models import piece_classes

    return piece_classes.repetition(numbers, joined, ends, model, rep_len)
