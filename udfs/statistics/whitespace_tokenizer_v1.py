"""Number of pieces between words and marks; a kernel counts them."""

from __future__ import annotations

from refinery.kernels.text.character_runs import count_runs

__all__ = ["count_runs"]

OPERATOR = {
    "doc": (
        "Count what lies between the words and the runs of marks of each text, and at its ends: one more than there are words "
        "and runs. Words are of letters, digits and underscores; marks are all other characters but white space."
    ),
    "version": 1,
    "peer": "whitespace_tokenizer_v1 of dolma 1.2.1",
    "params": {},
    "stats": {"length": {"type": "BIGINT", "doc": "Words and runs of marks, plus one."}},
    "functions": {
        "count_runs": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "BIGINT",
            "runs": "kernel",
            "call": "count_runs",
        }
    },
    "sql": "SELECT count_runs({{ text }}) + 1 AS length",
    "examples": [
        {"text": "it's 3.5, été!!", "stats": {"length": 10}},
        {"text": "日本。", "stats": {"length": 3}},
        {"text": " \n", "stats": {"length": 1}},
        {"text": "", "stats": {"length": 1}},
    ],
}
