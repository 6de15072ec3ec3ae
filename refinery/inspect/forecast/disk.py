"""Bytes that a run leaves on disk, from those of a sample's run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from refinery.common.connections import connect
from refinery.compiler.templates import ident, lit

# Rows of a table of the sample, repeated: files of DuckDB grow in blocks, which hide the size of few rows.
_ROWS = 50_000
_SHARD = re.compile(r"stage_(\d+)/(\d+)\.")


@dataclass(frozen=True)
class Disk:
    """Bytes on disk. export: samples and the files beside them. results: of shards, for the next run. database: the tables."""

    export: float
    results: float
    database: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.export + self.results + self.database


def stored_by_shard(parts: Path) -> dict[tuple[int, int], int]:
    """Bytes in the store of results, by stage and shard."""
    sizes: Counter[tuple[int, int]] = Counter()
    for path in parts.rglob("*"):
        if (found := _SHARD.search(path.as_posix())) and path.is_file():
            sizes[int(found[1]), int(found[2])] += path.stat().st_size
    return dict(sizes)


def results_bytes(stored: Mapping[tuple[int, int], int], sizes: Mapping[int, int], whole: float, shards: int) -> float:
    """Bytes of the results of a run, by a line through those of the sample's shards.

    sizes: bytes of each shard of the sample. whole: bytes of the input. shards: of a stage of the run.
    """
    total = 0.0
    for stage in {stage for stage, _ in stored}:
        points = [(sizes[shard], size) for (number, shard), size in stored.items() if number == stage]
        x, y = np.array(points, float).T
        if len(points) < 3 or np.ptp(x) == 0:
            total += y.sum() / max(1.0, x.sum()) * whole
            continue
        slope, shard = np.polyfit(x, y, 1)
        if slope < 0 or shard < 0:
            slope, shard = y.sum() / x.sum(), 0.0
        total += slope * whole + shard * shards
    return total


def database_bytes(database: Path, sampled: int, rows: float, folder: Path) -> float:
    """Bytes of the tables of a run. sampled: rows in the database of the sample. folder: for a larger copy of it."""
    empty, larger = _larger(database, sampled, folder)
    if not larger:
        return float(database.stat().st_size)
    bytes_each, copies = larger
    return empty + max(0.0, bytes_each / copies / max(1, sampled)) * rows


def _larger(database: Path, sampled: int, folder: Path) -> tuple[int, tuple[int, int] | None]:
    """Bytes of the tables that don't grow; bytes of the tables with a row for each sample, repeated, and how often."""
    con, copies = connect([folder, database.parent]), max(1, _ROWS // max(1, sampled))
    try:
        con.execute(f"ATTACH {lit(str(database))} AS ran (READ_ONLY)")
        tables = con.execute("SELECT table_name, estimated_size FROM duckdb_tables() WHERE database_name = 'ran'")
        growing = [name for name, size in tables.fetchall() if size >= max(20, sampled // 200)]
        con.execute(f"ATTACH {lit(str(folder / 'larger.duckdb'))} AS larger")
        for name in growing:
            source = f"ran.{ident(name)}, range({copies})"
            con.execute(f"CREATE TABLE larger.{ident(name)} AS SELECT {ident(name)}.* FROM {source}")
        con.execute("DETACH larger")
    finally:
        con.close()
    grown = (folder / "larger.duckdb").stat().st_size
    return database.stat().st_size // 2, (grown, copies) if growing else None
