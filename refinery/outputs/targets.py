"""Files outside of its own folder that a run is going to write, as patterns: not all of their names are known before."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from refinery.compiler.compiled import Stat
from refinery.errors import OutputError
from refinery.outputs.belongings import Belongings, pattern
from refinery.outputs.tables import listed
from refinery.preparing import Prepared
from refinery.recipe import Recipe
from refinery.rundir import RunDir
from refinery.samples.export import names, numbered, stats_path
from refinery.store.urls import is_stdout, is_url


def of_run(prepared: Prepared, run_dir: RunDir) -> list[str]:
    """All patterns of a run."""
    recipe = prepared.recipe
    exported = of_export(recipe, prepared.stats)
    traced = of_trace(prepared, run_dir) if recipe.open_tracer else []
    return [pattern(run_dir.database), *exported, *traced, *of_statistics(recipe)]


def of_export(recipe: Recipe, stats: Sequence[Stat]) -> list[str]:
    """The export and the statistics of its samples; none for what is no file of this machine."""
    if recipe.export_format == "none" or is_url(recipe.export_path) or is_stdout(recipe.export_path):
        return []
    beside = [pattern(stats_path(recipe.export_path))] if stats else []
    if recipe.executor_type != "default":
        return beside
    if recipe.export_shard_size:
        return [numbered(recipe.export_path, recipe.export_format), *beside]
    return [pattern(names(recipe.export_path, recipe.export_format)[0]), *beside]


def of_trace(prepared: Prepared, run_dir: RunDir) -> list[str]:
    """The files of the trace."""
    return [pattern(path) for path in traced(prepared, run_dir)]


def traced(prepared: Prepared, run_dir: RunDir) -> Iterator[Path]:
    """The files of all steps that may be traced."""
    seen: set[str] = set()
    for step, _ in listed(prepared.stages):
        for pairs in (False, True):
            yield run_dir.trace_file(step.name, step.index, step.name not in seen, pairs)
        seen.add(step.name)


def of_statistics(recipe: Recipe) -> list[str]:
    """The statistics files of this rank."""
    summary = recipe.stat_summary
    if summary.export is None or is_url(summary.export):
        return []
    folder = glob.escape(os.path.abspath(summary.export))
    return [os.path.join(folder, "*", "*", f"{summary.rank:05d}.json")]


def own_database(path: Path, belongings: Belongings) -> Path | None:
    """The path, where the file there is the database of a run, whoever has put it there. Raises OutputError."""
    wal = path.with_name(f"{path.name}.wal")
    if wal.exists():
        what = (
            f"{wal}: another program has written to the tables, and DuckDB would take that for a part of the new ones"
        )
        raise OutputError(f"{what}. Close that program, or remove the file")
    if belongings.has(path) or not path.is_file():
        return path
    try:
        with duckdb.connect(str(path), read_only=True) as con:
            con.execute("SELECT run_id, fingerprint FROM runs LIMIT 0").fetchall()
    except duckdb.Error:
        return None
    return path
