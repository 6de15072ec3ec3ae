"""Filter on the share of the most frequent n-gram of words."""

from __future__ import annotations

from refinery.kernels.words.segmenters import check

__all__ = ["check"]

OPERATOR = {
    "doc": (
        "Keep samples in which the most frequent n-gram of words has at most max_repeating_ngram_ratio of the characters. Its "
        "words with a blank between them are sought in the text, also within words and where no n-gram repeats; so "
        "words of lang zh, which no blank separates, are rarely found. Of equally frequent n-grams the first one "
        "counts; with NeMo Curator it depends on the process. A text of fewer than n words has 1."
    ),
    "version": 1,
    "peer": "RepeatingTopNGramsFilter of NeMo Curator",
    "resources": {"loads": {"lang": "zh"}},
    "params": {
        "n": {"type": "int", "default": 2, "min": 1, "max": 1000, "doc": "Words of an n-gram."},
        "max_repeating_ngram_ratio": {"type": "float", "default": 0.2, "doc": "Largest share."},
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language, by its code of two letters: zh is cut by jieba, ja by MeCab, all others at white space.",
        },
    },
    "stats": {"repeating_top_{n}grams": {"type": "DOUBLE", "doc": "Share of the characters in the n-gram."}},
    "bounds": {"repeating_top_{n}grams": [None, "max_repeating_ngram_ratio"]},
    "checks": "check",
    "sql": """
        {% set grams = feature('word_grams', most=[n, 10] | max, find=[n, 4] | max, lang=lang) %}
        SELECT CASE WHEN {{ grams }}.top_count[{{ n }}] > 0
            THEN {{ grams }}.top_found[{{ n }}] * ({{ grams }}.top_chars[{{ n }}] + {{ n - 1 }}) / length({{ text }})
            ELSE 1 END AS repeating_top_{{ n }}grams
    """,
    "examples": [
        {
            "text": "of the a of the b c d e f g h i j k l m",
            "stats": {"repeating_top_2grams": 0.3076923076923077},
            "keep": False,
        },
        {
            "text": "to be or not",
            "params": {"n": 3},
            "stats": {"repeating_top_3grams": 0.6666666666666666},
            "keep": False,
        },
        {
            "text": "a b\na b, thermal of the moon",
            "stats": {"repeating_top_2grams": 0.21428571428571427},
            "keep": False,
        },
        {"text": "我们走我们走", "params": {"lang": "zh"}, "stats": {"repeating_top_2grams": 0.0}, "keep": True},
        {"text": "", "stats": {"repeating_top_2grams": 1.0}, "keep": False},
    ],
}
