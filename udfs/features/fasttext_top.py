"""Labels of a text with high scores by a supervised model of fastText."""

from __future__ import annotations

import pyarrow as pa

from refinery.kernels.models import fasttext

FEATURE = {
    "doc": (
        "Labels of a text whose scores by a supervised model of fastText exceed `threshold`: a JSON object of labels, without "
        "__label__, and scores, the greatest first. Line feeds separate words, as in the feature fasttext."
    ),
    "version": 1,
    "params": ["model", "threshold"],
    "functions": {
        "fasttext_top": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "DOUBLE"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "fasttext_top",
        }
    },
    "sql": "fasttext_top({{ text }}, {{ model | lit }}, {{ threshold | lit }})",
}


def fasttext_top(column: pa.Array, model: str | None, threshold: float) -> pa.Array:
    """A JSON object of labels and scores for each text; NULL for NULL."""
    return fasttext.top_labels(column, model, threshold)
