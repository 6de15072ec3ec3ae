"""Outputs of a run outside of its own folder, as patterns, since not all names are known before the run."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from refinery.common.connections import file_name
from refinery.common.lazy import duckdb
from refinery.compiler.model import Stat
from refinery.errors import OutputError
from refinery.io.writers.export import stats_path
from refinery.io.writers.export_files import names, numbered, stem_of
from refinery.planning.plan import CompiledStage, stats_of
from refinery.recipe.export import ExportSettings
from refinery.recipe.run_outputs import RunOutputs
from refinery.recipe.stat_summary import StatSummary
from refinery.results.owned_files import OwnedFiles, pattern
from refinery.results.tables import listed
from refinery.storage.open import open_store
from refinery.storage.run_folder import RunDir
from refinery.storage.urls import is_url

_NUMBERED = re.compile(r"-\d+-of-\d+(\.\w+){1,2}$")


def of_run(outputs: RunOutputs, stages: Sequence[CompiledStage], run_dir: RunDir) -> list[str]:
    """All patterns of a run."""
    return [
        pattern(run_dir.database),
        *of_export(outputs.export, stats_of(stages)),
        *of_removed(outputs.removed),
        *(of_trace(stages, run_dir) if outputs.traces else []),
        *of_statistics(outputs.summary),
    ]


def of_export(export: ExportSettings, stats: Sequence[Stat]) -> list[str]:
    """Patterns of the export and of its samples' statistics; none if they are not local files."""
    if not export.is_local:
        return []
    beside = [pattern(stats_path(export.path))] if stats else []
    if export.in_parts:
        return beside
    if export.is_folder:
        return [*of_folder(export, "part"), *beside]
    if export.shard_size:
        return [numbered(export.path, export.kind), *beside]
    return [pattern(names(export.path, export.kind)[0]), *beside]


def of_folder(export: ExportSettings, stem: str) -> list[str]:
    """Patterns of files in folders named by values. stem: of the files' names."""
    folder = os.path.join(glob.escape(os.path.abspath(os.path.expanduser(export.path))), *("*=*" for _ in export.by))
    return [
        os.path.join(folder, f"{stem}.{export.kind}"),
        os.path.join(folder, f"{stem}-[0-9]*-of-[0-9]*.{export.kind}"),
    ]


def of_removed(export: ExportSettings | None) -> list[str]:
    """Patterns of the files of removed samples; none if they are not local files."""
    if export is None or not export.is_local:
        return []
    return of_folder(export, "removed") if export.is_folder else [pattern(names(export.path, export.kind)[0])]


def folder_objects(export: ExportSettings) -> list[str]:
    """URLs of the objects below a folder of partitions. Raises OSError."""
    url = export.path.rstrip("/")
    return [f"{url}/{name}" for name in open_store(url).names() if not os.path.basename(name).startswith(".")]


def of_objects(export: ExportSettings, stats: Sequence[Stat]) -> list[str]:
    """URLs of an export and of its samples' statistics; of numbered objects those that exist. Raises OSError."""
    url = export.path.rstrip("/")
    if not export.is_remote:
        return []
    beside = [stats_path(url)] if stats else []
    if export.in_parts:
        return beside
    if export.is_folder:
        return [*folder_objects(export), *beside]
    if not export.shard_size:
        return [url, *beside]
    folder, _, stem = stem_of(url, export.kind).rpartition("/")
    pieces = re.compile(rf"{re.escape(stem)}-\d+-of-\d+\.{re.escape(export.kind)}")
    there = open_store(folder).names_in()
    return [*(f"{folder}/{name}" for name in there if pieces.fullmatch(name)), *beside]


def statistics_objects(summary: StatSummary) -> list[str]:
    """URLs of the existing statistics files of this rank. Raises OSError."""
    if summary.export is None or not is_url(summary.export):
        return []
    name = re.compile(rf"[^/]+/[^/]+/{summary.rank:05d}\.json")
    url = summary.export.rstrip("/")
    return [f"{url}/{path}" for path in open_store(url).names() if name.fullmatch(path)]


def locks(outputs: RunOutputs, stats: Sequence[Stat]) -> dict[str, bool]:
    """Names of locks: exclusive (True) for outputs of the run, shared (False) for what contains them.

    A file, all numbered files of an export, and a folder of parts each have an exclusive lock. A file also shares the
    locks of the folders above it, and a file that is named like a numbered file the lock of those numbered files.
    """
    names: dict[str, bool] = {}
    exported = _locked_files(outputs.export, outputs.summary, stats)
    for path, kind in (*exported, *_locked_files_of(outputs.removed)):
        real = os.path.realpath(os.path.expanduser(path))
        names[_named(real, kind)] = True
        stem = _NUMBERED.sub("", real)
        if kind != "folder" and stem != real:
            names.setdefault(f"{stem}-*-of-*", False)
        shared = [real] if kind.startswith("statistics") else []
        for folder in (*shared, *Path(real).parents):
            names.setdefault(f"folder:{folder}", False)
    return names


def _named(path: str, kind: str) -> str:
    """The name of the lock for a path; kind: of `_locked_files`. A message is made of it."""
    names = {"file": path, "folder": f"folder:{path}", "numbered": f"{path}-*-of-*"}
    return names.get(kind, f"{kind} in {path}")


def _locked_files(export: ExportSettings, summary: StatSummary, stats: Sequence[Stat]) -> Iterator[tuple[str, str]]:
    """Paths, each with what it is: a file, a folder, the stem of numbered files, or the folder of files of statistics."""
    if summary.export is not None and not is_url(summary.export):
        yield summary.export, f"statistics files of rank {summary.rank}"
    if not export.is_local:
        return
    if export.in_parts or export.is_folder:
        yield export.path, "folder"
    elif export.shard_size:
        yield stem_of(export.path, export.kind), "numbered"
    else:
        yield export.path, "file"
    if stats:
        yield stats_path(export.path), "file"


def _locked_files_of(removed: ExportSettings | None) -> Iterator[tuple[str, str]]:
    if removed is not None and removed.is_local:
        yield removed.path, "folder" if removed.is_folder else "file"


def of_trace(stages: Sequence[CompiledStage], run_dir: RunDir) -> list[str]:
    """Patterns of the files of the trace."""
    return [pattern(path) for path in traced(stages, run_dir)]


def traced(stages: Sequence[CompiledStage], run_dir: RunDir) -> Iterator[Path]:
    """Trace files of all steps that may be traced."""
    seen: set[str] = set()
    for step, _ in listed(stages):
        for pairs in (False, True):
            yield run_dir.trace_file(step.name, step.index, step.name not in seen, pairs)
        seen.add(step.name)


def of_statistics(summary: StatSummary) -> list[str]:
    """Patterns of the statistics files of this rank."""
    if summary.export is None or is_url(summary.export):
        return []
    folder = glob.escape(os.path.abspath(summary.export))
    return [os.path.join(folder, "*", "*", f"{summary.rank:05d}.json")]


def own_database(path: Path, belongings: OwnedFiles) -> Path | None:
    """The path if it is free or holds any run's database, else None. Raises OutputError for a leftover WAL file."""
    wal = path.with_name(f"{path.name}.wal")
    if wal.exists():
        what = (
            f"{wal}: another program has written to the tables, and DuckDB would take that for a part of the new ones"
        )
        raise OutputError(f"{what}. Close that program, or remove the file")
    if belongings.has(path) or not path.is_file():
        return path
    try:
        with duckdb.connect(file_name(path), read_only=True) as con:
            con.execute("SELECT run_id, fingerprint FROM runs LIMIT 0").fetchall()
    except duckdb.Error:
        return None
    return path
