"""Filter on the number of words, or of a tokenizer's pieces; kernels count them."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Keep samples whose number of words lies in [min_num, max_num]. Words are cut at U+0020, line feed and tab, "
        "not at other white space, and lose the special characters at their ends. A run of special characters alone "
        "is not a word, so numbers and separate punctuation do not count. A Chinese sentence without spaces is one "
        "word."
    ),
    "version": 1,
    "peer": "words_num_filter of Data-Juicer 1.6.1",
    "resources": {"loads": {"tokenization": True}},
    "params": {
        "lang": {"type": "str", "default": "en", "doc": "Language of the tokenizer to look for."},
        "tokenization": {
            "type": "bool",
            "default": False,
            "doc": "Count the pieces of a tokenizer, stripped in the same way.",
        },
        "min_num": {"type": "int", "default": 10, "doc": "Fewest words."},
        "max_num": {"type": "int", "default": 9223372036854775807, "doc": "Most words."},
        "model": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "{lang}.sp.model",
            "needed": "tokenization",
            "doc": "Tokenizer for tokenization: a SentencePiece model, or a tokenizer.json of the tokenizers library.",
        },
    },
    "stats": {"num_words": {"type": "BIGINT", "doc": "Words of the text without special characters at their ends."}},
    "bounds": {"num_words": ["min_num", "max_num"]},
    "checks": "check",
    "functions": {
        "piece_word_count": {
            "columns": ["BLOB", "VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR"],
            "returns": "BIGINT",
            "runs": "kernel",
            "call": "piece_word_count",
        }
    },
    "sql": """
        {% if tokenization %}{% set pieces = feature('numbered_pieces', model=model) %}{% endif %}
        SELECT
        {% if tokenization %}
        piece_word_count({{ pieces }}.numbers, {{ pieces }}.joined, {{ pieces }}.ends, {{ model | lit }})
        {% elif shares('words') %}{{ feature('words') }}.n
        {% else %}{{ feature('word_count') }}
        {% endif %}
        AS num_words
    """,
    "examples": [
        {"text": "one two  three\nfour", "params": {"min_num": 4}, "stats": {"num_words": 4}, "keep": True},
        {"text": "word1 2024 - (x)", "params": {"min_num": 3}, "stats": {"num_words": 2}, "keep": False},
        {"text": "a\u00a0b c\rd e\u3000f", "params": {"min_num": 3}, "stats": {"num_words": 3}, "keep": True},
        {"text": "这是一个没有空格的句子。", "stats": {"num_words": 1}, "keep": False},
        {"text": "一 上 士 Г 人", "params": {"min_num": 1}, "stats": {"num_words": 1}, "keep": True},
        {"text": "", "params": {"min_num": 0}, "stats": {"num_words": 0}, "keep": True},
    ],
}


check = subwords.check


def piece_word_count(numbers: pa.Array, joined: pa.Array, ends: pa.Array, model: str | None) -> pa.Array:
    """The number of refined words among each text's pieces (see the feature numbered_pieces); NULL for NULL."""
    from refinery.kernels.models import piece_classes  # imports numpy and Arrow, which check() does not need

    return piece_classes.count(numbers, joined, ends, model)
