"""Pieces of a text by a tokenizer's model, for all steps that need them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.models.pieces import split_by
from refinery.kernels.words import subwords

FEATURE = {
    "doc": (
        "Pieces of a text by a SentencePiece model, or by a tokenizer.json of the tokenizers library. n: their number. "
        "joined: the pieces with one space between them. ends: where a piece is empty or holds a space, the end of each "
        "piece in joined, in bytes; else NULL, and each space is a boundary. Unigram and BPE models of SentencePiece run "
        "as a kernel; other models run by their library."
    ),
    "version": 1,
    "params": ["model"],
    "variables": "variables",
    "functions": {
        "sentence_pieces": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(n BIGINT, joined VARCHAR, ends BIGINT[])",
            "runs": "kernel",
            "call": "sentence_pieces",
        },
        "library_pieces": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(n BIGINT, joined VARCHAR, ends BIGINT[])",
            "runs": "python",
            "call": "library_pieces",
        },
    },
    "sql": "{% if kernel %}sentence_pieces{% else %}library_pieces{% endif %}({{ text }}, {{ model | lit }})",
}


def variables(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the kernel can run the model."""
    return {"kernel": subwords.has_kernel(params["model"])}


def sentence_pieces(column: pa.Array, model: str) -> pa.Array:
    """Pieces of each text by a SentencePiece model; NULL for NULL."""
    from refinery.kernels.models import sentencepiece  # its kernels are not needed to compile a recipe

    return sentencepiece.pieces(column, model)


def library_pieces(column: pa.Array, model: str) -> pa.Array:
    """Pieces of each text by the library that the model is made for; NULL for NULL."""
    return split_by(column, subwords.pieces(model))
