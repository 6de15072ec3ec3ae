"""Filter on the longest word."""

from __future__ import annotations

from refinery.kernels.words.segmenters import check

__all__ = ["check"]

OPERATOR = {
    "doc": (
        "Keep samples whose longest word has at most max_word_length characters. A text without words is removed; NeMo "
        "Curator fails there."
    ),
    "version": 1,
    "peer": "LongWordFilter of NeMo Curator",
    "resources": {"loads": {"lang": "zh"}},
    "params": {
        "max_word_length": {"type": "int", "default": 1000, "doc": "Most characters of a word."},
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language, by its code of two letters: zh is cut by jieba, ja by MeCab, all others at white space.",
        },
    },
    "stats": {"max_word_length": {"type": "BIGINT", "doc": "Characters of the longest word; NULL without words."}},
    "bounds": {"max_word_length": [None, "max_word_length"]},
    "checks": "check",
    "sql": """
        {% set words = feature('language_words', lang=lang) %}
        SELECT CASE WHEN {{ words }}.words > 0 THEN {{ words }}.longest END AS max_word_length
    """,
    "examples": [
        {"text": "a longer\u00a0word", "params": {"max_word_length": 6}, "stats": {"max_word_length": 6}, "keep": True},
        {"text": "var a=1;var b=2;", "params": {"max_word_length": 6}, "stats": {"max_word_length": 7}, "keep": False},
        {
            "text": "我来到北京清华大学",
            "params": {"max_word_length": 3, "lang": "zh"},
            "stats": {"max_word_length": 4},
            "keep": False,
        },
        {"text": "", "stats": {"max_word_length": None}, "keep": False},
    ],
}
