"""Scores of the best labels of a text by any supervised model of fastText."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from refinery.kernels.core.arrow import of_texts
from refinery.kernels.models import fasttext

OPERATOR = {
    "doc": (
        "Measure the k best labels of each text by a supervised model of fastText, with a probability above threshold. The statistic "
        'has the name output_field and is JSON, the best label first: {"__label__en": 0.98}. float_filter, string_eq_filter and '
        "max_extractor read it, as in `float_field: lang ->> '__label__en'`."
    ),
    "version": 1,
    "peer": "fasttext_annotator of datamap-rs, which writes a field",
    "resources": {"loads": True},
    "params": {
        "fast_text_file": {"type": "file", "doc": "Supervised model of fastText (.bin or .ftz)."},
        "output_field": {"type": "str", "default": "fasttext", "doc": "Name of the statistic."},
        "k": {"type": "int", "default": 10, "min": 1, "doc": "Number of best labels."},
        "threshold": {"type": "float", "default": 0.0, "doc": "Probability above which a label is given."},
    },
    "stats": {"{output_field}": {"type": "VARCHAR", "doc": "Labels and probabilities as JSON."}},
    "checks": "check",
    "functions": {
        "fasttext_annotation": {
            "columns": ["VARCHAR"],
            "constants": ["VARCHAR", "BIGINT", "DOUBLE"],
            "returns": "VARCHAR",
            "runs": "kernel",
            "call": "annotate",
        }
    },
    "sql": """
        SELECT fasttext_annotation({{ text }}, {{ fast_text_file | lit }}, {{ k | lit }}, {{ threshold | lit }}::DOUBLE)
            AS {{ output_field | ident }}
    """,
    "examples": [
        {
            "text": "the",
            "params": {"fast_text_file": "quality.bin", "output_field": "quality", "k": 1},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {"quality": '{"__label__hq": 0.9525841474533081}'},
        },
        {
            "text": "",
            "params": {"fast_text_file": "quality.bin", "threshold": 0.9},
            "files": {
                "quality.bin": {
                    "zlib": (
                        "eNrbJeavz8PAwMAExKxQzIhEM0MxMkgBYl1nmdePzKTsWaHyIP2cUPn/UGCjX2yH0FySkYrgpKQWITjx8TmJSak5"
                        "8fEZhXBBRrhgDpIgnMXEgAEcGBga9gPpA0DaHq4AoRAoCFYAxvYA4TsgJQ=="
                    )
                }
            },
            "stats": {"fasttext": "{}"},
        },
        {"text": "", "params": {"fast_text_file": "missing.bin"}, "error": True},
    ],
}


def check(params: Mapping[str, Any]) -> list[str]:
    """Problems that prevent a run with these parameters."""
    return fasttext.problems(params["fast_text_file"])


def annotate(column: pa.Array, model: str | None, k: int, threshold: float) -> pa.Array:
    """The best labels of each text; NULL for NULL."""
    found = fasttext.top_labels(column, model, threshold or 0.0).to_pylist()
    return of_texts([None if labels is None else _best(labels, k) for labels in found])


def _best(labels: str, k: int) -> str:
    items = list(json.loads(labels).items())[:k]
    return json.dumps({f"__label__{label}": score for label, score in items}, ensure_ascii=False)
