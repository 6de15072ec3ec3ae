"""Filter on the share of words that are symbols."""

from __future__ import annotations

from refinery.kernels.words.segmenters import check

__all__ = ["check"]

OPERATOR = {
    "doc": (
        "Keep samples in which at most max_symbol_to_word_ratio of the words are symbols: ..., [...], (...), …, […], -» or a "
        "word in which runs of # are more than half of the characters. So # is one, and ## and #tag are none. A text without "
        "words has no share and is removed; NeMo Curator fails there."
    ),
    "version": 1,
    "peer": "SymbolsToWordsFilter of NeMo Curator",
    "resources": {"loads": {"lang": "zh"}},
    "params": {
        "max_symbol_to_word_ratio": {"type": "float", "default": 0.1, "doc": "Largest share."},
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language, by its code of two letters: zh is cut by jieba, ja by MeCab, all others at white space.",
        },
    },
    "stats": {
        "symbol_to_word": {"type": "DOUBLE", "most": 1, "doc": "Share of words that are symbols; NULL without words."}
    },
    "bounds": {"symbol_to_word": [None, "max_symbol_to_word_ratio"]},
    "checks": "check",
    "sql": """
        {% set words = feature('language_words', lang=lang) %}
        SELECT {{ words }}.symbol_words / nullif({{ words }}.words, 0) AS symbol_to_word
    """,
    "examples": [
        {"text": "# Title\nmore ...", "stats": {"symbol_to_word": 0.5}, "keep": False},
        {"text": "## Title #tag", "stats": {"symbol_to_word": 0.0}, "keep": True},
        {"text": "#a# and [...]", "stats": {"symbol_to_word": 0.6666666666666666}, "keep": False},
        {"text": "我们…走", "params": {"lang": "zh"}, "stats": {"symbol_to_word": 0.3333333333333333}, "keep": False},
        {"text": " ", "stats": {"symbol_to_word": None}, "keep": False},
    ],
}
