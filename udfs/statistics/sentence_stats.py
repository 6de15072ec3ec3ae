"""Number and lengths of the sentences of a text; of English by a kernel, of other languages by a library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.text import sentence_stats
from refinery.kernels.words import language_counts, language_words

OPERATOR = {
    "doc": (
        "Measure the number and length of the sentences of each text. English is cut by a kernel with the "
        "rules of spaCy's tokenizer and sentencizer, other languages by the library that datatrove takes. An English sentence "
        "ends after a word that is a full stop, a question mark or the like, and the punctuation that follows; a "
        "line break does not end it. White space at its ends does not count. Every statistic is 0 for a text without "
        "sentences."
    ),
    "version": 2,
    "peer": "SentenceStats of datatrove 0.10.1",
    "resources": {"loads": {"language": {"not": ["eng", "en", "eng_Latn", "en_Latn"]}}},
    "params": {
        "words": {
            "type": "str",
            "default": "fast",
            "choices": ["fast", "spacy"],
            "doc": "Without effect: English is cut by the kernel, other languages by their library.",
        },
        "language": {
            "type": "str",
            "default": "eng",
            "doc": "Code of the language, such as spa or cmn_Hani; other languages than English need the extra languages.",
        },
        "short_sentence_max_chars_threshold": {
            "type": "list[int]",
            "default": [20],
            "default_for": [None, []],
            "doc": "Numbers n; for each, measure the share of sentences of at most n characters.",
        },
        "long_sentence_max_chars_threshold": {
            "type": "list[int]",
            "default": [75],
            "default_for": [None, []],
            "doc": "Numbers n; for each, measure the share of sentences of at least n characters.",
        },
    },
    "stats": {
        "n_sentences": {"type": "BIGINT", "doc": "Sentences."},
        "avg_sentence_length": {"type": "DOUBLE", "doc": "Characters per sentence."},
        "short_sentence_ratio_{short_sentence_max_chars_threshold}": {
            "type": "DOUBLE",
            "doc": "Share of sentences with at most this number of characters.",
        },
        "long_sentence_ratio_{long_sentence_max_chars_threshold}": {
            "type": "DOUBLE",
            "doc": "Share of sentences with at least this number of characters.",
        },
    },
    "checks": "check",
    "functions": {
        "sentence_counts": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT[]", "BIGINT[]"],
            "returns": "STRUCT(sentences BIGINT, chars BIGINT, short BIGINT[], long BIGINT[])",
        },
        "spacy_sentence_counts": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT[]", "BIGINT[]", "VARCHAR"],
            "returns": "STRUCT(sentences BIGINT, chars BIGINT, short BIGINT[], long BIGINT[])",
            "runs": "python",
        },
    },
    "sql": """
        {% set english = ['eng', 'en', 'eng_Latn', 'en_Latn'] %}
        {% set shorts = short_sentence_max_chars_threshold | unique | list %}
        {% set longs = long_sentence_max_chars_threshold | unique | list %}
        SELECT
          {% if language in english %}sentence_counts{% else %}spacy_sentence_counts{% endif %}(
            {{ text }}, {{ shorts | lit }}::BIGINT[], {{ longs | lit }}::BIGINT[]
            {% if language not in english %}, {{ language | lit }}{% endif %}
          ) AS _counts,
          _counts.sentences AS n_sentences,
          coalesce(_counts.chars / nullif(_counts.sentences, 0), 0) AS avg_sentence_length
          {% for chars in shorts %}
          , coalesce(_counts.short[{{ loop.index }}] / nullif(_counts.sentences, 0), 0)
            AS {{ ('short_sentence_ratio_' ~ chars) | ident }}
          {% endfor %}
          {% for chars in longs %}
          , coalesce(_counts.long[{{ loop.index }}] / nullif(_counts.sentences, 0), 0)
            AS {{ ('long_sentence_ratio_' ~ chars) | ident }}
          {% endfor %}
    """,
    "examples": [
        {
            "text": 'He said "Go!" Mr. Smith went.\n\nThe end... Really?',
            "stats": {
                "n_sentences": 3,
                "avg_sentence_length": 15.333333333333334,
                "short_sentence_ratio_20": 1.0,
                "long_sentence_ratio_75": 0.0,
            },
            "keep": True,
        },
        {"text": "一。二！三", "params": {"short_sentence_max_chars_threshold": [1]}, "stats": {"n_sentences": 1}},
        {"text": " \n ", "stats": {"n_sentences": 0, "avg_sentence_length": 0.0}, "keep": True},
        {"text": "", "stats": {"n_sentences": 0, "short_sentence_ratio_20": 0.0}},
        {"text": "Eins. Zwei.", "params": {"language": "deu"}, "stats": {"n_sentences": 2}},
        {
            "text": "첫 문장입니다. 12345678901234567890 둘째 문장입니다.",
            "params": {
                "language": "kor",
                "short_sentence_max_chars_threshold": [],
                "long_sentence_max_chars_threshold": None,
            },
            "stats": {"avg_sentence_length": 8.5, "short_sentence_ratio_20": 1.0, "long_sentence_ratio_75": 0.0},
        },
        {"text": "One.", "params": {"language": "no such"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return language_words.problems(params["language"])


def sentence_counts(column: pa.Array, short: list[int], long: list[int]) -> pa.Array:
    """A struct of counts for each text, with sentences by the kernel; NULL for NULL."""
    return sentence_stats.sentence_stats(column, short or [], long or [])


def spacy_sentence_counts(column: pa.Array, short: list[int], long: list[int], language: str) -> pa.Array:
    """A struct of counts for each text, with sentences by the language's library; NULL for NULL."""
    return language_counts.sentence_counts(column.to_pylist(), short or [], long or [], language)
