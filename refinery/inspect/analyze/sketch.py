"""Quantiles from a logarithmic histogram that merges exactly: the sketch of DDSketch (Masson, Rim and Lee, 2019).

Unlike a t-digest, its result depends neither on the order of the values nor on how they were cut into shards: a bucket
is a count. Beside the count each bucket keeps its least and largest value, so whole numbers below 500 are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from refinery.compiler.templates import template
from refinery.operators import read_sql

# Largest relative error of a quantile.
ERROR = 0.001
LOG_GAMMA = math.log((1 + ERROR) / (1 - ERROR))
# More than the buckets that the smallest double needs: -ln(5e-324) / ln(gamma) = 372,220.
SHIFT = 400_000
PERCENTS = (1, 5, 25, 50, 75, 95, 99)


def values(relation: str, groups: Sequence[tuple[str, str]], columns: Sequence[tuple[str, str]]) -> str:
    """Return SQL for statistics in long form, ("group", key, stat, value).

    groups: SQL for the name of each group and for the key of a sample in it. columns: SQL for the name and the value of
    each statistic. relation: of the samples, one row each.
    """
    return _written("values", relation=relation, groups=groups, columns=columns)


def sketches(long: str) -> str:
    """Return SQL for the sketches, ("group", key, stat, bucket, n, low, high), of a query made by `values`."""
    return _written("sketches", values=long, log_gamma=repr(LOG_GAMMA), shift=SHIFT)


def merged(parts: str) -> str:
    """Return SQL that merges the sketches of a query into one for each (group, key, stat)."""
    return _written("merge_sketches", sketches=parts)


def quantiles(relation: str, percents: Sequence[int] = PERCENTS) -> str:
    """Return SQL for ("group", key, stat, quantile, value) of a relation of sketches; relative error at most ERROR."""
    return _written("quantiles", relation=relation, percents=list(percents))


def _written(name: str, **values: object) -> str:
    return template(read_sql(f"analysis/{name}.sql")).render(values)
