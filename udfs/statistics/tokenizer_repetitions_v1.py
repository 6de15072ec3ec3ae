"""Repeated runs of the tokens of a text, overlaps included."""

from __future__ import annotations

from refinery.kernels.words.token_runs import all_runs, check

__all__ = ["all_runs", "check"]

OPERATOR = {
    "doc": (
        "Measure runs of 1 to 13 tokens that occur three times or more in a row. A run counts for each period that it has, so "
        "the share of characters can exceed 1. A text without a run has 0. dolma downloads the tokenizer "
        "allenai/eleuther-ai-gpt-neox-20b-pii-special."
    ),
    "version": 1,
    "peer": "tokenizer_repetitions_v1 of dolma 1.2.1",
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
        "doc_max_score_repetition": {"type": "DOUBLE", "doc": "Most occurrences of a run; 0 without any."},
        "doc_max_length_repetition": {"type": "BIGINT", "doc": "Most characters of a run; 0 without any."},
        "doc_frac_repetition": {"type": "DOUBLE", "doc": "Share of the characters in them; 0 without any."},
    },
    "checks": "check",
    "functions": {
        "all_runs": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(runs BIGINT, copies DOUBLE, longest BIGINT, chars BIGINT)",
            "runs": "python",
            "call": "all_runs",
        }
    },
    "sql": """
        SELECT all_runs({{ text }}, {{ tokenizer | lit }}) AS _found,
            _found.runs AS repetition,
            coalesce(_found.copies, 0) AS doc_max_score_repetition,
            coalesce(_found.longest, 0) AS doc_max_length_repetition,
            coalesce(_found.chars / nullif(length({{ text }}), 0), 0) AS doc_frac_repetition
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
            "text": "a a a a a a a",
            "params": {"tokenizer": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"},
                }
            },
            "stats": {"repetition": 2, "doc_max_score_repetition": 7.0, "doc_frac_repetition": 2.0},
        },
        {
            "text": "",
            "params": {"tokenizer": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"},
                }
            },
            "stats": {"repetition": 0, "doc_max_score_repetition": 0.0, "doc_frac_repetition": 0.0},
        },
        {"text": "", "params": {"tokenizer": "missing.json"}, "error": True},
    ],
}
