"""Number of tokens of a text by a tokenizer.json, for all steps that need it."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.words import subwords

FEATURE = {
    "doc": "Number of tokens of a text by a tokenizer.json of the tokenizers library, special tokens not included.",
    "version": 1,
    "params": ["tokenizer"],
    "functions": {
        "token_count": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "BIGINT",
            "runs": "python",
            "call": "token_count",
        }
    },
    "sql": "token_count({{ text }}, {{ tokenizer | lit }})",
}


def token_count(column: pa.Array, path: str | None) -> pa.Array:
    """Number of tokens of each text (int64); NULL for NULL."""
    return subwords.token_counts(column, path, special=False)
