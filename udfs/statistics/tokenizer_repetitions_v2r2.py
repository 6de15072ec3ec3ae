"""Repeated runs of the tokens of a text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from refinery.kernels.text.periods import periodic_runs
from refinery.kernels.text.tagged_spans import Span
from refinery.kernels.words import subwords

OPERATOR = {
    "doc": (
        "Measure runs of 1 to 13 tokens that occur three times or more in a row; texts are cut into pieces of 100,000 characters. "
        "A run within another one does not count. A text without a run has NULL. dolma downloads the tokenizer "
        "allenai/eleuther-ai-gpt-neox-20b-pii-special; its mixers remove texts with 100 occurrences or more."
    ),
    "version": 1,
    "peer": "tokenizer_repetitions_v2r2 of dolma 1.2.1",
    "needs": {"tokenizers": "tokenizers"},
    "resources": {"loads": True},
    "params": {
        "tokenizer": {
            "type": "file",
            "default": None,
            "nullable": True,
            "asset": "allenai/eleuther-ai-gpt-neox-20b-pii-special/tokenizer.json",
            "doc": "A tokenizer.json of the tokenizers library, or a folder that contains one.",
        }
    },
    "stats": {
        "repetition": {"type": "BIGINT", "doc": "Runs."},
        "doc_max_score_repetition": {"type": "DOUBLE", "doc": "Most occurrences of a run; NULL without any."},
        "doc_max_length_repetition": {"type": "BIGINT", "doc": "Most characters of a run; NULL without any."},
        "doc_frac_repetition": {"type": "DOUBLE", "doc": "Share of the characters in them; NULL without any."},
    },
    "checks": "check",
    "functions": {
        "token_repetitions": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(runs BIGINT, copies DOUBLE, longest BIGINT, chars BIGINT)",
            "runs": "python",
            "call": "token_repetitions",
        }
    },
    "sql": """
        SELECT token_repetitions({{ text }}, {{ tokenizer | lit }}) AS _found,
            _found.runs AS repetition,
            _found.copies AS doc_max_score_repetition,
            _found.longest AS doc_max_length_repetition,
            _found.chars / nullif(length({{ text }}), 0) AS doc_frac_repetition
    """,
    "examples": [
        {
            "text": "a b a b a b a b",
            "params": {"tokenizer": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"},
                }
            },
            "stats": {
                "repetition": 1,
                "doc_max_score_repetition": 4.0,
                "doc_max_length_repetition": 15,
                "doc_frac_repetition": 1.0,
            },
        },
        {
            "text": "",
            "params": {"tokenizer": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"a": 0, "?": 2}, "unk_token": "?"},
                }
            },
            "stats": {"repetition": 0, "doc_max_score_repetition": None, "doc_frac_repetition": None},
        },
        {"text": "", "params": {"tokenizer": "missing.json"}, "error": True},
    ],
}

PERIODS = 13
PIECE = 100_000  # characters


def check(params: dict[str, Any]) -> list[str]:
    """Problems of the tokenizer, as sentences that name the cure."""
    if not params["tokenizer"]:
        return [
            "tokenizer is needed; dolma would download allenai/eleuther-ai-gpt-neox-20b-pii-special, refinery downloads "
            "nothing: set tokenizer to a local tokenizer.json or its folder"
        ]
    return subwords.problems(params["tokenizer"], "tokenizer")


def token_repetitions(column: pa.Array, path: str | None) -> pa.Array:
    """A struct of measures of the runs of each text; NULL for NULL."""
    rows = [None if text is None or path is None else measures(text, path) for text in column.to_pylist()]
    fields = [("runs", pa.int64()), ("copies", pa.float64()), ("longest", pa.int64()), ("chars", pa.int64())]
    return pa.array(rows, pa.struct(fields))


def measures(text: str, path: str) -> dict[str, Any]:
    """Number of runs, and, if there are any, the most copies, the longest, and the characters of all."""
    found = [span for at in range(0, len(text), PIECE) for span in runs(text[at : at + PIECE], path)]
    sizes = [span.end - span.start for span in found]
    copies = max((span.score for span in found), default=None)
    return {
        "runs": len(found),
        "copies": copies,
        "longest": max(sizes, default=None),
        "chars": sum(sizes) if sizes else None,
    }


def runs(text: str, path: str) -> list[Span]:
    """Runs of tokens in a piece, from the left and the longest first, without those within the one before."""
    tokens = subwords.tokenizer(path).encode(text, add_special_tokens=False)
    spans = [
        Span(tokens.offsets[start][0], tokens.offsets[end - 1][1], "repetition", copies)
        for start, end, copies in periodic_runs(np.array(tokens.ids, np.int64), PERIODS)
    ]
    kept, last = list[Span](), Span(-1, -1, "")
    for span in sorted(spans, key=lambda one: (one.start, -one.end, -one.score)):
        if span.start < last.start or span.end > last.end:
            kept.append(span)
            last = span
    return kept
