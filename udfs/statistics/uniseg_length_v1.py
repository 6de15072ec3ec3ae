"""Number of word segments of a text; a kernel finds them."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.unicode.word_segments import segment_counts

OPERATOR = {
    "doc": (
        "Count the word segments (UAX 29) of each text, without the white space at its ends: words, marks, and white space "
        "between them."
    ),
    "version": 1,
    "peer": "uniseg_length_v1 of dolma 1.2.1",
    "params": {},
    "stats": {"length": {"type": "BIGINT", "doc": "Word segments."}},
    "functions": {
        "segment_number": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "BIGINT",
            "runs": "kernel",
            "call": "segment_number",
        }
    },
    "sql": r"""
        {#- White space of Python, which is not that of RE2. -#}
        {%- set blank %}[\x{9}-\x{d}\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+{% endset %}
        SELECT segment_number(regexp_replace({{ text }}, '\A{{ blank }}|{{ blank }}\z', '', 'g')) AS length
    """,
    "examples": [
        {"text": " it's 3.5, été!! ", "stats": {"length": 8}},
        {"text": "日本語", "stats": {"length": 3}},
        {"text": "\n", "stats": {"length": 0}},
        {"text": "", "stats": {"length": 0}},
    ],
}


def segment_number(column: pa.Array) -> pa.Array:
    """Word segments of each text; NULL for NULL."""
    counts = segment_counts(column)
    return counts.field("segments") if not counts.null_count else counts.flatten()[0]
