"""Moments of a statistic: n, mean and M2 = sum((x - mean)^2), with minimum, maximum and total. They merge exactly.

A row of moments has the columns `COLUMNS`. n is the number of finite values, which alone enter mean, m2, min, max and
total; nans and infinities count the others. Of no value mean, m2, min, max and total are NULL. The mean is mean + mean_low:
the nearest DOUBLE, and what that leaves. Merging needs the second where values are much larger than they are apart.
m2 and total are exact to some 1e-15 whatever the values, their number and order, and do not depend on threads.
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
    """The SELECT of the moments of a relation (what stands after FROM) with columns "group", key, stat, value DOUBLE.

    One row for each (group, key, stat); NULL is no value. It holds all values in memory, 8 bytes each: give it a shard.
    """
    return template(read_sql("stats/moments.sql")).render(relation=relation)


def merge_sql(relation: str) -> str:
    """The SELECT that merges moments: any number of rows for each (group, key, stat) become one.

    relation: what stands after FROM, with `COLUMNS`; it may be without mean_low. Pebay 2008, "Formulas for robust, one-pass
    parallel computation of covariances and arbitrary-order statistical moments", for any number of parts at once.
    """
    return template(read_sql("stats/merge_moments.sql")).render(relation=relation)
