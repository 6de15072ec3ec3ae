"""Number, lengths and kinds of the words of a text; of English by a kernel, of other languages by a library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.words import language_counts, language_words, word_stats

OPERATOR = {
    "doc": (
        "Measure the words of each text: number, length, distinct words, capitals and stop words. Punctuation marks "
        "are words, too. English words equal spaCy's, cut by a kernel; words of other languages are cut by "
        "the library that datatrove takes. Every statistic is 0 for a text without words; lines are those of "
        "str.splitlines."
    ),
    "version": 2,
    "peer": "WordStats of datatrove 0.10.1",
    "resources": {"loads": {"language": {"not": ["eng", "en", "eng_Latn", "en_Latn"]}}},
    "params": {
        "words": {
            "type": "str",
            "default": "fast",
            "choices": ["fast", "spacy"],
            "doc": "Without effect: English words are cut by the kernel, words of other languages by their library.",
        },
        "language": {
            "type": "str",
            "default": "eng",
            "doc": "Code of the language, such as spa or cmn_Hani; other languages than English need the extra languages.",
        },
        "stop_words": {
            "type": "list[str]",
            "default": ["the", "be", "to", "of", "and", "that", "have", "with"],
            "doc": "Stop words, in exact letter case: `The` is not `the`.",
        },
        "short_word_max_chars_threshold": {
            "type": "list[int]",
            "default": [3],
            "default_for": [None, []],
            "doc": "Numbers n; for each, measure the share of words of at most n characters.",
        },
        "long_word_max_chars_threshold": {
            "type": "list[int]",
            "default": [7],
            "default_for": [None, []],
            "doc": "Numbers n; for each, measure the share of words of at least n characters.",
        },
    },
    "stats": {
        "n_words": {"type": "BIGINT", "doc": "Words and punctuation marks."},
        "avg_word_length": {"type": "DOUBLE", "doc": "Characters per word."},
        "avg_words_per_line": {"type": "DOUBLE", "doc": "Words per line."},
        "short_word_ratio_{short_word_max_chars_threshold}": {
            "type": "DOUBLE",
            "doc": "Share of words with at most this number of characters.",
        },
        "long_word_ratio_{long_word_max_chars_threshold}": {
            "type": "DOUBLE",
            "doc": "Share of words with at least this number of characters.",
        },
        "type_token_ratio": {"type": "DOUBLE", "doc": "Distinct words per word."},
        "uppercase_word_ratio": {"type": "DOUBLE", "doc": "Share of words in capitals (str.isupper)."},
        "capitalized_word_ratio": {"type": "DOUBLE", "doc": "Share of words that begin with a capital (str.istitle)."},
        "stop_word_ratio": {"type": "DOUBLE", "doc": "Share of stop words."},
    },
    "checks": "check",
    "functions": {
        "word_counts": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]", "BIGINT[]", "BIGINT[]"],
            "returns": (
                "STRUCT(words BIGINT, chars BIGINT, uppers BIGINT, titles BIGINT, stops BIGINT, types BIGINT, "
                "lines BIGINT, short BIGINT[], long BIGINT[])"
            ),
        },
        "spacy_word_counts": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]", "BIGINT[]", "BIGINT[]", "VARCHAR"],
            "returns": (
                "STRUCT(words BIGINT, chars BIGINT, uppers BIGINT, titles BIGINT, stops BIGINT, types BIGINT, "
                "lines BIGINT, short BIGINT[], long BIGINT[])"
            ),
            "runs": "python",
        },
    },
    "sql": """
        {% set english = ['eng', 'en', 'eng_Latn', 'en_Latn'] %}
        {% set shorts = short_word_max_chars_threshold | unique | list %}
        {% set longs = long_word_max_chars_threshold | unique | list %}
        SELECT
          {% if language in english %}word_counts{% else %}spacy_word_counts{% endif %}(
            {{ text }}, {{ stop_words | lit }}::VARCHAR[], {{ shorts | lit }}::BIGINT[], {{ longs | lit }}::BIGINT[]
            {% if language not in english %}, {{ language | lit }}{% endif %}
          ) AS _counts,
          _counts.words AS n_words,
          coalesce(_counts.chars / nullif(_counts.words, 0), 0) AS avg_word_length,
          coalesce(_counts.words / nullif(_counts.lines, 0), 0) AS avg_words_per_line,
          {% for chars in shorts %}
          coalesce(_counts.short[{{ loop.index }}] / nullif(_counts.words, 0), 0)
            AS {{ ('short_word_ratio_' ~ chars) | ident }},
          {% endfor %}
          {% for chars in longs %}
          coalesce(_counts.long[{{ loop.index }}] / nullif(_counts.words, 0), 0)
            AS {{ ('long_word_ratio_' ~ chars) | ident }},
          {% endfor %}
          coalesce(_counts.types / nullif(_counts.words, 0), 0) AS type_token_ratio,
          coalesce(_counts.uppers / nullif(_counts.words, 0), 0) AS uppercase_word_ratio,
          coalesce(_counts.titles / nullif(_counts.words, 0), 0) AS capitalized_word_ratio,
          coalesce(_counts.stops / nullif(_counts.words, 0), 0) AS stop_word_ratio
    """,
    "examples": [
        {
            "text": "Don't go to NASA, e.g. to\nthe U.S.",
            "stats": {
                "n_words": 10,
                "avg_word_length": 2.7,
                "avg_words_per_line": 5.0,
                "short_word_ratio_3": 0.7,
                "long_word_ratio_7": 0.0,
                "type_token_ratio": 0.9,
                "uppercase_word_ratio": 0.2,
                "capitalized_word_ratio": 0.2,
                "stop_word_ratio": 0.3,
            },
            "keep": True,
        },
        {
            "text": "(see https://example.org/a?b=c) well-known",
            "params": {"short_word_max_chars_threshold": [1, 4], "long_word_max_chars_threshold": []},
            "stats": {
                "n_words": 7,
                "short_word_ratio_1": 0.42857142857142855,
                "short_word_ratio_4": 0.7142857142857143,
            },
        },
        {
            "text": "这是一个例子。",
            "params": {"words": "fast", "stop_words": ["。"]},
            "stats": {"n_words": 2, "stop_word_ratio": 0.5},
        },
        {"text": " \n ", "stats": {"n_words": 0, "avg_word_length": 0.0, "avg_words_per_line": 0.0}, "keep": True},
        {"text": "", "stats": {"n_words": 0, "avg_words_per_line": 0.0, "type_token_ratio": 0.0}, "keep": True},
        {"text": "Una frase.", "params": {"language": "spa"}, "stats": {"n_words": 3}},
        {"text": "ภาษาไทย", "params": {"language": "tha"}, "stats": {"n_words": 1}},
        {"text": "One.", "params": {"words": "spacy", "language": "no such"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return language_words.problems(params["language"])


def word_counts(column: pa.Array, stops: list[str], short: list[int], long: list[int]) -> pa.Array:
    """A struct of counts for each text, with words by the kernel; NULL for NULL."""
    return word_stats.word_stats(column, stops or [], short or [], long or [])


def spacy_word_counts(column: pa.Array, stops: list[str], short: list[int], long: list[int], language: str) -> pa.Array:
    """A struct of counts for each text, with words by the language's library; NULL for NULL."""
    return language_counts.word_counts(column.to_pylist(), stops or [], short or [], long or [], language)
