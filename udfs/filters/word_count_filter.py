"""Filter on the number of words."""

from __future__ import annotations

from refinery.kernels.words.segmenters import check

__all__ = ["check"]

OPERATOR = {
    "doc": (
        "Keep samples whose number of words lies in [min_words, max_words]. White space within a text counts as a word for "
        "lang zh."
    ),
    "version": 1,
    "peer": "WordCountFilter of NeMo Curator",
    "resources": {"loads": {"lang": "zh"}},
    "params": {
        "min_words": {"type": "int", "default": 50, "doc": "Fewest words."},
        "max_words": {"type": "int", "default": 100000, "doc": "Most words."},
        "lang": {
            "type": "str",
            "default": "en",
            "doc": "Language, by its code of two letters: zh is cut by jieba, ja by MeCab, all others at white space.",
        },
    },
    "stats": {"word_count": {"type": "BIGINT", "doc": "Words."}},
    "bounds": {"word_count": ["min_words", "max_words"]},
    "checks": "check",
    "sql": """
        SELECT {{ feature('language_words', lang=lang) }}.words AS word_count
    """,
    "examples": [
        {"text": "two\u3000words", "params": {"min_words": 2}, "stats": {"word_count": 2}, "keep": True},
        {
            "text": "我来到北京清华大学",
            "params": {"min_words": 4, "lang": "zh"},
            "stats": {"word_count": 4},
            "keep": True,
        },
        {"text": "我 来", "params": {"min_words": 3, "lang": "ZH"}, "stats": {"word_count": 3}, "keep": True},
        {"text": "", "stats": {"word_count": 0}, "keep": False},
    ],
}
