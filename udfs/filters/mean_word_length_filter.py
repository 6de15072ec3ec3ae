"""Filter on the mean length of words."""

from __future__ import annotations

from refinery.kernels.words.segmenters import check

__all__ = ["check"]

OPERATOR = {
    "doc": (
        "Keep samples whose words have a mean length in [min_mean_word_length, max_mean_word_length], in characters. A text "
        "without words is removed; NeMo Curator fails there."
    ),
    "version": 1,
    "peer": "MeanWordLengthFilter of NeMo Curator",
    "resources": {"loads": {"lang": "zh"}},
    "params": {
        "min_mean_word_length": {"type": "float", "default": 3, "doc": "Smallest mean."},
        "max_mean_word_length": {"type": "float", "default": 10, "doc": "Largest mean."},
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language, by its code of two letters: zh is cut by jieba, ja by MeCab, all others at white space.",
        },
    },
    "stats": {"mean_word_length": {"type": "DOUBLE", "doc": "Mean characters of a word; NULL without words."}},
    "bounds": {"mean_word_length": ["min_mean_word_length", "max_mean_word_length"]},
    "checks": "check",
    "sql": """
        {% set words = feature('language_words', lang=lang) %}
        SELECT {{ words }}.chars / nullif({{ words }}.words, 0) AS mean_word_length
    """,
    "examples": [
        {"text": "a bc def, ghij", "stats": {"mean_word_length": 2.75}, "keep": False},
        {"text": "été été", "stats": {"mean_word_length": 3.0}, "keep": True},
        {"text": "我来到北京清华大学", "params": {"lang": "zh"}, "stats": {"mean_word_length": 2.25}, "keep": False},
        {"text": "\n", "stats": {"mean_word_length": None}, "keep": False},
    ],
}
