"""FineWeb's rules for the lines of a text, as datatrove has them; kernels measure lines and count words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.words import language_words

OPERATOR = {
    "doc": (
        "Keep samples that pass FineWeb's rules for lines. The reason of a removal is the first of: empty, line_punct_ratio, "
        "short_line_ratio, char_dup_ratio, list_ratio. Lines are separated by U+000A, and lines of white space alone do not "
        "count. They are not stripped: a line that ends with a blank does not end with a full stop. A bound of 0 is a bound, "
        "not a rule that is off."
    ),
    "version": 1,
    "peer": "FineWebQualityFilter of datatrove 0.10.1",
    "params": {
        "line_punct_thr": {
            "type": "float",
            "default": 0.12,
            "doc": "Smallest share of lines that end with one of stop_chars.",
        },
        "line_punct_exclude_zero": {
            "type": "bool",
            "default": False,
            "doc": "Keep samples without any such line, whatever line_punct_thr is.",
        },
        "stop_chars": {
            "type": "list[str]",
            "default": None,
            "nullable": True,
            "doc": "Characters or longer ends of a line. null: 165 marks that end a sentence in some script.",
        },
        "short_line_thr": {"type": "float", "default": 0.67, "doc": "Largest share of short lines."},
        "short_line_length": {"type": "int", "default": 30, "doc": "Most characters of a short line."},
        "char_duplicates_ratio": {
            "type": "float",
            "default": 0.01,
            "doc": "Most characters of lines that repeat an earlier line, per character of the text without line feeds.",
        },
        "new_line_ratio": {"type": "float", "default": 0.3, "doc": "Most line feeds per word."},
        "language": {"type": "str", "default": "eng", "doc": "Code of the language whose words are counted."},
    },
    "stats": {
        "filled_lines": {"type": "BIGINT", "doc": "Lines with more than white space."},
        "line_punct_ratio": {"type": "DOUBLE", "doc": "Share of these that end with one of stop_chars."},
        "short_line_ratio": {"type": "DOUBLE", "doc": "Share of these with at most short_line_length characters."},
        "char_dup_ratio": {
            "type": "DOUBLE",
            "doc": "Characters of lines that repeat an earlier one, per character of the text without line feeds.",
        },
        "list_ratio": {"type": "DOUBLE", "doc": "Line feeds per word."},
    },
    "checks": "check",
    "functions": {
        "fineweb_lines": {
            "columns": ["VARCHAR"],
            "constants": ["BIGINT", "VARCHAR[]"],
            "returns": "STRUCT(pieces BIGINT, taken BIGINT, terminal BIGINT, duplicate_chars BIGINT, short BIGINT)",
        }
    },
    "sql": """
        SELECT
          fineweb_lines({{ text }}, {{ short_line_length | lit }}, {{ stop_chars | lit }}::VARCHAR[]) AS _lines,
          {% if shares('datatrove_words') %}{{ feature('datatrove_words', language=language) }}.n
          {% else %}{{ feature('datatrove_word_count', language=language) }}{% endif %} AS _words,
          _lines.pieces - 1 AS _feeds,
          _lines.taken AS filled_lines,
          coalesce(_lines.terminal / nullif(_lines.taken, 0), 0) AS line_punct_ratio,
          coalesce(_lines.short / nullif(_lines.taken, 0), 0) AS short_line_ratio,
          coalesce(_lines.duplicate_chars / nullif(length({{ text }}) - _feeds, 0), 0) AS char_dup_ratio,
          coalesce(_feeds / nullif(_words, 0), 0) AS list_ratio,
          filled_lines > 0 AS keep_empty,
          line_punct_ratio >= {{ line_punct_thr | lit }}
            {% if line_punct_exclude_zero %}OR line_punct_ratio = 0{% endif %} AS keep_line_punct_ratio,
          short_line_ratio <= {{ short_line_thr | lit }} AS keep_short_line_ratio,
          char_dup_ratio <= {{ char_duplicates_ratio | lit }} AS keep_char_dup_ratio,
          list_ratio <= {{ new_line_ratio | lit }} AS keep_list_ratio
    """,
    "examples": [
        {
            "text": "A line that is long enough to count as prose.\n\n  \nAnother line, which has no end mark at all",
            "stats": {
                "filled_lines": 2,
                "line_punct_ratio": 0.5,
                "short_line_ratio": 0.0,
                "char_dup_ratio": 0.0,
                "list_ratio": 0.14285714285714285,
            },
            "keep": True,
        },
        {
            "text": "Short.\nShort.\nblank at the end. ",
            "params": {"short_line_thr": 1.0, "new_line_ratio": 1.0},
            "stats": {"line_punct_ratio": 0.6666666666666666, "char_dup_ratio": 0.2},
            "keep": False,
            "reason": "char_dup_ratio",
        },
        {
            "text": "no mark\nat all",
            "params": {"line_punct_exclude_zero": True},
            "stats": {"line_punct_ratio": 0.0, "short_line_ratio": 1.0},
            "keep": False,
            "reason": "short_line_ratio",
        },
        {
            "text": "终。\nत।\nx :-)",
            "params": {"stop_chars": ["。", "-)"], "short_line_length": 2, "line_punct_thr": 0.7},
            "stats": {"line_punct_ratio": 0.6666666666666666, "short_line_ratio": 0.6666666666666666},
            "keep": False,
            "reason": "line_punct_ratio",
        },
        {"text": " \n\t", "stats": {"filled_lines": 0, "list_ratio": 0.0}, "keep": False, "reason": "empty"},
        {"text": "", "stats": {"filled_lines": 0}, "keep": False, "reason": "empty"},
        {"text": "One.", "params": {"stop_chars": [".", ""]}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    empty = "" in (params["stop_chars"] or [])
    return (["stop_chars: every line ends with the empty text"] if empty else []) + language_words.problems(
        params["language"]
    )


def fineweb_lines(column: pa.Array, short: int, ends: list[str] | None) -> pa.Array:
    """A struct of counts of each text's lines; NULL for NULL."""
    from refinery.kernels.text import fineweb_lines  # imports numpy and Arrow, which check() does not need

    return fineweb_lines.fineweb_lines(column, short, ends)
