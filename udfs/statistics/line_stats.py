"""Number and lengths of lines, their ends and beginnings, and repeated lines; a kernel measures them in one pass."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text.piece_stats import piece_stats

OPERATOR = {
    "doc": (
        "Measure the lines of each text: number, length, first and last characters, and repetition. Lines are "
        "separated by U+000A: a text of n line feeds has n + 1 lines, an empty one has one. Ratios are shares of all "
        "lines; with ignore_empty_lines, of lines with more than white space, while n_lines still counts all."
    ),
    "version": 2,
    "peer": "LineStats of datatrove 0.10.1, with its spelling of the parameters",
    "params": {
        "max_k_chars_per_line_tresholds": {
            "type": "list[int]",
            "default": [10, 30],
            "default_for": [None],
            "doc": "Numbers n; for each, measure the share of lines of at most n characters.",
        },
        "min_k_chars_per_line_thresholds": {
            "type": "list[int]",
            "default": [2000, 10000],
            "default_for": [None],
            "doc": "Numbers n; for each, measure the share of lines of at least n characters.",
        },
        "ignore_empty_lines": {"type": "bool", "default": False, "doc": "Leave out lines of white space alone."},
    },
    "stats": {
        "n_lines": {"type": "BIGINT", "doc": "Lines."},
        "avg_line_length": {"type": "DOUBLE", "doc": "Characters per line."},
        "short_line_ratio_chars_{max_k_chars_per_line_tresholds}": {
            "type": "DOUBLE",
            "doc": "Share of lines with at most this number of characters.",
        },
        "long_line_ratio_chars_{min_k_chars_per_line_thresholds}": {
            "type": "DOUBLE",
            "doc": "Share of lines with at least this number of characters.",
        },
        "lines_ending_with_terminal_mark_ratio": {"type": "DOUBLE", "doc": "Share of lines that end in one of .?!\"'."},
        "bullet_point_lines_ratio": {
            "type": "DOUBLE",
            "doc": "Share of lines that begin, after white space, with one of -*•.",
        },
        "line_duplicates": {"type": "DOUBLE", "doc": "Share of lines that repeat an earlier line of the text."},
        "line_char_duplicates": {"type": "DOUBLE", "doc": "Share of the lines' characters that are in repeated lines."},
    },
    "functions": {
        "line_counts": {
            "columns": ["VARCHAR"],
            "constants": ["BOOLEAN", "BIGINT[]", "BIGINT[]"],
            "returns": (
                "STRUCT(pieces BIGINT, taken BIGINT, chars BIGINT, terminal BIGINT, bullets BIGINT, duplicates BIGINT, "
                "duplicate_chars BIGINT, short BIGINT[], long BIGINT[])"
            ),
        }
    },
    "sql": """
        {% set shorts = max_k_chars_per_line_tresholds | unique | list %}
        {% set longs = min_k_chars_per_line_thresholds | unique | list %}
        SELECT
          line_counts({{ text }}, {{ ignore_empty_lines | lit }}, {{ shorts | lit }}::BIGINT[], {{ longs | lit }}::BIGINT[])
            AS _counts,
          _counts.pieces AS n_lines,
          coalesce(_counts.chars / nullif(_counts.taken, 0), 0) AS avg_line_length,
          {% for chars in shorts %}
          coalesce(_counts.short[{{ loop.index }}] / nullif(_counts.taken, 0), 0)
            AS {{ ('short_line_ratio_chars_' ~ chars) | ident }},
          {% endfor %}
          {% for chars in longs %}
          coalesce(_counts.long[{{ loop.index }}] / nullif(_counts.taken, 0), 0)
            AS {{ ('long_line_ratio_chars_' ~ chars) | ident }},
          {% endfor %}
          coalesce(_counts.terminal / nullif(_counts.taken, 0), 0) AS lines_ending_with_terminal_mark_ratio,
          coalesce(_counts.bullets / nullif(_counts.taken, 0), 0) AS bullet_point_lines_ratio,
          coalesce(_counts.duplicates / nullif(_counts.taken, 0), 0) AS line_duplicates,
          coalesce(_counts.duplicate_chars / nullif(_counts.chars, 0), 0) AS line_char_duplicates
    """,
    "examples": [
        {
            "text": "a",
            "params": {"max_k_chars_per_line_tresholds": None, "min_k_chars_per_line_thresholds": []},
            "stats": {"short_line_ratio_chars_10": 1.0, "short_line_ratio_chars_30": 1.0},
        },
        {
            "text": "First line.\n\n - item\n - item\nNo end",
            "stats": {
                "n_lines": 5,
                "avg_line_length": 6.2,
                "short_line_ratio_chars_10": 0.8,
                "long_line_ratio_chars_2000": 0.0,
                "lines_ending_with_terminal_mark_ratio": 0.2,
                "bullet_point_lines_ratio": 0.4,
                "line_duplicates": 0.2,
                "line_char_duplicates": 0.22580645161290322,
            },
            "keep": True,
        },
        {
            "text": "a\n \n\nа\r\nb",
            "params": {"ignore_empty_lines": True, "max_k_chars_per_line_tresholds": [1]},
            "stats": {
                "n_lines": 5,
                "avg_line_length": 1.3333333333333333,
                "short_line_ratio_chars_1": 0.6666666666666666,
                "line_duplicates": 0.0,
            },
        },
        {
            "text": "\n\n",
            "params": {"max_k_chars_per_line_tresholds": [], "min_k_chars_per_line_thresholds": [0]},
            "stats": {
                "n_lines": 3,
                "avg_line_length": 0.0,
                "long_line_ratio_chars_0": 1.0,
                "line_duplicates": 0.6666666666666666,
            },
        },
        {"text": "", "stats": {"n_lines": 1, "avg_line_length": 0.0, "short_line_ratio_chars_10": 1.0}},
    ],
}


def line_counts(column: pa.Array, skip_blank: bool, short: list[int], long: list[int]) -> pa.Array:
    """A struct of counts for each text; NULL for NULL."""
    return piece_stats(column, False, bool(skip_blank), short or [], long or [])
