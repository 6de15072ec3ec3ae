"""Repeated runs of the tokens of a text."""

from __future__ import annotations

from refinery.kernels.words.token_runs import check, runs_apart

__all__ = ["runs_apart", "check"]

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
        "runs_apart": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": "STRUCT(runs BIGINT, copies DOUBLE, longest BIGINT, chars BIGINT)",
            "runs": "python",
            "call": "runs_apart",
        }
    },
    "sql": """
        SELECT runs_apart({{ text }}, {{ tokenizer | lit }}) AS _found,
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
            "text": "a a a a a a a",
            "params": {"tokenizer": "tokenizer.json"},
            "files": {
                "tokenizer.json": {
                    "version": "1.0",
                    "pre_tokenizer": {"type": "Whitespace"},
                    "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1, "?": 2}, "unk_token": "?"},
                }
            },
            "stats": {"repetition": 1, "doc_max_score_repetition": 7.0},
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
            "stats": {"repetition": 0, "doc_max_score_repetition": None, "doc_frac_repetition": None},
        },
        {"text": "", "params": {"tokenizer": "missing.json"}, "error": True},
    ],
}
