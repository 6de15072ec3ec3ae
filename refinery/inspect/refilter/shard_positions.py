"""Positions of the shards of a finished run in its input."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from refinery.errors import DataError
from refinery.inspect.finished_run import FinishedRun, require_same_inputs
from refinery.io.model import Shard, handed_over
from refinery.io.readers.registry import reader_of
from refinery.planning.plan import Plan


@dataclass(frozen=True)
class ShardPosition:
    """A shard's place in the run: the number of its first sample, its samples and physical lines, good or bad.

    passed_over: kinds and numbers of parts of its files that are no samples. rows_of, line_offsets: as in `ShardResult`.
    """

    first: int
    rows: int
    lines: int
    passed_over: tuple[tuple[str, int], ...] = ()
    rows_of: tuple[int, ...] = ()
    line_offsets: tuple[tuple[int, int | None], ...] = ()


def positions(stored: FinishedRun, prepared: Plan) -> list[ShardPosition]:
    """Positions of the shards. Raises DataError when the inputs have changed since the run."""
    if handed_over(stored.manifest["inputs"]):
        raise DataError(
            f"{stored.run_dir.root}: the run's samples were passed in from Python and are no longer available"
        )
    consequence = f"its stored results are not of these samples; refinery run {stored.run_dir.recipe} reads it anew"
    require_same_inputs(stored.manifest, prepared, consequence)
    query = 'SELECT file, start, "end", first_row, rows, first_line FROM shards ORDER BY shard'
    shards = stored.con.execute(query).fetchall()
    cuts = [(shard.source.path, shard.start, shard.end) for shard in prepared.shards]
    if [shard[:3] for shard in shards] != cuts:
        raise DataError(
            "the input is cut in another way than in the run, so its stored results cannot be used; run it again"
        )
    ends = [after[5] if after[0] == here[0] else here[5] for here, after in zip(shards, shards[1:], strict=False)]
    lines = [max(0, end - here[5]) for here, end in zip(shards, [*ends, 0], strict=False)]
    beside, offsets = _passed_over(stored), _line_offsets(stored)
    return [
        ShardPosition(row[3], row[4], count, beside.get(at, ()), _rows_of(stored, shard, row[3]), offsets.get(at, ()))
        for at, (shard, row, count) in enumerate(zip(prepared.shards, shards, lines, strict=True))
    ]


def _passed_over(stored: FinishedRun) -> dict[int, tuple[tuple[str, int], ...]]:
    """Records that the run has passed over in its input, by shard; nothing in runs of earlier versions."""
    if "passed_over" not in stored.columns:
        return {}
    beside: dict[int, tuple[tuple[str, int], ...]] = {}
    for shard, kind, number in stored.con.execute("FROM passed_over ORDER BY shard, kind").fetchall():
        beside[shard] = (*beside.get(shard, ()), (kind, number))
    return beside


def _rows_of(stored: FinishedRun, shard: Shard, first: int) -> tuple[int, ...]:
    """Samples of each file of a shard that has several."""
    if len(shard.sources) == 1 or reader_of(shard.source).one_sample:
        return ()
    query = "SELECT rows FROM files WHERE first_row >= ? AND file IN ? ORDER BY first_row, rows LIMIT ?"
    parameters = [first, [source.path for source in shard.sources], len(shard.sources)]
    return tuple(rows for (rows,) in stored.con.execute(query, parameters).fetchall())


def _line_offsets(stored: FinishedRun) -> dict[int, tuple[tuple[int, int | None], ...]]:
    """Distances between the numbers and lines of samples within their shards; nothing in runs of earlier versions."""
    if "lines" not in stored.columns:
        return {}
    offsets: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
    query = """
        SELECT shard, lines.first_row - shards.first_row, line_offset - shards.first_line + shards.first_row
        FROM lines JOIN shards ON lines.first_row >= shards.first_row AND lines.first_row < shards.first_row + rows
        ORDER BY ALL
    """
    for shard, row, offset in stored.con.execute(query).fetchall():
        offsets[shard].append((row, offset))
    return {shard: tuple(pairs) for shard, pairs in offsets.items()}
