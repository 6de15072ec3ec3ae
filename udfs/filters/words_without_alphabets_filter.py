"""Filter on the share of words with a letter."""

from __future__ import annotations

from refinery.kernels.words.segmenters import check

__all__ = ["check"]

OPERATOR = {
    "doc": (
        "Keep samples in which at least min_words_with_alphabets of the words have a letter (the Unicode property "
        "Alphabetic). A text without words is removed; NeMo Curator fails there."
    ),
    "version": 1,
    "peer": "WordsWithoutAlphabetsFilter of NeMo Curator",
    "resources": {"loads": {"lang": "zh"}},
    "params": {
        "min_words_with_alphabets": {"type": "float", "default": 0.8, "doc": "Smallest share."},
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language, by its code of two letters: zh is cut by jieba, ja by MeCab, all others at white space.",
        },
    },
    "stats": {
        "words_without_alphabets": {
            "type": "DOUBLE",
            "most": 1,
            "doc": "Share of words with a letter; NULL without words.",
        }
    },
    "bounds": {"words_without_alphabets": ["min_words_with_alphabets", None]},
    "checks": "check",
    "sql": """
        {% set words = feature('language_words', lang=lang) %}
        SELECT {{ words }}.lettered / nullif({{ words }}.words, 0) AS words_without_alphabets
    """,
    "examples": [
        {"text": "1 apple, 2 pears", "stats": {"words_without_alphabets": 0.5}, "keep": False},
        {"text": "Ⅷ ⓐ x2", "stats": {"words_without_alphabets": 1.0}, "keep": True},
        {
            "text": "我来了。",
            "params": {"lang": "zh"},
            "stats": {"words_without_alphabets": 0.6666666666666666},
            "keep": False,
        },
        {"text": "", "stats": {"words_without_alphabets": None}, "keep": False},
    ],
}
