"""Pieces of a text by a tokenizer's model, for all steps that need them."""

from __future__ import annotations

import pyarrow as pa

FEATURE = {
    "doc": (
        "Pieces of a text by a SentencePiece model, or by a tokenizer.json of the tokenizers library. n: their number. "
        "joined: the pieces with one space between them. ends: where a piece is empty or holds a space, the end of each "
        "piece in joined, in bytes; else NULL, and each space is a boundary."
    ),
    "version": 1,
    "params": ["model"],
    "functions": {
        "written_pieces": {
            "columns": ["BLOB", "VARCHAR", "BIGINT[]"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(n BIGINT, joined VARCHAR, ends BIGINT[])",
            "runs": "kernel",
            "call": "written_pieces",
        }
    },
    "sql": (
        "{% set pieces = feature('numbered_pieces', model=model) %} "
        "written_pieces({{ pieces }}.numbers, {{ pieces }}.joined, {{ pieces }}.ends, {{ model | lit }})"
    ),
}


def written_pieces(numbers: pa.Array, joined: pa.Array, ends: pa.Array, model: str) -> pa.Array:
    """A struct for each text: the number of its pieces, and these; NULL for NULL."""
    from refinery.kernels.models import sentencepiece  # its kernels are not needed to compile a recipe

    return sentencepiece.written(numbers, joined, ends, model)
