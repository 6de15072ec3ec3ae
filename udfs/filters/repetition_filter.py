"""Filter on repeated lines, paragraphs or n-grams of words, as DCLM measures them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

OPERATOR = {
    "doc": (
        "Keep samples in which at most max_fraction is repeated: lines or paragraphs that occur more than once, or n-grams of "
        "words. All copies count, also the first. For n-grams, most_common (default up to 4) takes the most frequent one, of "
        "several the longest, times its count; all (default from 5 to 10) takes the words in any n-gram that occurs more than "
        "once. Words are segments of UAX 29 that begin with a letter or digit. An empty text is removed, and so is one without "
        "lines or paragraphs."
    ),
    "version": 1,
    "peer": "repetition_filter of DCLM",
    "params": {
        "granularity": {"type": "any", "doc": "line, paragraph, or the number n of n-grams of words."},
        "max_fraction": {"type": "float", "doc": "Largest repeated share."},
        "count_characters": {
            "type": "bool",
            "default": True,
            "doc": "Measure the characters of lines and paragraphs, not their number. N-grams are always measured so.",
        },
        "ngram_char_ratio": {
            "type": "str",
            "default": None,
            "nullable": True,
            "choices": ["most_common", "all"],
            "doc": "The n-grams that are measured; null: by n.",
        },
        "ignore_case": {"type": "bool", "default": False, "doc": "Compare in lower case (str.lower)."},
    },
    "stats": {
        "repeated_fraction": {"type": "DOUBLE", "doc": "The repeated share; NULL if there is nothing to measure."}
    },
    "checks": "check",
    "functions": {
        "repeated_lower_units": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BIGINT[]", "BOOLEAN"],
            "returns": (
                "STRUCT(units BIGINT, size BIGINT, top BIGINT[], covered_top BIGINT[], repeated BIGINT[], "
                "repeated_units BIGINT[])"
            ),
            "runs": "kernel",
            "call": "repeated_lower_units",
        }
    },
    "sql": """
        {% set words = granularity is not string %}
        {% set units = "alnum_words" if words else granularity ~ "s" %}
        {% set sizes = [granularity if words else 1] %}
        SELECT
          {% if ignore_case %}
          repeated_lower_units({{ text }}, {{ units | lit }}, {{ sizes | lit }}::BIGINT[], false) AS _found,
          {% else %}
          {{ feature("repetition", units=units, sizes=sizes, in_bytes=false) }} AS _found,
          {% endif %}
          {% if words %}
          {% set top = ngram_char_ratio == "most_common" or (ngram_char_ratio is none and granularity < 5) %}
          CASE WHEN {{ text }} <> '' THEN
            coalesce(_found.{{ "top" if top else "repeated" }}[1] / nullif(_found.size, 0), 0) END AS repeated_fraction,
          {% elif count_characters %}
          _found.repeated[1] / nullif(_found.size, 0) AS repeated_fraction,
          {% else %}
          _found.repeated_units[1] / nullif(_found.units, 0) AS repeated_fraction,
          {% endif %}
          repeated_fraction <= {{ max_fraction | lit }} AS keep
    """,
    "examples": [
        {
            "text": "buy now\n\n buy now\nsold",
            "params": {"granularity": "line", "max_fraction": 0.3},
            "stats": {"repeated_fraction": 0.7777777777777778},
            "keep": False,
        },
        {
            "text": "a\n\nb\n\nA",
            "params": {"granularity": "paragraph", "max_fraction": 0.7, "count_characters": False, "ignore_case": True},
            "stats": {"repeated_fraction": 0.6666666666666666},
            "keep": True,
        },
        {
            "text": "one two three one two four",
            "params": {"granularity": 2, "max_fraction": 0.5},
            "stats": {"repeated_fraction": 0.5714285714285714},
            "keep": False,
        },
        {
            "text": "One, two! Three; one two",
            "params": {"granularity": 2, "max_fraction": 0.7, "ngram_char_ratio": "all", "ignore_case": True},
            "stats": {"repeated_fraction": 0.7058823529411765},
            "keep": False,
        },
        {
            "text": "...",
            "params": {"granularity": 5, "max_fraction": 0},
            "stats": {"repeated_fraction": 0.0},
            "keep": True,
        },
        {"text": "", "params": {"granularity": 5, "max_fraction": 1}, "keep": False},
        {"text": "a", "params": {"granularity": 11, "max_fraction": 1}, "error": True},
        {"text": "a", "params": {"granularity": "word", "max_fraction": 1}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems of `granularity`."""
    value = params["granularity"]
    if value in ("line", "paragraph"):
        return []
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return [f"granularity is line, paragraph, or a number of words from 1 on, not {value!r}"]
    if params["ngram_char_ratio"] is None and not 2 <= value <= 10:
        return [f"n-grams of {value} words have no usual measure: set ngram_char_ratio to most_common or all"]
    return []


def repeated_lower_units(column: pa.Array, units: str, sizes: list[int], in_bytes: bool) -> pa.Array:
    """As the feature repetition, of the texts in lower case."""
    from refinery.kernels.core.arrow import strings, texts
    from refinery.kernels.text import unit_repetition
    from refinery.kernels.text.lower import lowered

    lower = lowered(texts(column))
    column = strings(lower.data, lower.offsets, lower.valid)
    return unit_repetition.repetition(column, units or "lines", sizes or [], bool(in_bytes))
