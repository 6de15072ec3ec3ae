"""The table `stat_summary` of a run: moments of its statistics by group and key, from the facts of its samples.

`sql/tables/stat_summary*.sql`, used by the script of `refinery sql`, give the same results in several times the time.
Samples are read in blocks that do not depend on shards; the moments of several blocks are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refinery import kernels
from refinery.compiler.program import Program
from refinery.compiler.stat_groups import TOKENS, key_name, keyed
from refinery.compiler.stat_summary import SummedStatistic, empty_summary, summed
from refinery.compiler.templates import ident, lit
from refinery.kernels.core.arrow import ints, numbers, of_texts
from refinery.recipe.model import StatSummary
from refinery.results.database import Database
from refinery.stats.moments import merge_sql
from refinery.storage.holdings import OwnedObjects
from refinery.storage.urls import is_url
from refinery.workers.machine import cores

# Samples whose statistics are in memory at once.
BLOCK = 1 << 20
# Statistics summed up at once; each needs some copies of a block. With many samples, at most `of_many` are read.
_AT_ONCE = 4
_BATCH = 1 << 17
_COLUMNS = "n, mean, m2, min, max, total, nans, infinities"
# datatrove has no entries without values.
_MEASURED = "(SELECT * FROM stat_summary WHERE n + nans + infinities > 0)"


def summarise(db: Database, programs: Sequence[Program], summary: StatSummary) -> None:
    """Make the table `stat_summary` from the relation `facts`."""
    db.run(empty_summary())
    stats = summed(programs, summary)
    if not stats:
        return
    tokens = any(TOKENS in program.keys for program in programs)
    # Rows are written in the background: a histogram may have many, and the next group is summed up meanwhile.
    with db.con.cursor() as other, ThreadPoolExecutor(1) as beside:
        written, samples = [], db.count("SELECT count(*) FROM facts")
        for group in (*summary.groups, *(name for name, _ in summary.group_by)):
            made: _Whole | _Keys | _Histogram
            if group == "summary":
                made = _Whole(stats)
            elif group == "histogram":
                made = _Histogram(stats, summary.histogram_round_digits, tokens)
            else:
                most = summary.top_k if group in summary.top_k_groups else None
                made = _Keys(db, stats, key_name(group, summary), most)
            if rows := list(_rows(db, made, len(stats), samples)):
                written.append(beside.submit(_write, other, group, made, pa.concat_tables(rows), samples > BLOCK))
        for done in written:
            done.result()


def _rows(db: Database, made: _Whole | _Keys | _Histogram, stats: int, samples: int) -> Iterator[pa.Table]:
    """The rows of a group, some statistics at a time, block by block."""
    together = made.of_many if samples > BLOCK // 4 else stats
    for start in range(0, stats, together):
        these = range(start, min(start + together, stats))
        for block in _blocks(db, made.columns(these), samples):
            yield from made.rows(block, these)
            del block  # free it before the next block is read


def _blocks(db: Database, columns: Sequence[str], samples: int) -> Iterator[pa.Table]:
    """Columns of all samples, in order, in blocks."""
    found = db.con.sql(f"SELECT {', '.join(columns)} FROM facts")
    if samples <= BLOCK:
        yield found.to_arrow_table()
        return
    waiting: list[pa.RecordBatch] = []
    for batch in found.to_arrow_reader(_BATCH):
        waiting.append(batch)
        while sum(map(len, waiting)) >= BLOCK:
            whole = pa.Table.from_batches(waiting)
            waiting = whole.slice(BLOCK).to_batches()
            yield whole.slice(0, BLOCK)
            del whole
    if waiting:
        yield pa.Table.from_batches(waiting)


def _write(
    con: duckdb.DuckDBPyConnection, group: str, made: _Whole | _Keys | _Histogram, rows: pa.Table, several: bool
) -> None:
    """Add the rows of a group to the table; rows of several blocks are merged."""
    con.register("_rows", rows.append_column("stat", of_texts(made.names).take(rows["nth"])))
    found = f"SELECT stat, nth, place, {made.key} AS key, {_COLUMNS} FROM _rows"
    if several:
        found = _merged(found)
    con.execute(f"INSERT INTO stat_summary SELECT {lit(group)}, key, stat, {_COLUMNS} FROM ({found})").fetchall()
    con.unregister("_rows")


def _merged(found: str) -> str:
    """SQL that merges rows of several blocks into one row per statistic and key, in order."""
    parts = f"(SELECT '' AS \"group\", key, stat, {_COLUMNS} FROM ({found}))"
    places = f"SELECT stat, key, min(nth) AS nth, min(place) AS place FROM ({found}) GROUP BY ALL"
    merged = f"({merge_sql(parts)}) JOIN ({places}) USING (stat, key)"
    return f"SELECT key, stat, {_COLUMNS} FROM {merged} ORDER BY nth, place, key"


def _table(nth: int, places: np.ndarray, found: kernels.stats.moments.Moments, **more: pa.Array) -> pa.Table:
    """Moments as rows. nth: number of the statistic. places: sort order of the keys."""
    some, columns = found.n > 0, vars(found)
    nullable = ("mean", "min", "max", "total")
    values = {name: ints(column, some if name in nullable else None) for name, column in columns.items()}
    return pa.table({"nth": ints(np.full(len(places), nth, np.int64)), "place": ints(places), **values, **more})


def _values(block: pa.Table, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The values of a column, and a mask of its valid values; None if all are valid."""
    column = block[name]
    valid = None if not column.null_count else numbers(pc.cast(pc.is_valid(column), pa.uint8())).view(np.bool_)
    return numbers(column), valid


def _column(stat: SummedStatistic) -> str:
    """SQL for a statistic as a number, under its own name."""
    return f"{stat.number} AS {stat.column}"


class _Whole:
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
            found = list(pool.map(partial(self._row, block), these))
        yield pa.concat_tables(found)

    def _row(self, block: pa.Table, nth: int) -> pa.Table:
        values, valid = _values(block, self.names[nth])
        return _table(
            nth,
            np.zeros(1, np.int64),
            kernels.stats.moments.moments(None, 1, values.astype(np.float64, copy=False), valid),
        )


class _Keys:
    """Samples by a key column: the most frequent keys first, at most `most` keys."""

    key = "key"
    of_many = 4  # keys are looked up again each time

    def __init__(self, db: Database, stats: Sequence[SummedStatistic], column: str, most: int | None) -> None:
        self.names, self.column = [stat.name for stat in stats], column
        self._stats = stats
        limit = f" LIMIT {most}" if most else ""
        order = f"GROUP BY 1 ORDER BY count({stats[0].column}) DESC, min(_row){limit}"
        self.chosen = [key for (key,) in db.rows(f"SELECT {column} FROM facts {order}")]
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
            found = kernels.stats.moments.moments(codes, len(self.chosen), values.astype(np.float64), valid)
            places = np.flatnonzero(found.seen)
            yield _table(nth, places, found.at(places), key=self.texts.take(ints(places)))


class _Histogram:
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
                found = kernels.stats.moments.moments(
                    codes, len(keys), size[taken].astype(np.float64), None if known is None else known[taken]
                )
                at = np.flatnonzero(found.seen)
                yield _table(3 * nth + part, keys[at].astype(np.float64), found.at(at), whole=whole.take(ints(at)))


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


def write_statistics(db: Database, summary: StatSummary, holdings: OwnedObjects) -> list[str]:
    """Write `stat_summary` as the statistics files of this rank, if the recipe exports them; returns paths or URLs.

    holdings: the list of objects that runs have put. Raises OutputError when the files cannot be written.
    """
    if summary.export is None:
        return []
    from refinery.stats.files import file_paths, write_files

    if is_url(summary.export):
        paths = file_paths(db.con, _MEASURED, summary.rank)
        holdings.begin(summary.export, [f"{summary.export.rstrip('/')}/{path}" for path in paths])
    written = write_files(db.con, _MEASURED, summary.export, summary.rank)
    if is_url(summary.export):
        holdings.note(summary.export, written)
    return written


def left_out(db: Database, summary: StatSummary) -> list[str]:
    """A line for each group with more keys than the table holds, or in which no sample has a key."""
    if (summary.grouped or summary.export) and not db.rows("SELECT * FROM stat_summary LIMIT 1"):
        return ["stat_summary: there is nothing to sum up; no step of the recipe computes a statistic"]
    found = []
    for group in keyed(summary):
        column = ident(key_name(group, summary))
        keys, named = db.rows(f"SELECT count(DISTINCT {column}), count(*) FILTER (WHERE {column} <> '') FROM facts")[0]
        if group in summary.top_k_groups and keys > summary.top_k:
            kept = f"top_k keeps {summary.top_k:,} of {keys:,} keys"
            found.append(f"stat_summary, group {group}: {kept}, those of the most samples")
        if keys and not named:
            cure = f"; url_key is {summary.url_key!r}" if group in ("fqdn", "suffix") else ""
            found.append(f"stat_summary, group {group}: every sample has the key ''{cure}")
    return found
