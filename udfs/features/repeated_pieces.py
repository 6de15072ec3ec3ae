"""Repeated lines or paragraphs of a text, as NeMo Curator cuts them."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text.piece_stats import piece_stats

FEATURE = {
    "doc": (
        "Numbers of the paragraphs of a text, cut at two line feeds, or of its lines that are more than white space. "
        "pieces: their number. chars: their characters, without the line feeds that cut. duplicates, duplicate_chars: of "
        "those that repeat an earlier one."
    ),
    "version": 1,
    "params": ["paragraphs"],
    "functions": {
        "repeated_pieces": {
            "columns": ["VARCHAR"],
            "constants": ["BOOLEAN"],
            "returns": "STRUCT(pieces BIGINT, chars BIGINT, duplicates BIGINT, duplicate_chars BIGINT)",
            "runs": "kernel",
            "call": "repeated_pieces",
        }
    },
    "sql": "repeated_pieces({{ text }}, {{ paragraphs | lit }})",
}

FIELDS = {"taken": "pieces", "chars": "chars", "duplicates": "duplicates", "duplicate_chars": "duplicate_chars"}


def repeated_pieces(column: pa.Array, paragraphs: bool) -> pa.Array:
    """A struct of counts for each text; NULL for NULL."""
    counts = piece_stats(column, paragraphs, not paragraphs, [], [])
    fields = [counts.field(name) for name in FIELDS]
    mask = None if not counts.null_count else counts.is_null()
    return pa.StructArray.from_arrays(fields, names=list(FIELDS.values()), mask=mask)
