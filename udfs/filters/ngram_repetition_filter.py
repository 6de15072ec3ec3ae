"""Filter on tokens that are repeated many times in a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints
from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Remove samples in which a group of min_period to max_period tokens is repeated in a row, with rep_count copies or more. "
        "Generated and broken texts run into such loops. Tokens come from a local tokenizer, without special ones."
    ),
    "version": 1,
    "peer": "ngram_repetition_filter of datamap-rs",
    "needs": {"tokenizers": "tokenizers"},
    "resources": {"loads": True},
    "params": {
        "tokenizer": {
            "type": "file",
            "asset": "{tokenizer}/tokenizer.json",
            "doc": "A tokenizer.json of the tokenizers library, a folder that contains one, or the name of a model on the Hub.",
        },
        "min_period": {"type": "int", "default": 1, "min": 1, "doc": "Tokens of the shortest group."},
        "max_period": {"type": "int", "default": 13, "min": 1, "doc": "Tokens of the longest group."},
        "rep_count": {"type": "int", "default": 32, "min": 2, "doc": "Copies from which on a sample is removed."},
    },
    "stats": {
        "token_copies": {
            "type": "BIGINT",
            "doc": "Most copies of a group in a row; 1 without repetition, 0 without tokens.",
        }
    },
    "checks": "check",
    "functions": {
        "most_token_copies": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BIGINT", "BIGINT"],
            "returns": "BIGINT",
            "runs": "python",
            "call": "most_copies",
        }
    },
    "sql": """
        SELECT most_token_copies({{ text }}, {{ tokenizer | lit }}, {{ min_period | lit }}, {{ max_period | lit }}) AS token_copies,
            token_copies < {{ rep_count | lit }} AS keep
    """,
    "examples": [
        {
            "text": "x a b a b a b a",
            "params": {"tokenizer": "tokenizer.json", "rep_count": 3},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "x": 2, "?": 3}, "unk_token": "?"},
                }
            },
            "stats": {"token_copies": 3},
            "keep": False,
        },
        {
            "text": "a a a b",
            "params": {"tokenizer": "tokenizer.json", "rep_count": 3, "min_period": 2},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "x": 2, "?": 3}, "unk_token": "?"},
                }
            },
            "stats": {"token_copies": 1},
            "keep": True,
        },
        {
            "text": "",
            "params": {"tokenizer": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"},
                }
            },
            "stats": {"token_copies": 0},
            "keep": True,
        },
        {"text": "", "params": {"tokenizer": "missing.json"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    if params["min_period"] > params["max_period"]:
        return [f"min_period {params['min_period']} is greater than max_period {params['max_period']}"]
    return subwords.problems(params["tokenizer"], "tokenizer")


def most_copies(column: pa.Array, path: str | None, shortest: int, longest: int) -> pa.Array:
    """Most copies in a row of a group of tokens of each text; NULL for NULL."""
    texts = column.to_pylist()
    valid = np.array([text is not None for text in texts], np.bool_)
    counts = np.zeros(len(texts), np.int64)
    for row, text in enumerate(texts):
        if text and path is not None:
            tokens = subwords.tokenizer(path).encode(text, add_special_tokens=False).ids
            counts[row] = _copies(np.array(tokens, np.int64), shortest, longest)
    return ints(counts, valid)


def _copies(tokens: np.ndarray, shortest: int, longest: int) -> int:
    """Most copies in a row of a group: tokens that equal those one period before go on with a run."""
    most = min(len(tokens), 1)
    for period in range(shortest, min(longest, len(tokens) // 2) + 1):
        ends = np.flatnonzero(np.append(tokens[period:] != tokens[:-period], True))
        run = int(np.diff(ends, prepend=-1).max()) - 1  # equal ones
        most = max(most, run // period + 1)
    return most
