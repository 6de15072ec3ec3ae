"""Buckets of a score, between cut points that `refinery buckets` has found in an earlier run."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, numbers, present
from refinery.kernels.core.file_state import state_of

OPERATOR = {
    "doc": (
        "Put samples into buckets of equal weight by a score: from 1, the lowest scores, to `buckets`, by the cut points of a "
        "file. The weight of a sample is 1, the bytes of its text or its tokens. Cut points need the scores of all "
        "samples, so a run without cut_points stores scores and weights; `refinery buckets RUN` then finds the cut "
        "points and writes them to RUN/NAME.cuts.json, and a run with that file as cut_points, over the same or other "
        "samples, has the buckets as the statistic `name`, by which sample_by_bucket keeps samples. Equal scores are "
        "in one bucket. A sample whose score is NULL or not a number is in none."
    ),
    "version": 1,
    "params": {
        "score": {"type": "sql", "doc": "Score: a field, an earlier statistic, or an expression over them."},
        "weight": {
            "type": "str",
            "default": "rows",
            "choices": ["rows", "bytes", "tokens"],
            "doc": "Weight of a sample, of which all buckets have the same share.",
        },
        "tokens": {
            "type": "sql",
            "default": None,
            "nullable": True,
            "doc": "For weight: tokens, the number of tokens: a field, or a statistic such as num_token.",
        },
        "buckets": {"type": "int", "default": 20, "min": 2, "max": 10000, "doc": "Number of buckets."},
        "name": {"type": "str", "default": "score_bucket", "doc": "Name of the statistic with the bucket."},
        "cut_points": {
            "type": "file",
            "default": None,
            "nullable": True,
            "doc": "File of `refinery buckets`; null: only store what it needs.",
        },
    },
    "stats": {
        "{name}_score": {"type": "DOUBLE", "doc": "The score."},
        "{name}_weight": {"type": "DOUBLE", "doc": "The weight."},
        "{name}": {"type": "BIGINT", "doc": "Number of the bucket, with cut_points."},
    },
    "checks": "problems",
    "functions": {
        "bucket_of_score": {
            "columns": ["DOUBLE"],
            "constants": ["VARCHAR"],
            "returns": "BIGINT",
            "runs": "kernel",
            "call": "bucket_of",
        }
    },
    "sql": """
        {% set own = {'rows': '1', 'bytes': 'strlen(' ~ text ~ ')', 'tokens': '(' ~ tokens ~ ')'}[weight] %}
        SELECT CAST(({{ score }}) AS DOUBLE) AS _score,
            _score AS {{ (name ~ '_score') | ident }},
            CAST({{ own }} AS DOUBLE) AS {{ (name ~ '_weight') | ident }}
            {% if cut_points is not none %}
            , bucket_of_score(_score, {{ cut_points | lit }}) AS {{ name | ident }}
            {% endif %}
    """,
    "examples": [
        {
            "text": "öne",
            "params": {"score": "length(text) / 2", "weight": "bytes", "name": "half"},
            "stats": {"half_score": 1.5, "half_weight": 4.0},
        },
        {
            "text": "one",
            "params": {"score": "length(text)", "cut_points": "cuts", "buckets": 4},
            "files": {"cuts": {"cut_points": [2.0, 3.0, 3.5]}},
            "stats": {"score_bucket_score": 3.0, "score_bucket_weight": 1.0, "score_bucket": 2},
        },
        {
            "text": "four",
            "params": {"score": "length(text)", "cut_points": "cuts", "buckets": 3},
            "files": {"cuts": {"cut_points": [3.0, 3.0]}},
            "stats": {"score_bucket": 3},
        },
        {
            "text": "",
            "fields": {"n": 7},
            "params": {"score": "NULL", "weight": "tokens", "tokens": "length(text)", "cut_points": "c", "buckets": 2},
            "files": {"c": {"cut_points": [0.5]}},
            "stats": {"score_bucket": None, "score_bucket_weight": 0.0},
        },
        {"text": "", "params": {"score": "1", "weight": "tokens"}, "error": True},
        {
            "text": "",
            "params": {"score": "1", "cut_points": "c", "buckets": 2},
            "files": {"c": {"cut_points": [2, 1]}},
            "error": True,
        },
        {
            "text": "",
            "params": {"score": "1", "cut_points": "c", "buckets": 4},
            "files": {"c": {"cut_points": [2]}},
            "error": True,
        },
    ],
}


def problems(params: dict[str, Any]) -> list[str]:
    """Problems of the parameters and of the file, as sentences."""
    name, path = params["name"], params.get("cut_points")
    if not name or name.startswith("_"):
        return [f"name: a statistic cannot be named {name!r}; choose another name"]
    if params["weight"] == "tokens" and params.get("tokens") is None:
        return ["weight: tokens needs the number of tokens: tokens: num_token, behind a token_num_filter, or a field"]
    if path is None:
        return []
    try:
        cuts = _cut_points(path)
    except ValueError as error:
        return [str(error)]
    if len(cuts) + 1 != params["buckets"]:
        return [f"{path}: has cut points of {len(cuts) + 1} buckets, and buckets is {params['buckets']}"]
    return []


def _cut_points(path: str) -> np.ndarray:
    """The ascending cut points of a file. Raises ValueError."""
    try:
        return _read(path, state_of(path))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None


@lru_cache(maxsize=16)
def _read(path: str, state: tuple[int, ...]) -> np.ndarray:
    wrong = f"{path}: no file of `refinery buckets`: it must be an object with cut_points, a list of ascending numbers"
    try:
        cuts = np.array(json.loads(Path(path).read_bytes())["cut_points"], np.float64)
    except (ValueError, KeyError, TypeError):
        raise ValueError(wrong) from None
    if cuts.ndim != 1 or not len(cuts) or np.isnan(cuts).any() or (np.diff(cuts) < 0).any():
        raise ValueError(wrong)
    return cuts


def bucket_of(column: pa.Array, path: str) -> pa.Array:
    """The bucket of each score: one more than the cut points below it; NULL for NULL and NaN."""
    cuts = _cut_points(path)
    scores = numbers(column)
    return ints(np.searchsorted(cuts, scores, side="left") + 1, present(column) & ~np.isnan(scores))
