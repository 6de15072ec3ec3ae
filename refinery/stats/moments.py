"""Moments of a statistic: n, mean and M2 = sum((x - mean)^2), with minimum, maximum and total. They merge exactly.

A row of moments has the columns `COLUMNS`. n is the number of finite values, which alone enter mean, m2, min, max and
total; nans and infinities count the others. Without a value mean, m2, min, max and total are NULL. The mean is mean + mean_low:
the nearest DOUBLE, and the rest. Merging needs the rest where values are much larger than their distances.
m2 and total are exact to some 1e-15 for any values, number and order of them, and do not depend on threads.
"""

from __future__ import annotations

from refinery.compiler.templates import template
from refinery.operators import read_sql

COLUMNS = {
    "group": "VARCHAR",
    "key": "VARCHAR",
    "stat": "VARCHAR",
    "n": "BIGINT",
    "mean": "DOUBLE",
    "m2": "DOUBLE",
    "min": "DOUBLE",
    "max": "DOUBLE",
    "total": "DOUBLE",
    "nans": "BIGINT",
    "infinities": "BIGINT",
    "mean_low": "DOUBLE",
}


def moments_sql(relation: str) -> str:
    """The SELECT of the moments of a relation (text for FROM) with columns "group", key, stat, value DOUBLE.

    One row for each (group, key, stat); NULL counts as no value. DuckDB holds all values in memory, 8 bytes each: pass one shard.
    """
    return template(read_sql("stats/moments.sql")).render(relation=relation)


def merge_sql(relation: str) -> str:
    """The SELECT that merges moments: any number of rows for each (group, key, stat) become one.

    relation: text for FROM, with `COLUMNS`; mean_low may be missing. Pebay 2008, "Formulas for robust, one-pass
    parallel computation of covariances and arbitrary-order statistical moments", for any number of parts at once.
    """
    return template(read_sql("stats/merge_moments.sql")).render(relation=relation)
