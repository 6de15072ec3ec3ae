"""The table `stat_summary` of a run: moments of its statistics by group and key, from the facts of its samples.

`sql/tables/stat_summary*.sql`, used by the script of `refinery sql`, give the same results in several times the time.
Samples are read in blocks that do not depend on shards; the moments of several blocks are merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from refinery.common.lazy import duckdb
from refinery.compiler.program import Program
from refinery.compiler.stat_groups import key_name, keyed
from refinery.compiler.stat_summary import empty_summary
from refinery.compiler.templates import ident, lit
from refinery.kernels.core.arrow import of_texts, whole
from refinery.recipe.stat_summary import StatSummary
from refinery.results.database import Database
from refinery.results.summary_rows import GroupRows, SummaryPlan
from refinery.stats.moments import merge_sql
from refinery.storage.holdings import OwnedObjects
from refinery.storage.urls import is_url

# Samples whose statistics are in memory at once.
BLOCK = 1 << 20
_BATCH = 1 << 17
_COLUMNS = "n, mean, m2, min, max, total, nans, infinities"
# datatrove has no entries without values.
_MEASURED = "(SELECT * FROM stat_summary WHERE n + nans + infinities > 0)"


def summarise(db: Database, programs: Sequence[Program], summary: StatSummary) -> None:
    """Make the table `stat_summary` from the relation `facts`."""
    db.run(empty_summary())
    plan = SummaryPlan.of(programs, summary)
    # Rows are written in the background: a histogram may have many, and the next group is summed up meanwhile.
    with db.cursor() as other, ThreadPoolExecutor(1) as beside:
        written, samples = [], db.count("SELECT count(*) FROM facts") if plan.groups else 0
        for group in plan.groups:
            made = plan.rows_of(group, _chosen(db, plan, group))
            if rows := list(group_rows(db.con, made, len(plan.stats), samples)):
                written.append(beside.submit(_add, other, group, made, pa.concat_tables(rows), samples > BLOCK))
        for done in written:
            done.result()


def _chosen(db: Database, plan: SummaryPlan, group: str) -> list[str | None]:
    """The keys of a group that are summed up."""
    if group in ("summary", "histogram"):
        return []
    return [key for (key,) in db.rows(plan.chosen(group, f"({plan.counted(group)})"))]


def group_rows(con: duckdb.DuckDBPyConnection, made: GroupRows, stats: int, samples: int) -> Iterator[pa.Table]:
    """The rows of a group from the relation `facts`, some statistics at a time, block by block.

    stats: number of statistics. samples: number of rows of `facts`.
    """
    together = made.of_many if samples > BLOCK // 4 else stats
    for start in range(0, stats, together):
        these = range(start, min(start + together, stats))
        for block in _blocks(con, made.columns(these), samples):
            yield from made.rows(block, these)
            del block  # free it before the next block is read


def _blocks(con: duckdb.DuckDBPyConnection, columns: Sequence[str], samples: int) -> Iterator[pa.Table]:
    """Columns of all samples, in order, in blocks."""
    relation = con.sql(f"SELECT {', '.join(columns)} FROM facts")
    if samples <= BLOCK:
        yield relation.to_arrow_table()
        return
    waiting: list[pa.RecordBatch] = []
    for batch in relation.to_arrow_reader(_BATCH):
        waiting.append(batch)
        while sum(map(len, waiting)) >= BLOCK:
            rows = pa.Table.from_batches(waiting)
            waiting = rows.slice(BLOCK).to_batches()
            yield rows.slice(0, BLOCK)
            del rows
    if waiting:
        yield pa.Table.from_batches(waiting)


def _add(con: duckdb.DuckDBPyConnection, group: str, made: GroupRows, rows: pa.Table, several: bool) -> None:
    """Add the rows of a group, in memory, to the table."""
    stat = pa.DictionaryArray.from_arrays(whole(rows["nth"]), of_texts(made.names))
    con.register("_rows", rows.append_column("stat", stat))
    add_rows(con, group, made, "_rows", several)
    con.unregister("_rows")


def add_rows(con: duckdb.DuckDBPyConnection, group: str, made: GroupRows, relation: str, several: bool) -> None:
    """Add the rows of a group to the table; rows of several blocks are merged. relation: with the column `stat`."""
    parts = f"SELECT stat, nth, place, {made.key} AS key, {_COLUMNS} FROM {relation}"
    if several:
        parts = _merged(parts)
    con.execute(f"INSERT INTO stat_summary SELECT {lit(group)}, key, stat, {_COLUMNS} FROM ({parts})").fetchall()


def _merged(moments: str) -> str:
    """SQL that merges rows of several blocks into one row per statistic and key, in order."""
    parts = f"(SELECT '' AS \"group\", key, stat, {_COLUMNS} FROM ({moments}))"
    places = f"SELECT stat, key, min(nth) AS nth, min(place) AS place FROM ({moments}) GROUP BY ALL"
    merged = f"({merge_sql(parts)}) JOIN ({places}) USING (stat, key)"
    return f"SELECT key, stat, {_COLUMNS} FROM {merged} ORDER BY nth, place, key"


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
    counts = {}
    for group in keyed(summary):
        column = ident(key_name(group, summary))
        query = f"SELECT count(DISTINCT {column}), count(*) FILTER (WHERE {column} <> '') FROM facts"
        [counts[group]] = db.rows(query) if _filled(db) else [(0, 0)]
    return notes_of(db, summary, counts)


def _filled(db: Database) -> bool:
    return bool(db.rows("SELECT * FROM stat_summary LIMIT 1"))


def notes_of(db: Database, summary: StatSummary, keys: Mapping[str, tuple[int, int]]) -> list[str]:
    """Lines on groups. keys: of each group with keys, their number, and the number of samples that have one."""
    if (summary.grouped or summary.export) and not _filled(db):
        return ["stat_summary: there is nothing to sum up; no step of the recipe computes a statistic"]
    notes = []
    for group, (count, named) in keys.items():
        if group in summary.top_k_groups and count > summary.top_k:
            kept = f"top_k keeps {summary.top_k:,} of {count:,} keys"
            notes.append(f"stat_summary, group {group}: {kept}, those of the most samples")
        if count and not named:
            cure = f"; url_key is {summary.url_key!r}" if group in ("fqdn", "suffix") else ""
            notes.append(f"stat_summary, group {group}: every sample has the key ''{cure}")
    return notes
