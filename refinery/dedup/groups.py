"""Clusters of samples that are equal in one column: groups, which SQL makes within its memory, however many there are.

Samples with equal keys match each other and nothing else, so there are no pairs to connect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from refinery.common.lazy import pq
from refinery.compiler.deduplicators import key_name, statement
from refinery.dedup.match_keys import MatchKeys
from refinery.dedup.matchers.model import MatchSql, SampleMatcher
from refinery.kernels.core.arrow import numbers


def column_of(matcher: SampleMatcher, keys: MatchKeys, params: Mapping[str, Any]) -> tuple[str, int] | None:
    """The one column whose equal values are all that makes a match, with its number; None if there is more to compare."""
    equal_columns = getattr(matcher, "equal_columns", None)  # matchers of users may lack it
    columns = equal_columns(keys.columns, params) if equal_columns is not None else None
    return columns[0] if columns is not None and len(columns) == 1 else None


def make(keys: MatchKeys, column: tuple[str, int], order: Sequence[Any]) -> int:
    """Make the tables of groups and of matched samples (`found`); returns the size of the largest group, 0 without any.

    order: terms of the order that chooses survivors; empty: the first sample stays.
    """
    key, how = column
    terms = [replace(term, column=key_name(term.column)) for term in order]
    keys.run(statement("groups", key=key, order=terms))
    keys.run(statement("group_matches", key=key, how=how, order=terms))
    return int(keys.rows("SELECT coalesce(max(size), 0) FROM groups")[0][0])


def write(keys: MatchKeys, column: tuple[str, int], sql: str, duplicates: Path, members: Path) -> np.ndarray:
    """Write the match of each removed sample, and the members of groups; returns the removed samples, ascending.

    sql: makes `duplicates` of `found`.
    """
    count = keys.write(sql, str(duplicates))
    keys.write(statement("group_members", key=column[0]), str(members))
    return _rows_of(duplicates, count)


def duplicates(match: MatchSql) -> str:
    """SQL that makes `duplicates` of `found`, which has the sample's own match key; another sample's is looked up."""
    values = asdict(match)
    if not any("other." in sql for sql in (match.matched, match.distance, match.estimate)):
        own = {name: values[name].replace("one.", "found.") for name in ("matched", "distance", "estimate")}
        values |= own | {"joined": False}
    return statement("duplicates", **values)


def _rows_of(path: Path, count: int) -> np.ndarray:
    """The column `_row` of a file, batch by batch."""
    rows, end = np.empty(count, np.int64), 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1 << 20, columns=["_row"]):
            start, end = end, end + batch.num_rows
            rows[start:end] = numbers(batch.column(0))
    return rows
