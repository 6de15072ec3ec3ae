"""Filter on the readability score EFLAW."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.text import eflaw

OPERATOR = {
    "doc": (
        "Keep samples whose readability score EFLAW (McAlpine) lies in [min_score, max_score]: words, plus those of at most three "
        "letters, per sentence. A low score is easy to read. Words are separated by white space, without punctuation; a sentence "
        "ends at . ! ? and has at least three words. There is at least one sentence; a text without words has 0."
    ),
    "version": 1,
    "peer": "mcalpine_eflaw of textstat 0.7.13, which GneissWeb's filter of readability uses",
    "params": {
        "min_score": {"type": "float", "default": 0, "doc": "Smallest score."},
        "max_score": {"type": "float", "default": 9223372036854775807, "doc": "Largest score."},
    },
    "stats": {"eflaw": {"type": "DOUBLE", "doc": "The score."}},
    "bounds": {"eflaw": ["min_score", "max_score"]},
    "functions": {
        "eflaw_counts": {
            "columns": ["VARCHAR"],
            "constants": [],
            "returns": "STRUCT(words BIGINT, mini_words BIGINT, sentences BIGINT)",
            "runs": "kernel",
            "call": "eflaw_counts",
        }
    },
    "sql": "SELECT eflaw_counts({{ text }}) AS _counts, (_counts.words + _counts.mini_words) / _counts.sentences AS eflaw",
    "examples": [
        {"text": "The cat sat on the mat. It was very happy there.", "stats": {"eflaw": 9.5}, "keep": True},
        {
            "text": "Don't stop! Visit www.example.org now - and again",
            "params": {"max_score": 9},
            "stats": {"eflaw": 9.0},
        },
        {"text": "one two three four", "params": {"max_score": 4}, "stats": {"eflaw": 6.0}, "keep": False},
        {"text": "…", "stats": {"eflaw": 0.0}, "keep": True},
        {"text": "", "params": {"min_score": 1}, "stats": {"eflaw": 0.0}, "keep": False},
    ],
}


def eflaw_counts(column: pa.Array) -> pa.Array:
    """A struct of counts for each text; NULL for NULL."""
    return eflaw.eflaw_counts(column)
