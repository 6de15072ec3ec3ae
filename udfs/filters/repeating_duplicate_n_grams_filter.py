"""Filter on the share of repeated n-grams of words."""

from __future__ import annotations

from refinery.kernels.words.segmenters import check

__all__ = ["check"]

OPERATOR = {
    "doc": (
        "Keep samples in which second and later occurrences of n-grams of words have at most "
        "max_repeating_duplicate_ngram_ratio of the characters: those of their words, and one for each blank between these; "
        "words that several of them share count once. A text of fewer than n words has 1."
    ),
    "version": 1,
    "peer": "RepeatingDuplicateNGramsFilter of NeMo Curator",
    "resources": {"loads": {"lang": "zh"}},
    "params": {
        "n": {"type": "int", "default": 2, "min": 1, "max": 1000, "doc": "Words of an n-gram."},
        "max_repeating_duplicate_ngram_ratio": {"type": "float", "default": 0.2, "doc": "Largest share."},
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language, by its code of two letters: zh is cut by jieba, ja by MeCab, all others at white space.",
        },
    },
    "stats": {"repeating_dup_{n}gram": {"type": "DOUBLE", "doc": "Share of the characters in repeated n-grams."}},
    "bounds": {"repeating_dup_{n}gram": [None, "max_repeating_duplicate_ngram_ratio"]},
    "checks": "check",
    "sql": """
        {% set grams = feature('word_grams', most=[n, 10] | max, find=4, lang=lang) %}
        SELECT CASE WHEN {{ grams }}.top_count[{{ n }}] > 0
            THEN {{ grams }}.again[{{ n }}] / length({{ text }}) ELSE 1 END AS repeating_dup_{{ n }}gram
    """,
    "examples": [
        {
            "text": "of the a of the b c d e f g h i j k l m",
            "stats": {"repeating_dup_2gram": 0.15384615384615385},
            "keep": True,
        },
        {"text": "a b c a b c", "stats": {"repeating_dup_2gram": 0.45454545454545453}, "keep": False},
        {"text": "one two", "params": {"n": 3}, "stats": {"repeating_dup_3gram": 1.0}, "keep": False},
        {"text": "", "stats": {"repeating_dup_2gram": 1.0}, "keep": False},
    ],
}
