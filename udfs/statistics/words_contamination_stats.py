"""Frequency of certain words in a normalized text; Python normalizes, a kernel counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.core.arrow import of_texts
from refinery.kernels.dedup import sentence_units
from refinery.kernels.words import language_counts, language_words, word_stats

OPERATOR = {
    "doc": (
        "Measure the share of listed words among all words of each text. The text is first normalised, by default to "
        "lower case, with numbers as 0, punctuation as spaces and no accents. Listed words are not, so a listed word "
        "in capitals never occurs. The statistic is named after the first word; it is 0 for a text without words."
    ),
    "version": 1,
    "peer": "WordsContaminationStats of datatrove 0.10.1, with the fields of norm_config as parameters",
    "resources": {"loads": {"language": {"not": ["eng", "en", "eng_Latn", "en_Latn"]}}},
    "params": {
        "words": {"type": "list[str]", "doc": "The words to look for."},
        "words_from": {
            "type": "str",
            "default": "fast",
            "choices": ["fast", "spacy"],
            "doc": "Without effect, see `words` of word_stats.",
        },
        "language": {
            "type": "str",
            "default": "eng",
            "doc": "Code of the language, such as spa or cmn_Hani; other languages than English need the extra languages.",
        },
        "lowercase": {"type": "bool", "default": True, "doc": "Make the text lower case."},
        "norm_whitespace": {"type": "bool", "default": True, "doc": "Make every run of white space one space."},
        "remove_punctuation": {"type": "bool", "default": True, "doc": "Make punctuation marks spaces."},
        "norm_unicode_diacritics": {"type": "bool", "default": True, "doc": "Remove accents and other marks."},
        "norm_numbers": {"type": "bool", "default": True, "doc": "Make every number 0."},
        "norm_weekdays": {"type": "bool", "default": False, "doc": "Make English names of weekdays WEEKDAY."},
        "norm_monthnames": {"type": "bool", "default": False, "doc": "Make English names of months MONTH."},
    },
    "stats": {"words_contamination_{words[0]}": {"type": "DOUBLE", "doc": "Listed words per word."}},
    "checks": "check",
    "functions": {
        "listed_words": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]", "BIGINT", "VARCHAR", "VARCHAR"],
            "returns": (
                "STRUCT(words BIGINT, chars BIGINT, uppers BIGINT, titles BIGINT, stops BIGINT, types BIGINT, "
                "lines BIGINT, short BIGINT[], long BIGINT[])"
            ),
            "runs": "python",
        }
    },
    "sql": """
        {% set how = [(lowercase, 1), (norm_whitespace, 2), (remove_punctuation, 4), (norm_unicode_diacritics, 8),
                      (norm_numbers, 16), (norm_weekdays, 32), (norm_monthnames, 64)]
            | selectattr(0) | map(attribute=1) | sum %}
        SELECT
          listed_words({{ text }}, {{ words | lit }}::VARCHAR[], {{ how }}, {{ words_from | lit }}, {{ language | lit }})
            AS _counts,
          coalesce(_counts.stops / nullif(_counts.words, 0), 0) AS {{ ('words_contamination_' ~ words[0]) | ident }}
    """,
    "examples": [
        {
            "text": "The  Café, the café: 12 cafés",
            "params": {"words": ["cafe", "the"]},
            "stats": {"words_contamination_cafe": 0.6666666666666666},
            "keep": True,
        },
        {
            "text": "The  Café, the café: 12 cafés",
            "params": {"words": ["The"], "lowercase": False, "remove_punctuation": False},
            "stats": {"words_contamination_The": 0.125},
            "keep": True,
        },
        {"text": "...", "params": {"words": ["a b"]}, "stats": {"words_contamination_a b": 0.0}, "keep": True},
        {"text": "", "params": {"words": ["x"]}, "stats": {"words_contamination_x": 0.0}},
        {"text": "", "params": {"words": []}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    found = language_words.problems(params["language"])
    return [*found, *([] if params["words"] else ["words is empty: name one at least"])]


def listed_words(column: pa.Array, words: list[str], how: int, words_from: str, language: str) -> pa.Array:
    """A struct of counts for each normalized text, with the listed words as `stops`; NULL for NULL."""
    texts = [None if text is None else sentence_units.normalised(text, how) for text in column.to_pylist()]
    if not language_words.is_english(language):
        return language_counts.word_counts(texts, words, [], [], language)
    return word_stats.word_stats(of_texts(texts), words or [], [], [])
