"""Rows of the table `stat_summary` for one block of samples: moments by group and key, to be merged with other blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from refinery import kernels
from refinery.compiler.program import Program
from refinery.compiler.stat_groups import TOKENS, key_name
from refinery.compiler.stat_summary import SummedStatistic, summed
from refinery.kernels.core.arrow import ints, numbers, of_texts, present
from refinery.recipe.stat_summary import StatSummary
from refinery.workers.machine import cores

# Statistics summed up at once; each needs some copies of a block.
_AT_ONCE = 4


@dataclass(frozen=True)
class KeyedGroup:
    """A group with keys in a column. most: number of keys that are summed up, None for all."""

    name: str
    column: str
    most: int | None


@dataclass(frozen=True)
class SummaryPlan:
    """The groups and statistics that are summed up. groups: names, in order. keyed: those with keys in a column."""

    stats: tuple[SummedStatistic, ...]
    groups: tuple[str, ...]
    keyed: tuple[KeyedGroup, ...]
    digits: int
    tokens: bool

    @staticmethod
    def of(programs: Sequence[Program], summary: StatSummary) -> SummaryPlan:
        """The plan of a recipe; without groups if no statistic is summed up."""
        stats = tuple(summed(programs, summary))
        groups = (*summary.groups, *(name for name, _ in summary.group_by)) if stats else ()
        keyed = tuple(
            KeyedGroup(group, key_name(group, summary), summary.top_k if group in summary.top_k_groups else None)
            for group in groups
            if group not in ("summary", "histogram")
        )
        tokens = any(TOKENS in program.keys for program in programs)
        return SummaryPlan(stats, groups, keyed, summary.histogram_round_digits, tokens)

    def json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @staticmethod
    def from_json(plain: dict[str, Any]) -> SummaryPlan:
        """The plan of plain data."""
        stats = tuple(SummedStatistic(**stat) for stat in plain["stats"])
        keyed = tuple(KeyedGroup(**group) for group in plain["keyed"])
        return SummaryPlan(stats, tuple(plain["groups"]), keyed, plain["digits"], plain["tokens"])

    def keys_of(self, group: str) -> KeyedGroup:
        """A group with keys."""
        return next(keyed for keyed in self.keyed if keyed.name == group)

    def counted(self, group: str) -> str:
        """SQL for the keys of a block: `key`, samples with the first statistic, samples, the first one."""
        column = self.keys_of(group).column
        asked = f"count({self.stats[0].column}) AS measured, count(*) AS rows, min(_row) AS first"
        return f"SELECT {column} AS key, {asked} FROM facts GROUP BY 1"

    def chosen(self, group: str, counts: str) -> str:
        """SQL for the keys that are summed up, in their order. counts: relation with rows of `counted`."""
        most = self.keys_of(group).most
        limit = f" LIMIT {most}" if most else ""
        return f"SELECT key FROM {counts} GROUP BY 1 ORDER BY sum(measured) DESC, min(first){limit}"

    def rows_of(self, group: str, chosen: Sequence[str | None] = ()) -> GroupRows:
        """The maker of a group's rows. chosen: keys of a group with keys."""
        if group == "summary":
            return WholeRows(self.stats)
        if group == "histogram":
            return HistogramRows(self.stats, self.digits, self.tokens)
        return KeyRows(self.stats, self.keys_of(group).column, chosen)


def _table(nth: int, places: np.ndarray, moments: kernels.stats.moments.Moments, **more: pa.Array) -> pa.Table:
    """Moments as rows. nth: number of the statistic. places: sort order of the keys."""
    some, columns = moments.n > 0, vars(moments)
    nullable = ("mean", "min", "max", "total")
    values = {name: ints(column, some if name in nullable else None) for name, column in columns.items()}
    return pa.table({"nth": ints(np.full(len(places), nth, np.int64)), "place": ints(places), **values, **more})


def _values(block: pa.Table, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The values of a column, and a mask of its valid values; None if all are valid."""
    column = block[name]
    valid = np.concatenate([present(chunk) for chunk in column.chunks]) if column.null_count else None
    return numbers(column), valid


def _column(stat: SummedStatistic) -> str:
    """SQL for a statistic as a number, under its own name."""
    return f"{stat.number} AS {stat.column}"


class WholeRows:
    """All samples under one key."""

    key = "'summary'"
    of_many = 1

    def __init__(self, stats: Sequence[SummedStatistic]) -> None:
        self.names = [stat.name for stat in stats]
        self._stats = stats

    def columns(self, these: range) -> list[str]:
        """Columns that are read for some statistics."""
        return [_column(self._stats[nth]) for nth in these]

    def rows(self, block: pa.Table, these: range) -> Iterator[pa.Table]:
        """Moments of some statistics, in one table."""
        with ThreadPoolExecutor(min(_AT_ONCE, cores())) as pool:  # numpy releases the GIL
            tables = list(pool.map(partial(self._row, block), these))
        yield pa.concat_tables(tables)

    def _row(self, block: pa.Table, nth: int) -> pa.Table:
        values, valid = _values(block, self.names[nth])
        return _table(
            nth,
            np.zeros(1, np.int64),
            kernels.stats.moments.moments(None, 1, values.astype(np.float64, copy=False), valid),
        )


class KeyRows:
    """Samples by a key column. chosen: the keys that are summed up, in the order of their rows."""

    key = "key"
    of_many = 4  # keys are looked up again each time

    def __init__(self, stats: Sequence[SummedStatistic], column: str, chosen: Sequence[str | None]) -> None:
        self.names, self.column = [stat.name for stat in stats], column
        self._stats, self.chosen = stats, list(chosen)
        self.places = {key: place for place, key in enumerate(self.chosen)}
        self.texts = of_texts(self.chosen)

    def columns(self, these: range) -> list[str]:
        """Columns that are read for some statistics."""
        return [self.column, *(_column(self._stats[nth]) for nth in these)]

    def rows(self, block: pa.Table, these: range) -> Iterator[pa.Table]:
        """Moments of some statistics for the keys that have a value."""
        encoded = block[self.column].combine_chunks().dictionary_encode()
        of_codes = np.array([self.places.get(key, -1) for key in encoded.dictionary.to_pylist()], np.int64)
        codes = of_codes[numbers(encoded.indices)]
        chosen = codes >= 0
        for nth in these:
            values, valid = _values(block, self.names[nth])
            valid = chosen if valid is None else chosen & valid
            moments_by_key = kernels.stats.moments.moments(codes, len(self.chosen), values.astype(np.float64), valid)
            places = np.flatnonzero(moments_by_key.seen)
            yield _table(nth, places, moments_by_key.at(places), key=self.texts.take(ints(places)))


class HistogramRows:
    """Samples by the rounded value of each statistic: their number, characters and tokens."""

    of_many = 1
    # The key is the number as Python writes it.
    key = "CASE WHEN whole IS NOT NULL THEN CAST(whole AS VARCHAR) WHEN isnan(place) THEN 'nan' ELSE CAST(place AS VARCHAR) END"

    def __init__(self, stats: Sequence[SummedStatistic], digits: int, tokens: bool) -> None:
        self.stats, self.digits = stats, digits
        self.names = [stat.name + part for stat in stats for part in ("", "__chars", "__tokens")]
        self.sizes = [*dict.fromkeys(stat.chars for stat in stats), *([TOKENS] if tokens else [])]

    def columns(self, these: range) -> list[str]:
        """Columns that are read for some statistics."""
        return [*(_column(self.stats[nth]) for nth in these), *self.sizes]

    def rows(self, block: pa.Table, these: range) -> Iterator[pa.Table]:
        """Counts and sums by value, of some statistics."""
        sizes = {name: _values(block, name) for name in self.sizes}
        for nth in these:
            stat = self.stats[nth]
            values, valid = _values(block, stat.name)
            taken = slice(None) if valid is None else valid
            codes, keys = _by_value(kernels.stats.moments.rounded(values[taken], self.digits))
            if not len(keys):
                continue
            whole = ints(keys, np.full(len(keys), not stat.real)) if not stat.real else pa.nulls(len(keys), pa.int64())
            yield _table(3 * nth, keys.astype(np.float64), kernels.stats.moments.ones(codes, len(keys)), whole=whole)
            for part, name in enumerate((stat.chars, TOKENS), 1):
                if name not in sizes:
                    continue
                size, known = sizes[name]
                moments_by_key = kernels.stats.moments.moments(
                    codes, len(keys), size[taken].astype(np.float64), None if known is None else known[taken]
                )
                at = np.flatnonzero(moments_by_key.seen)
                yield _table(
                    3 * nth + part, keys[at].astype(np.float64), moments_by_key.at(at), whole=whole.take(ints(at))
                )


def _by_value(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes of values among the sorted distinct values, and these; -0.0 and 0.0 are two values, all NaN are one."""
    real = values.dtype == np.float64
    bits = np.where(np.isnan(values), np.nan, values).view(np.int64) if real else values
    encoded = ints(bits).dictionary_encode()
    distinct = numbers(encoded.dictionary)
    distinct = distinct.view(np.float64) if real else distinct
    order = np.lexsort((~np.signbit(distinct), distinct)) if real else np.argsort(distinct)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[numbers(encoded.indices)], distinct[order]


GroupRows = WholeRows | KeyRows | HistogramRows
