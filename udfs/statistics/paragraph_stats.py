"""Number and lengths of paragraphs, and repeated paragraphs; a kernel measures them in one pass."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text.piece_stats import piece_stats

OPERATOR = {
    "doc": (
        "Measure the paragraphs of each text: number, length and repetition. Paragraphs are separated by two "
        "consecutive line feeds; paragraphs of white space alone are ignored. The third of three line feeds belongs "
        "to the next paragraph. Every statistic is 0 for a text without paragraphs."
    ),
    "version": 2,
    "peer": "ParagraphStats of datatrove 0.10.1",
    "params": {
        "short_paragraph_max_chars_threshold": {
            "type": "list[int]",
            "default": [100],
            "default_for": [None, []],
            "doc": "Numbers n; for each, measure the share of paragraphs of at most n characters.",
        },
        "long_paragraph_max_chars_threshold": {
            "type": "list[int]",
            "default": [1000],
            "default_for": [None, []],
            "doc": "Numbers n; for each, measure the share of paragraphs of at least n characters.",
        },
        "ignore_empty_paragraphs": {
            "type": "bool",
            "default": False,
            "doc": "Without effect: empty paragraphs are never counted.",
        },
    },
    "stats": {
        "n_paragraphs": {"type": "BIGINT", "doc": "Paragraphs."},
        "avg_paragraph_length": {"type": "DOUBLE", "doc": "Characters per paragraph."},
        "short_paragraph_ratio_{short_paragraph_max_chars_threshold}": {
            "type": "DOUBLE",
            "doc": "Share of paragraphs with at most this number of characters.",
        },
        "long_paragraph_ratio_{long_paragraph_max_chars_threshold}": {
            "type": "DOUBLE",
            "doc": "Share of paragraphs with at least this number of characters.",
        },
        "paragraph_duplicates": {
            "type": "DOUBLE",
            "doc": "Share of paragraphs that repeat an earlier paragraph of the text.",
        },
        "paragraph_char_duplicates": {
            "type": "DOUBLE",
            "doc": "Share of the paragraphs' characters that are in repeated paragraphs.",
        },
    },
    "functions": {
        "paragraph_counts": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT[]", "BIGINT[]"],
            "returns": (
                "STRUCT(pieces BIGINT, taken BIGINT, chars BIGINT, terminal BIGINT, bullets BIGINT, duplicates BIGINT, "
                "duplicate_chars BIGINT, short BIGINT[], long BIGINT[])"
            ),
        }
    },
    "sql": """
        {% set shorts = short_paragraph_max_chars_threshold | unique | list %}
        {% set longs = long_paragraph_max_chars_threshold | unique | list %}
        SELECT
          paragraph_counts({{ text }}, {{ shorts | lit }}::BIGINT[], {{ longs | lit }}::BIGINT[]) AS _counts,
          _counts.taken AS n_paragraphs,
          coalesce(_counts.chars / nullif(_counts.taken, 0), 0) AS avg_paragraph_length,
          {% for chars in shorts %}
          coalesce(_counts.short[{{ loop.index }}] / nullif(_counts.taken, 0), 0)
            AS {{ ('short_paragraph_ratio_' ~ chars) | ident }},
          {% endfor %}
          {% for chars in longs %}
          coalesce(_counts.long[{{ loop.index }}] / nullif(_counts.taken, 0), 0)
            AS {{ ('long_paragraph_ratio_' ~ chars) | ident }},
          {% endfor %}
          coalesce(_counts.duplicates / nullif(_counts.taken, 0), 0) AS paragraph_duplicates,
          coalesce(_counts.duplicate_chars / nullif(_counts.chars, 0), 0) AS paragraph_char_duplicates
    """,
    "examples": [
        {
            "text": "One.\n\nTwo\nlines.\n\n \n\nOne.",
            "params": {"short_paragraph_max_chars_threshold": [4, 10]},
            "stats": {
                "n_paragraphs": 3,
                "avg_paragraph_length": 6.0,
                "short_paragraph_ratio_4": 0.6666666666666666,
                "short_paragraph_ratio_10": 1.0,
                "long_paragraph_ratio_1000": 0.0,
                "paragraph_duplicates": 0.3333333333333333,
                "paragraph_char_duplicates": 0.2222222222222222,
            },
            "keep": True,
        },
        {"text": "a\n\n\nb", "stats": {"n_paragraphs": 2, "avg_paragraph_length": 1.5}},
        {"text": " \n\n\t", "stats": {"n_paragraphs": 0, "avg_paragraph_length": 0.0, "paragraph_duplicates": 0.0}},
        {"text": "", "stats": {"n_paragraphs": 0, "short_paragraph_ratio_100": 0.0}},
    ],
}


def paragraph_counts(column: pa.Array, short: list[int], long: list[int]) -> pa.Array:
    """A struct of counts for each text; NULL for NULL."""
    return piece_stats(column, True, True, short or [], long or [])
