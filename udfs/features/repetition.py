"""Repetition of the units of a text and of their n-grams, for filters of repeated lines, paragraphs and words."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

FEATURE = {
    "doc": (
        "Repetition in a text, all copies counted. units: lines, paragraphs (stripped), raw_lines, raw_paragraphs, "
        "unicode_words or alnum_words (segments of UAX 29 that begin with str.isalnum); empty ones are none. "
        "sizes: numbers n, ascending. in_bytes: sizes are in bytes, else in code points. The struct has units and "
        "size, their number and size, and lists with an item for each n: top, the size of the most frequent n-gram times "
        "its count, 0 if none repeats; covered_top, the size of the units in it; repeated and repeated_units, size and "
        "number of the units in n-grams that occur twice or more."
    ),
    "version": 1,
    "params": ["units", "sizes", "in_bytes"],
    "functions": {
        "repeated_units": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BIGINT[]", "BOOLEAN"],
            "returns": (
                "STRUCT(units BIGINT, size BIGINT, top BIGINT[], covered_top BIGINT[], repeated BIGINT[], "
                "repeated_units BIGINT[])"
            ),
            "runs": "kernel",
            "call": "repeated_units",
        }
    },
    "sql": "repeated_units({{ text }}, {{ units | lit }}, {{ sizes | lit }}::BIGINT[], {{ in_bytes | lit }})",
}


def repeated_units(column: pa.Array, units: str, sizes: Sequence[int], in_bytes: bool) -> pa.Array:
    """A struct of numbers for each text; NULL for NULL."""
    from refinery.kernels.text import unit_repetition  # imported late: checking a recipe needs no kernel

    return unit_repetition.repetition(column, units or "lines", sizes or [], bool(in_bytes))
