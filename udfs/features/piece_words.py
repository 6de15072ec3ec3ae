"""Words made of the pieces of a text, for the filters on words with `tokenization`."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.models import piece_words

FEATURE = {
    "doc": (
        "Pieces of a text by a model, refined as words are: without the special characters at their ends; a piece of "
        "special characters alone is none. n: their number, upper case kept. lower: the pieces refined after str.lower, "
        "one space between them. ends: as of the feature pieces, for lower."
    ),
    "version": 1,
    "params": ["model"],
    "functions": {
        "refined_pieces": {
            "columns": ["VARCHAR", "BIGINT[]"],
            "constants": [],
            "returns": "STRUCT(n BIGINT, lower VARCHAR, ends BIGINT[])",
            "runs": "kernel",
            "call": "refined_pieces",
        }
    },
    "sql": "{% set pieces = feature('pieces', model=model) %} refined_pieces({{ pieces }}.joined, {{ pieces }}.ends)",
}


def refined_pieces(joined: pa.Array, ends: pa.Array) -> pa.Array:
    """A struct for each text: the number of its refined pieces, and these in lower case; NULL for NULL."""
    return piece_words.refined_pieces(joined, ends)
