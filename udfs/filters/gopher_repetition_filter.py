"""Gopher's rules for repetition in a text, as datatrove has them; kernels compare lines, paragraphs and n-grams of words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.words import language_words

OPERATOR = {
    "doc": (
        "Keep samples that pass Gopher's rules for repetition. The reason of a removal is the first of: empty, dup_para_frac, "
        "dup_para_char_frac, dup_line_frac, dup_line_char_frac, top_2_gram and so on, duplicated_5_n_grams and so on. The first "
        "copy of a line or paragraph is none. Lines are separated by one or more line feeds, paragraphs by two or more; a text "
        "that begins and ends with a line feed has two empty lines. The most frequent n-gram counts even where it occurs once; "
        "of several it is the first. Repeated n-grams do not overlap. Words are those of the language's tokenizer, punctuation "
        "marks among them. A rule for lines or paragraphs whose parameter is 0 or null is off; a bound of 0 for n-grams is a bound."
    ),
    "version": 1,
    "peer": "GopherRepetitionFilter of datatrove 0.10.1",
    "params": {
        "dup_line_frac": {
            "type": "float",
            "default": 0.3,
            "nullable": True,
            "doc": "Largest share of lines that are copies of an earlier one.",
        },
        "dup_para_frac": {
            "type": "float",
            "default": 0.3,
            "nullable": True,
            "doc": "Largest share of paragraphs that are copies of an earlier one.",
        },
        "dup_line_char_frac": {
            "type": "float",
            "default": 0.2,
            "nullable": True,
            "doc": "Largest share of the text's characters in such lines.",
        },
        "dup_para_char_frac": {
            "type": "float",
            "default": 0.2,
            "nullable": True,
            "doc": "Largest share of the text's characters in such paragraphs.",
        },
        "top_n_grams": {
            "type": "any",
            "default": [[2, 0.2], [3, 0.18], [4, 0.16]],
            "nullable": True,
            "doc": "Pairs [n, share]: the most of the text's characters in the occurrences of its most frequent n-gram.",
        },
        "dup_n_grams": {
            "type": "any",
            "default": [[5, 0.15], [6, 0.14], [7, 0.13], [8, 0.12], [9, 0.11], [10, 0.1]],
            "nullable": True,
            "doc": "Pairs [n, share]: the most of the text's characters in n-grams that occurred before.",
        },
        "language": {"type": "str", "default": "eng", "doc": "Code of the language whose words make n-grams."},
    },
    "stats": {
        "text_chars": {"type": "BIGINT", "doc": "Characters of the text."},
        "dup_para_frac": {"type": "DOUBLE", "doc": "Share of paragraphs that are copies of an earlier one."},
        "dup_para_char_frac": {"type": "DOUBLE", "doc": "Characters of these, per character of the text."},
        "dup_line_frac": {"type": "DOUBLE", "doc": "Share of lines that are copies of an earlier one."},
        "dup_line_char_frac": {"type": "DOUBLE", "doc": "Characters of these, per character of the text."},
        "top_{top_n_grams}_gram": {
            "type": "DOUBLE",
            "doc": "Characters in the occurrences of the most frequent n-gram, blanks among them, per character of the text.",
        },
        "duplicated_{dup_n_grams}_n_grams": {
            "type": "DOUBLE",
            "doc": "Characters in n-grams that occurred before, without blanks, per character of the text.",
        },
    },
    "checks": "check",
    "functions": {
        "gopher_copies": {
            "columns": ["VARCHAR"],
            "returns": (
                "STRUCT(lines BIGINT, line_copies BIGINT, line_copy_chars BIGINT, paragraphs BIGINT, "
                "paragraph_copies BIGINT, paragraph_copy_chars BIGINT)"
            ),
        },
        "gopher_repetition": {
            "columns": ["VARCHAR", "BIGINT"],
            "constants": ["BIGINT[]", "BIGINT[]"],
            "returns": "STRUCT(top BIGINT[], duplicates BIGINT[])",
        },
    },
    "sql": """
        {% set words = feature('datatrove_words', language=language) %}
        {% set tops = (top_n_grams or []) | map('first') | list %}
        {% set dups = (dup_n_grams or []) | map('first') | list %}
        SELECT
          length({{ text }}) AS _chars,
          _chars AS text_chars,
          gopher_copies({{ text }}) AS _copies,
          {% if tops or dups %}
          gopher_repetition({{ words }}.joined, {{ words }}.n, {{ tops | lit }}::BIGINT[], {{ dups | lit }}::BIGINT[])
            AS _grams,
          {% endif %}
          coalesce(_copies.paragraph_copies / nullif(_copies.paragraphs, 0), 0) AS dup_para_frac,
          coalesce(_copies.paragraph_copy_chars / nullif(_chars, 0), 0) AS dup_para_char_frac,
          coalesce(_copies.line_copies / nullif(_copies.lines, 0), 0) AS dup_line_frac,
          coalesce(_copies.line_copy_chars / nullif(_chars, 0), 0) AS dup_line_char_frac,
          {% for n in tops %}
          coalesce(_grams.top[{{ loop.index }}] / nullif(_chars, 0), 0) AS top_{{ n }}_gram,
          {% endfor %}
          {% for n in dups %}
          coalesce(_grams.duplicates[{{ loop.index }}] / nullif(_chars, 0), 0) AS duplicated_{{ n }}_n_grams,
          {% endfor %}
          text_chars > 0 AS keep_empty
          {% if dup_para_frac %}, dup_para_frac <= {{ dup_para_frac | lit }} AS keep_dup_para_frac{% endif %}
          {% if dup_para_char_frac %}
          , dup_para_char_frac <= {{ dup_para_char_frac | lit }} AS keep_dup_para_char_frac
          {% endif %}
          {% if dup_line_frac %}, dup_line_frac <= {{ dup_line_frac | lit }} AS keep_dup_line_frac{% endif %}
          {% if dup_line_char_frac %}
          , dup_line_char_frac <= {{ dup_line_char_frac | lit }} AS keep_dup_line_char_frac
          {% endif %}
          {% for n, share in top_n_grams or [] %}
          , top_{{ n }}_gram <= {{ share | lit }} AS keep_top_{{ n }}_gram
          {% endfor %}
          {% for n, share in dup_n_grams or [] %}
          , duplicated_{{ n }}_n_grams <= {{ share | lit }} AS keep_duplicated_{{ n }}_n_grams
          {% endfor %}
    """,
    "examples": [
        {
            "text": "One line of a text.\nAnother line, with other words in it.\n\nA second paragraph.",
            "params": {"top_n_grams": [[1, 0.9], [2, 0.9]], "dup_n_grams": [[5, 0.15]]},
            "stats": {
                "text_chars": 78,
                "dup_para_frac": 0.0,
                "dup_line_frac": 0.0,
                "top_1_gram": 0.038461538461538464,
                "top_2_gram": 0.10256410256410256,
                "duplicated_5_n_grams": 0.0,
            },
            "keep": True,
        },
        {
            "text": "Menu\nHome\n\nMenu\n\nMenu",
            "stats": {
                "dup_para_frac": 0.3333333333333333,
                "dup_line_frac": 0.5,
                "dup_line_char_frac": 0.38095238095238093,
            },
            "keep": False,
            "reason": "dup_para_frac",
        },
        {
            "text": "\na b c\n",
            "params": {"dup_line_char_frac": None, "dup_para_frac": 0, "top_n_grams": [], "dup_n_grams": None},
            "stats": {"dup_line_frac": 0.3333333333333333, "dup_line_char_frac": 0.0},
            "keep": False,
            "reason": "dup_line_frac",
        },
        {
            "text": "buy it now and buy it now or buy it later",
            "params": {"top_n_grams": [[2, 0.5]], "dup_n_grams": [[3, 0.1]]},
            "stats": {"top_2_gram": 0.43902439024390244, "duplicated_3_n_grams": 0.1951219512195122},
            "keep": False,
            "reason": "duplicated_3_n_grams",
        },
        {"text": "one two", "params": {"top_n_grams": [[2, 0.9]]}, "stats": {"top_2_gram": 1.0}, "keep": False},
        {"text": "", "stats": {"text_chars": 0, "top_2_gram": 0.0}, "keep": False, "reason": "empty"},
        {"text": "One.", "params": {"dup_n_grams": [[5, 0.15], [5, 0.1]]}, "error": True},
        {"text": "One.", "params": {"top_n_grams": 5}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    wrong = [name for name in ("top_n_grams", "dup_n_grams") if not _are_bounds(params[name])]
    return [
        f"{name} must be a list of pairs such as [5, 0.15]: words of an n-gram, each number once, and a share"
        for name in wrong
    ] + language_words.problems(params["language"])


def _are_bounds(value: Any) -> bool:
    """Return whether a value is a list of pairs of a number of words and a share, without the same number twice."""
    if value is None:
        return True
    if not isinstance(value, (list, tuple)) or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in value
    ):
        return False
    sizes = [n for n, _ in value]
    if any(type(n) is not int or not 1 <= n <= 1000 for n in sizes) or len(set(sizes)) < len(sizes):
        return False
    return all(type(share) in (int, float) and share >= 0 for _, share in value)


def gopher_copies(column: pa.Array) -> pa.Array:
    """A struct of counts of each text's lines and paragraphs; NULL for NULL."""
    from refinery.kernels.text import gopher_copies  # imports numpy and Arrow, which check() does not need

    return gopher_copies.gopher_copies(column)


def gopher_repetition(joined: pa.Array, n: pa.Array, tops: list[int], duplicates: list[int]) -> pa.Array:
    """Lists of characters of each text's repeated n-grams; NULL for NULL."""
    from refinery.kernels.words import gopher_repetition

    return gopher_repetition.gopher_repetition(joined, n, tops or [], duplicates or [])
