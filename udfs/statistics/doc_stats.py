"""Length of a text and shares of kinds of characters; a kernel counts them in one pass."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.text.character_stats import FIELDS, count_rows, tables

OPERATOR = {
    "doc": (
        "Measure the length of each text and the shares of its characters that are white space, digits, upper case, "
        "punctuation. Every share is 0 for an empty text. Characters are code points; white space, letters, digits "
        "and upper case are str.isspace, isalpha, isdigit and isupper. Punctuation is datatrove's list, which "
        "contains control characters and lacks some characters, such as • and ¿."
    ),
    "version": 1,
    "peer": "DocStats of datatrove 0.10.1",
    "stats": {
        "length": {"type": "BIGINT", "doc": "Code points in the text."},
        "white_space_ratio": {"type": "DOUBLE", "doc": "Share of white space."},
        "non_alpha_digit_ratio": {"type": "DOUBLE", "doc": "Share of characters that are neither letter nor digit."},
        "digit_ratio": {"type": "DOUBLE", "doc": "Share of digits."},
        "uppercase_ratio": {"type": "DOUBLE", "doc": "Share of upper-case letters."},
        "elipsis_ratio": {"type": "DOUBLE", "doc": "Share of the characters of `...` and `…`."},
        "punctuation_ratio": {"type": "DOUBLE", "doc": "Share of punctuation and control characters."},
    },
    "functions": {
        "character_counts": {
            "columns": ["VARCHAR"],
            "returns": (
                "STRUCT(chars BIGINT, spaces BIGINT, alphas BIGINT, digits BIGINT, uppers BIGINT, ellipses BIGINT, "
                "marks BIGINT)"
            ),
        }
    },
    "sql": """
        SELECT
          character_counts({{ text }}) AS _counts,
          _counts.chars AS length,
          coalesce(_counts.spaces / nullif(_counts.chars, 0), 0) AS white_space_ratio,
          coalesce((_counts.chars - _counts.alphas - _counts.digits) / nullif(_counts.chars, 0), 0)
            AS non_alpha_digit_ratio,
          coalesce(_counts.digits / nullif(_counts.chars, 0), 0) AS digit_ratio,
          coalesce(_counts.uppers / nullif(_counts.chars, 0), 0) AS uppercase_ratio,
          coalesce(_counts.ellipses / nullif(_counts.chars, 0), 0) AS elipsis_ratio,
          coalesce(_counts.marks / nullif(_counts.chars, 0), 0) AS punctuation_ratio
    """,
    "examples": [
        {
            "text": "Wait... 42 Äpfel…",
            "stats": {
                "length": 17,
                "white_space_ratio": 0.11764705882352941,
                "non_alpha_digit_ratio": 0.35294117647058826,
                "digit_ratio": 0.11764705882352941,
                "uppercase_ratio": 0.11764705882352941,
                "elipsis_ratio": 0.23529411764705882,
                "punctuation_ratio": 0.23529411764705882,
            },
            "keep": True,
        },
        {
            "text": "....... ²½\u2028",
            "stats": {
                "elipsis_ratio": 0.5454545454545454,
                "digit_ratio": 0.09090909090909091,
                "white_space_ratio": 0.18181818181818182,
            },
        },
        {"text": "日本語。•", "stats": {"length": 5, "non_alpha_digit_ratio": 0.4, "punctuation_ratio": 0.2}},
        {"text": "", "stats": {"length": 0, "white_space_ratio": 0.0, "punctuation_ratio": 0.0}, "keep": True},
    ],
}


def character_counts(column: pa.Array) -> pa.Array:
    """A struct of counts for each text; NULL for NULL."""
    view = texts(column)
    counts = np.zeros((len(FIELDS), len(view)), np.int64)
    count_rows(view.data, view.offsets, view.valid, *tables(), counts)
    return structs(view.valid, **dict(zip(FIELDS, counts, strict=True)))
