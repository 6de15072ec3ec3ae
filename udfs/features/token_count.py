"""Number of tokens of a text by a tokenizer.json, for all steps that need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.words import subwords

FEATURE = {
    "doc": (
        "Number of tokens of a text by a tokenizer.json of the tokenizers library. special: with the tokens that it adds to "
        "each text. unless: SQL of a value; texts for which it is not NULL are not counted, '' for none. Byte-level BPE runs "
        "as a kernel; other tokenizers run by their library."
    ),
    "version": 2,
    "params": ["tokenizer", "special", "unless"],
    "variables": "variables",
    "functions": {
        "token_count": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BOOLEAN"],
            "returns": "BIGINT",
            "runs": "kernel",
            "call": "token_count",
        },
        "library_token_count": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BOOLEAN"],
            "returns": "BIGINT",
            "runs": "python",
            "call": "library_token_count",
        },
    },
    "sql": """
        {% set counted = "CASE WHEN " ~ unless ~ " IS NULL THEN " ~ text ~ " END" if unless else text %}
        {{ "token_count" if kernel else "library_token_count" }}({{ counted }}, {{ tokenizer | lit }}, {{ special | lit }})
    """,
}


def variables(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether the kernel can run the tokenizer."""
    return {"kernel": subwords.counts_by_kernel(params["tokenizer"])}


def token_count(column: pa.Array, path: str | None, special: bool) -> pa.Array:
    """Number of tokens of each text (int64); NULL for NULL."""
    from refinery.kernels.models import bpe  # its kernels are not needed to compile a recipe

    if path is None:  # constants have no value for an empty vector
        return pa.nulls(len(column), pa.int64())
    return bpe.counts(column, str(subwords.file_of(path)), special)


def library_token_count(column: pa.Array, path: str | None, special: bool) -> pa.Array:
    """Number of tokens of each text by the library (int64); NULL for NULL."""
    return subwords.token_counts(column, path, special)
