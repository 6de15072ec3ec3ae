"""Pieces of a text by a tokenizer's model, as numbers where kernels know the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.models.pieces import split_by
from refinery.kernels.words import subwords

FEATURE = {
    "doc": (
        "Pieces of a text by a SentencePiece model, or by a tokenizer.json of the tokenizers library, for functions that take "
        "both forms. numbers: of a unigram or BPE model of SentencePiece, which runs as a kernel, int32 as bytes (see "
        "refinery/kernels/models/piece_numbers.py). joined, ends: of other models, which run by their library, as of the "
        "feature pieces. The other form is NULL."
    ),
    "version": 1,
    "params": ["model"],
    "variables": "variables",
    "functions": {
        "sentence_pieces": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(numbers BLOB, joined VARCHAR, ends BIGINT[])",
            "runs": "kernel",
            "call": "sentence_pieces",
        },
        "library_pieces": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(numbers BLOB, joined VARCHAR, ends BIGINT[])",
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
    from refinery.kernels.models import piece_numbers, sentencepiece  # not needed to compile a recipe

    return piece_numbers.of_numbers(sentencepiece.numbers(column, model))


def library_pieces(column: pa.Array, model: str) -> pa.Array:
    """Pieces of each text by the library that the model is made for; NULL for NULL."""
    from refinery.kernels.models import piece_numbers

    return piece_numbers.of_pieces(split_by(column, subwords.pieces(model)))
