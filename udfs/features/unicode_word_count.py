"""Number of Unicode words of a text, for recipes without another use of its segments."""

from __future__ import annotations

import pyarrow as pa

FEATURE = {
    "doc": (
        "Number of Unicode words of a text: segments of UAX 29 with a letter or digit, `words` of the feature "
        "unicode_words. Rust's unicode_words finds the same ones."
    ),
    "version": 1,
    "functions": {
        "count_unicode_words": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "BIGINT",
            "runs": "kernel",
            "call": "count_unicode_words",
        }
    },
    "sql": "count_unicode_words({{ text }})",
}


def count_unicode_words(column: pa.Array) -> pa.Array:
    """Number of words of each text; NULL for NULL."""
    from refinery.kernels.unicode import word_segments

    return word_segments.word_counts(column)
