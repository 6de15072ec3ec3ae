"""Correlations of all pairs of statistics: Pearson's of the values, Spearman's of their ranks.

Ranks are made by SQL, on disk where they are many. The sums of products are taken by numpy over blocks of rows: for the
1,770 pairs of 60 statistics DuckDB's `corr` needs ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa

from refinery.compiler.templates import template
from refinery.kernels.core.arrow import ints, numbers, of_texts
from refinery.operators import read_sql
from refinery.results.database import Database

# Rows whose values and ranks are in memory at once.
_BLOCK = 1 << 17
# A variance at most this share of the sum of squares is rounding error.
_NOTHING = 1e-13


def correlate(db: Database, names: Sequence[str], columns: Sequence[str]) -> None:
    """Make the table `correlations` of statistics in the relation `facts`. columns: SQL for their values."""
    if columns:
        ranks = template(read_sql("analysis/ranks.sql")).render(columns=columns, relation="facts")
        with db.one_thread():  # the order of rows decides the last digits of sums
            db.run(f"CREATE OR REPLACE TEMP TABLE _ranks AS {ranks}")
            values, places = _Products(len(columns)), _Products(len(columns))
            centers = _centers(db, len(columns))
            for block in _blocks(db, len(columns)):
                values.add(block[: len(columns)] - centers[: len(columns), None])
                places.add(block[len(columns) :] - centers[len(columns) :, None])
        db.run("DROP TABLE _ranks")
        table = _table(names, values.n, values.correlations(), places.correlations())
    else:
        none = np.zeros((0, 0))
        table = _table(names, none, none, none)
    db.table("correlations", table)


def _columns(count: int) -> list[str]:
    return [f"{kind}{number}" for kind in "vr" for number in range(count)]


def _centers(db: Database, count: int) -> np.ndarray:
    """Value to subtract from each column: its mean, or its only value."""
    centers = [f"CASE WHEN min({c}) < max({c}) THEN avg({c}) ELSE min({c}) END" for c in _columns(count)]
    [row] = db.rows(f"SELECT {', '.join(centers)} FROM _ranks")
    return np.array([0.0 if value is None else value for value in row])


def _blocks(db: Database, count: int) -> Iterator[np.ndarray]:
    """Values and ranks of the statistics, a row for each column; NaN for missing values."""
    columns = ", ".join(f"coalesce({column}, 'nan') AS {column}" for column in _columns(count))
    rows = db.count("SELECT count(*) FROM _ranks")
    for start in range(0, rows, _BLOCK):
        query = f"SELECT {columns} FROM _ranks WHERE rowid BETWEEN {start} AND {start + _BLOCK - 1}"
        table = db.con.sql(query).to_arrow_table()
        yield np.stack([numbers(column) for column in table.columns])


class _Products:
    """Sums over the rows that have both of two columns, for all pairs; columns are near 0."""

    def __init__(self, count: int) -> None:
        self.n, self.sums, self.squares, self.products = (np.zeros((count, count)) for _ in range(4))

    def add(self, block: np.ndarray) -> None:
        """Add rows. block: a row for each column, NaN for missing values."""
        there = np.isfinite(block)
        known = there.astype(np.float64)
        block = np.where(there, block, 0.0)
        self.n += known @ known.T
        self.sums += block @ known.T
        self.squares += (block * block) @ known.T
        self.products += block @ block.T

    def correlations(self) -> np.ndarray:
        """Pearson's coefficient of every pair; NaN where one of them is the same in all rows that have both."""
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = self.squares - self.sums**2 / self.n
            spread[~(spread > _NOTHING * self.squares)] = np.nan
            matrix = (self.products - self.sums * self.sums.T / self.n) / np.sqrt(spread * spread.T)
        return np.clip(matrix, -1.0, 1.0)


def _table(names: Sequence[str], n: np.ndarray, pearson: np.ndarray, spearman: np.ndarray) -> pa.Table:
    pairs = list(combinations(range(len(names)), 2))
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    return pa.table(
        {
            "stat_a": of_texts([names[a] for a in one]),
            "stat_b": of_texts([names[b] for b in other]),
            "n": ints(n[one, other].astype(np.int64)),
            "pearson": ints(pearson[one, other], np.isfinite(pearson[one, other])),
            "spearman": ints(spearman[one, other], np.isfinite(spearman[one, other])),
        }
    )
