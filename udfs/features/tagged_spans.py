"""Spans within a text that a tagger of dolma marks."""

from __future__ import annotations

from refinery.kernels.text.tagged_spans import tagged_spans

__all__ = ["tagged_spans"]

FEATURE = {
    "doc": (
        "Spans that a tagger of dolma marks within a text, in the tagger's order: bounds in characters, type, score. Spans "
        "over the whole text, with measures of it, are left out."
    ),
    "version": 1,
    "params": ["tagger"],
    "functions": {
        "tagged_spans": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR"],
            "returns": 'STRUCT("start" BIGINT, "end" BIGINT, "type" VARCHAR, score DOUBLE)[]',
            "runs": "python",
            "call": "tagged_spans",
        }
    },
    "sql": "tagged_spans({{ text }}, {{ tagger | lit }})",
}
