"""Gopher's rules for the quality of a text, as datatrove has them; kernels count words, lines and marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.words import language_words

OPERATOR = {
    "doc": (
        "Keep samples that pass Gopher's rules for words, lines and marks. The reason of a removal is the first of: "
        "gopher_short_doc, gopher_long_doc, gopher_below_avg_threshold, gopher_above_avg_threshold, gopher_too_many_hashes, "
        "gopher_too_many_ellipsis, gopher_too_many_bullets, gopher_too_many_end_ellipsis, gopher_below_alpha_threshold, "
        "gopher_enough_stop_words. A rule whose parameter is 0 or null is off. Words are those of the language's tokenizer, "
        "punctuation marks among them; for their number and length, words of punctuation alone do not count. Lines are those "
        "of str.splitlines. Shares of a text without words are 0; their mean length is NULL, which no rule removes."
    ),
    "version": 1,
    "peer": "GopherQualityFilter of datatrove 0.10.1",
    "params": {
        "min_doc_words": {"type": "int", "default": 50, "nullable": True, "doc": "Fewest words."},
        "max_doc_words": {"type": "int", "default": 100000, "nullable": True, "doc": "Most words."},
        "min_avg_word_length": {
            "type": "float",
            "default": 3,
            "nullable": True,
            "doc": "Smallest mean length of a word, in characters.",
        },
        "max_avg_word_length": {
            "type": "float",
            "default": 10,
            "nullable": True,
            "doc": "Largest mean length of a word, in characters.",
        },
        "max_symbol_word_ratio": {
            "type": "float",
            "default": 0.1,
            "nullable": True,
            "doc": "Most hashes per word, and most ellipses per word.",
        },
        "max_bullet_lines_ratio": {
            "type": "float",
            "default": 0.9,
            "nullable": True,
            "doc": "Largest share of lines that begin with - or •.",
        },
        "max_ellipsis_lines_ratio": {
            "type": "float",
            "default": 0.3,
            "nullable": True,
            "doc": "Largest share of lines that end with ... or ….",
        },
        "max_non_alpha_words_ratio": {
            "type": "float",
            "default": 0.8,
            "nullable": True,
            "doc": "Smallest share of words with a letter, in spite of its name, which is datatrove's.",
        },
        "min_stop_words": {
            "type": "int",
            "default": 2,
            "nullable": True,
            "doc": "Fewest different stop words in the text.",
        },
        "stop_words": {
            "type": "list[str]",
            "default": ["the", "be", "to", "of", "and", "that", "have", "with"],
            "nullable": True,
            "doc": "Stop words, in exact letter case: `The` is not `the`. null: the default.",
        },
        "language": {"type": "str", "default": "eng", "doc": "Code of the language whose words are counted."},
    },
    "stats": {
        "gopher_words": {"type": "BIGINT", "doc": "Words with a character other than punctuation."},
        "gopher_word_length": {"type": "DOUBLE", "doc": "Mean number of characters of these words; NULL without any."},
        "hash_word_ratio": {"type": "DOUBLE", "doc": "Hashes per word, punctuation among the words."},
        "ellipsis_word_ratio": {"type": "DOUBLE", "doc": "Ellipses (... or …) per word."},
        "bullet_line_ratio": {"type": "DOUBLE", "doc": "Share of lines that begin with - or •."},
        "ellipsis_line_ratio": {"type": "DOUBLE", "doc": "Share of lines that end with ... or …."},
        "alpha_word_ratio": {"type": "DOUBLE", "doc": "Share of words with a letter."},
        "different_stop_words": {"type": "BIGINT", "doc": "Different stop words in the text."},
    },
    "checks": "check",
    "functions": {
        "gopher_words": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR[]"],
            "returns": "STRUCT(words BIGINT, inked BIGINT, inked_chars BIGINT, alphas BIGINT, stops BIGINT)",
        },
        "gopher_text": {
            "columns": ["VARCHAR"],
            "returns": "STRUCT(hashes BIGINT, ellipses BIGINT, lines BIGINT, bullets BIGINT, ended BIGINT)",
        },
    },
    "sql": """
        {% set usual = ['the', 'be', 'to', 'of', 'and', 'that', 'have', 'with'] %}
        {% set stops = usual if stop_words is none else stop_words %}
        SELECT
          gopher_words({{ feature('datatrove_words', language=language) }}.joined, {{ stops | lit }}::VARCHAR[]) AS _words,
          gopher_text({{ text }}) AS _text,
          _words.inked AS gopher_words,
          _words.inked_chars / nullif(_words.inked, 0) AS gopher_word_length,
          coalesce(_text.hashes / nullif(_words.words, 0), 0) AS hash_word_ratio,
          coalesce(_text.ellipses / nullif(_words.words, 0), 0) AS ellipsis_word_ratio,
          coalesce(_text.bullets / nullif(_text.lines, 0), 0) AS bullet_line_ratio,
          coalesce(_text.ended / nullif(_text.lines, 0), 0) AS ellipsis_line_ratio,
          coalesce(_words.alphas / nullif(_words.words, 0), 0) AS alpha_word_ratio,
          _words.stops AS different_stop_words
          {% if min_doc_words %}, gopher_words >= {{ min_doc_words | lit }} AS keep_gopher_short_doc{% endif %}
          {% if max_doc_words %}, gopher_words <= {{ max_doc_words | lit }} AS keep_gopher_long_doc{% endif %}
          {% if min_avg_word_length %}
          , gopher_word_length >= {{ min_avg_word_length | lit }} OR gopher_word_length IS NULL
            AS keep_gopher_below_avg_threshold
          {% endif %}
          {% if max_avg_word_length %}
          , gopher_word_length <= {{ max_avg_word_length | lit }} OR gopher_word_length IS NULL
            AS keep_gopher_above_avg_threshold
          {% endif %}
          {% if max_symbol_word_ratio %}
          , hash_word_ratio <= {{ max_symbol_word_ratio | lit }} AS keep_gopher_too_many_hashes
          , ellipsis_word_ratio <= {{ max_symbol_word_ratio | lit }} AS keep_gopher_too_many_ellipsis
          {% endif %}
          {% if max_bullet_lines_ratio %}
          , bullet_line_ratio <= {{ max_bullet_lines_ratio | lit }} AS keep_gopher_too_many_bullets
          {% endif %}
          {% if max_ellipsis_lines_ratio %}
          , ellipsis_line_ratio <= {{ max_ellipsis_lines_ratio | lit }} AS keep_gopher_too_many_end_ellipsis
          {% endif %}
          {% if max_non_alpha_words_ratio %}
          , alpha_word_ratio >= {{ max_non_alpha_words_ratio | lit }} AS keep_gopher_below_alpha_threshold
          {% endif %}
          {% if min_stop_words %}
          , different_stop_words >= {{ min_stop_words | lit }} AS keep_gopher_enough_stop_words
          {% endif %}
    """,
    "examples": [
        {
            "text": "The cat and the dog have a house to be with that friend.",
            "params": {"min_doc_words": 13},
            "stats": {"gopher_words": 13, "gopher_word_length": 3.3076923076923075, "different_stop_words": 7},
            "keep": True,
        },
        {
            "text": "Too short.",
            "stats": {"gopher_words": 2, "alpha_word_ratio": 0.6666666666666666},
            "keep": False,
            "reason": "gopher_short_doc",
        },
        {
            "text": "Don't, can't: 你好 … x1",
            "params": {
                "min_doc_words": 2,
                "min_avg_word_length": 1,
                "max_symbol_word_ratio": 0.3,
                "max_non_alpha_words_ratio": 0.6,
                "min_stop_words": 2,
                "stop_words": ["n't", "Do", "do"],
            },
            "stats": {"gopher_words": 6, "ellipsis_word_ratio": 0.1111111111111111, "different_stop_words": 2},
            "keep": True,
        },
        {
            "text": "# a b\n- c …\n \u2022 the d.... \nof",
            "params": {"min_doc_words": 4, "min_avg_word_length": None, "max_symbol_word_ratio": 0},
            "stats": {"hash_word_ratio": 0.09090909090909091, "bullet_line_ratio": 0.5, "ellipsis_line_ratio": 0.5},
            "keep": False,
            "reason": "gopher_too_many_end_ellipsis",
        },
        {
            "text": "",
            "stats": {"gopher_words": 0, "gopher_word_length": None, "bullet_line_ratio": 0.0},
            "keep": False,
            "reason": "gopher_short_doc",
        },
        {
            "text": "- a",
            "params": {"min_doc_words": -1, "min_avg_word_length": 0, "max_bullet_lines_ratio": -0.5},
            "keep": False,
            "reason": "gopher_too_many_bullets",
        },
        {"text": "One.", "params": {"language": "no such"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return language_words.problems(params["language"])


def gopher_words(joined: pa.Array, stops: list[str]) -> pa.Array:
    """A struct of measures of each text's words; NULL for NULL."""
    from refinery.kernels.words import gopher_words  # imports numpy and Arrow, which check() does not need

    return gopher_words.gopher_words(joined, stops or [])


def gopher_text(column: pa.Array) -> pa.Array:
    """A struct of counts of each text's lines and marks; NULL for NULL."""
    from refinery.kernels.text import gopher_text

    return gopher_text.gopher_text(column)
