"""Numbers of the tokens of a text between white space, for filters that count words."""

from __future__ import annotations

import pyarrow as pa

FEATURE = {
    "doc": (
        "Numbers of the tokens of a text. model fasttext cuts at blanks, tabs, line feeds, VT, FF, CR and NUL alone, and counts "
        "each line feed as one more token; split cuts at all white space, as str.split. segments: all. python_ink: with a "
        "character that is not str.isspace. alnum_first, space_first: whose first character is str.isalnum or str.isspace."
    ),
    "version": 1,
    "params": ["model"],
    "functions": {
        "count_tokens": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(segments BIGINT, python_ink BIGINT, alnum_first BIGINT, space_first BIGINT)",
            "runs": "kernel",
            "call": "count_tokens",
        }
    },
    "sql": "count_tokens({{ text }}, {{ model | lit }})",
}


def count_tokens(column: pa.Array, model: str) -> pa.Array:
    """A struct of counts for each text; NULL for NULL."""
    from refinery.kernels.words import cut_tokens  # imported late: checking a recipe needs no kernel

    return cut_tokens.token_counts(column, model)
