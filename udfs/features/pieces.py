"""Pieces of a text by a tokenizer's model, for all steps that need them."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.models.pieces import split_by
from refinery.kernels.words import subwords

FEATURE = {
    "doc": (
        "Pieces of a text by a SentencePiece model, or by a tokenizer.json of the tokenizers library. n: their number. "
        "joined: the pieces with one space between them. ends: where a piece is empty or holds a space, the end of each "
        "piece in joined, in bytes; else NULL, and each space is a boundary."
    ),
    "version": 1,
    "params": ["model"],
    "functions": {
        "library_pieces": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(n BIGINT, joined VARCHAR, ends BIGINT[])",
            "runs": "python",
            "call": "library_pieces",
        }
    },
    "sql": "library_pieces({{ text }}, {{ model | lit }})",
}


def library_pieces(column: pa.Array, model: str) -> pa.Array:
    """Pieces of each text by the library that the model is made for; NULL for NULL."""
    return split_by(column, subwords.pieces(model))
