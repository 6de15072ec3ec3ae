"""SQL that reads the kept samples of a snapshot from its Parquet files, for any DuckDB."""

from __future__ import annotations

from collections.abc import Sequence

from refinery.compiler.templates import lit
from refinery.corpus.folder import CorpusFolder
from refinery.corpus.manifest import DataFile, Manifest


def query_of(manifest: Manifest, folder: CorpusFolder | None = None, since: int = 0) -> str:
    """SELECT of the kept samples: `_part`, `_row`, and their fields.

    folder: for absolute paths; None: below the current folder. since: only samples that later snapshots than this have added.
    """
    fields = [f"k.{_quoted(name)}" if kind else f"NULL AS {_quoted(name)}" for name, kind in manifest.columns.items()]
    columns = ", ".join(["k._part", "k._row", *fields])
    if not manifest.additions:
        nulls = [f"NULL::{kind or 'INTEGER'} AS {_quoted(name)}" for name, kind in manifest.columns.items()]
        return f"SELECT {', '.join(['NULL::INTEGER AS _part', 'NULL::BIGINT AS _row', *nulls])} LIMIT 0"
    kept = f"read_parquet({_files(manifest.additions, folder)}, union_by_name = true) AS k"
    later = f"\nWHERE k._snapshot > {since}" if since else ""
    if not manifest.retractions:
        return f"SELECT {columns}\nFROM {kept}{later}"
    gone = f"read_parquet({_files(manifest.retractions, folder)}) AS r"
    same = "r._part = k._part AND r._row = k._row AND r._snapshot > k._snapshot"
    return f"SELECT {columns}\nFROM {kept}\nANTI JOIN {gone}\nON {same}{later}"


def retracted_since(manifest: Manifest, folder: CorpusFolder, since: int) -> str:
    """SELECT of `_part` and `_row` of what later snapshots have retracted; "" if that is nothing."""
    files = [file for file in manifest.retractions if file.snapshot > since]
    return f"SELECT _part, _row FROM read_parquet({_files(files, folder)}) WHERE _snapshot > {since}" if files else ""


def outcomes_of(manifest: Manifest, folder: CorpusFolder) -> str:
    """SELECT of the outcome of every sample: `_part`, `_row`, `step`, `kept_part`, `kept_row`."""
    return latest_outcomes(_files(manifest.outcomes, folder) if manifest.outcomes else "")


def latest_outcomes(files: str) -> str:
    """SELECT of the last outcome of every sample in files. files: a list in SQL; "" for none."""
    if not files:
        names = "NULL::INTEGER AS step, NULL::INTEGER AS kept_part, NULL::BIGINT AS kept_row"
        return f"SELECT NULL::INTEGER AS _part, NULL::BIGINT AS _row, {names} LIMIT 0"
    last = "max_by({step: step, kept_part: kept_part, kept_row: kept_row}, _snapshot) AS o"
    latest = f"SELECT _part, _row, {last} FROM read_parquet({files}) GROUP BY _part, _row"
    return f"SELECT _part, _row, o.step, o.kept_part, o.kept_row FROM ({latest})"


def view_of(manifest: Manifest) -> str:
    """The file `kept.sql` of a snapshot."""
    return (
        f"-- The kept samples of snapshot {manifest.snapshot}: {manifest.counts.kept} rows. Run it in the folder of the corpus.\n"
        f"-- _part is the number of the add, _row that of the sample in it; ORDER BY _part, _row is the order of adds.\n"
        f"CREATE OR REPLACE VIEW kept AS\n{query_of(manifest)};\n"
    )


def _files(files: Sequence[DataFile], folder: CorpusFolder | None) -> str:
    paths = [file.path if folder is None else str(folder.path(file.path)) for file in files]
    return f"[{', '.join(map(lit, paths))}]"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
