"""Publishes a snapshot: the files of a delta under the names and types that readers see, the manifest, and last the pointer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from refinery.common.connections import connect
from refinery.common.field_profile import InputProfile
from refinery.common.lazy import duckdb
from refinery.compiler.templates import lit
from refinery.corpus import manifest as manifests
from refinery.corpus.contents import contents_after
from refinery.corpus.engine import LINE, PART, ROW, Delta
from refinery.corpus.folder import CorpusFolder, sync_folder, write
from refinery.corpus.manifest import CorpusCounts, DataFile, Manifest
from refinery.corpus.view import view_of
from refinery.errors import ConservationError, DataError
from refinery.io.batch import LINE as BATCH_LINE
from refinery.io.field_scan import FieldScan
from refinery.io.json_columns import JsonColumns
from refinery.io.left_out import COLUMN
from refinery.kernels.core.arrow import texts

SNAPSHOT = "_snapshot"
_ROWS = 1 << 16


class TypeChange(Exception):
    """A field has values now that do not fit the type of its column, so all samples must be published anew."""


@dataclass(frozen=True)
class Columns:
    """Columns of published samples. types: of DuckDB by name; "" for fields that are always NULL. profile: of JSON lines."""

    types: dict[str, str]
    profile: dict[str, Any] | None


class Publication:
    """The unfinished folder of a snapshot."""

    def __init__(self, folder: CorpusFolder, number: int, last: Manifest | None) -> None:
        self.folder, self.number, self.last = folder, number, last
        self.target = folder.snapshot(number)
        self.unfinished = self.target.with_name(f".unfinished-{self.target.name}")
        shutil.rmtree(self.unfinished, ignore_errors=True)
        self.unfinished.mkdir(parents=True)

    def left_out(self, part: int, numbers: np.ndarray) -> str:
        """Write the numbers of withdrawn samples of a part; return the name of the file in the corpus."""
        name = f"withdrawn-{part:05d}.parquet"
        pq.write_table(pa.table({COLUMN: pa.array(numbers, pa.int64())}), self.unfinished / name, compression="zstd")
        return self.folder.name(self.target / name)

    def here(self, name: str) -> Path:
        """The present path of a file of this snapshot, by its name in the corpus."""
        return self.unfinished / Path(name).name

    def samples(self, delta: Delta, anew: bool) -> Columns:
        """Write the additions with their columns. anew: all samples are published. Raises TypeChange, DataError."""
        last = None if anew or self.last is None else self.last
        if not delta.additions:
            return self._as_before(delta)
        if delta.schema is not None:
            self._write("additions", delta.additions, "*")
            return Columns(self._types(list(delta.schema.names), last), None)
        profile = (
            InputProfile.of_plain(last.profile) if last is not None and last.profile is not None else InputProfile()
        )
        profile.merge(_profile(delta.additions))
        columns = JsonColumns.of(profile)
        self._write_lines(delta.additions, columns)
        return Columns(self._types(list(columns.structures), last), profile.plain())

    def _as_before(self, delta: Delta) -> Columns:
        if self.last is None:
            names = () if delta.schema is None else delta.schema.names
            return Columns(dict.fromkeys(names, ""), None)
        return Columns(self.last.columns, self.last.profile)

    def keys(self, name: str, files: Sequence[Path]) -> None:
        """Write retractions or outcomes."""
        if files:
            self._write(name, files, "*")

    def _write(self, name: str, files: Sequence[Path], columns: str) -> None:
        """Write files as one, in order of samples, with the number of the snapshot."""
        path = self.unfinished / f"{name}.parquet"
        with connect([self.unfinished, *{file.parent for file in files}]) as con:
            listed = ", ".join(lit(str(file)) for file in files)
            rows = f"SELECT {columns} FROM read_parquet([{listed}], union_by_name = true)"
            query = (
                f"SELECT {PART}::INTEGER AS {PART}, {ROW}::BIGINT AS {ROW}, {self.number}::INTEGER AS {SNAPSHOT}, "
                f"* EXCLUDE ({PART}, {ROW}) FROM ({rows}) ORDER BY {PART}, {ROW}"
            )
            con.execute(f"COPY ({query}) TO {lit(str(path))} (FORMAT parquet, COMPRESSION zstd)").fetchall()

    def _write_lines(self, files: Sequence[Path], columns: JsonColumns) -> None:
        """Write JSON lines as columns. Raises DataError for names that are no columns."""
        own = {PART, ROW, SNAPSHOT}
        _require_names(list(columns.structures), own)
        path = self.unfinished / "lines.parquet"
        shown = [field for field in columns.schema if field.type != pa.null()]
        schema = pa.schema([(PART, pa.int32()), (ROW, pa.int64()), *shown])
        with pq.ParquetWriter(path, schema, compression="zstd") as writer, duckdb.connect() as con:
            for file in files:
                for batch in pq.ParquetFile(file).iter_batches(_ROWS):
                    lines = pa.table({BATCH_LINE: batch.column(LINE)})
                    table = columns.table(con, lines)
                    arrays = [batch.column(PART).cast(pa.int32()), batch.column(ROW).cast(pa.int64())]
                    table = table.select([field.name for field in shown])
                    writer.write_table(pa.Table.from_arrays([*arrays, *table.columns], schema=schema))
        self._write("additions", [path], "*")
        path.unlink()

    def _types(self, names: list[str], last: Manifest | None) -> dict[str, str]:
        """Types of the columns, as DuckDB reads them. Raises TypeChange where one differs from that of the last snapshot."""
        _require_names(names, {PART, ROW, SNAPSHOT})
        path = self.unfinished / "additions.parquet"
        with connect([self.unfinished]) as con:
            rows = con.execute(f"DESCRIBE FROM read_parquet({lit(str(path))})").fetchall()
        present = {name: kind for name, kind, *_ in rows}
        was = {} if last is None else last.columns
        for name in names:
            if was.get(name) and name in present and present[name] != was[name]:
                raise TypeChange(f"{name} was {was[name]}, is {present[name]}")
        return {name: present.get(name) or was.get(name, "") for name in names}

    def publish(self, manifest: Manifest, state: Path | None) -> Manifest:
        """Check the counts, write manifest and view, and make the snapshot the current one. Raises ConservationError."""
        _require_conserved(manifest, self.last)
        write(self.unfinished / manifests.VIEW, view_of(manifest))
        write(self.unfinished / manifests.RECIPE, manifest.recipe)
        manifest = replace(manifest, contents=contents_after(manifest, self.last, self.here))
        write(self.unfinished / manifests.NAME, manifest.text())
        for file in self.unfinished.iterdir():
            _sync(file)
        sync_folder(self.unfinished)
        if state is not None and state.is_dir():
            self.folder.states.mkdir(exist_ok=True)
            os.replace(state, self.folder.state(self.number))
        os.replace(self.unfinished, self.target)
        sync_folder(self.folder.snapshots)
        self.folder.point(self.number)
        self.folder.tidy()
        return manifest

    def files(self, name: str, anew: bool = False) -> tuple[DataFile, ...]:
        """Files of additions, retractions or outcomes that a reader needs. anew: those of earlier snapshots are not."""
        earlier: tuple[DataFile, ...] = () if anew or self.last is None else getattr(self.last, name)
        path = self.unfinished / f"{name}.parquet"
        if not path.is_file():
            return earlier
        target = self.folder.name(self.target / path.name)
        return (*earlier, DataFile(target, self.rows(name), path.stat().st_size, self.number))

    def rows(self, name: str) -> int:
        """Rows of the file of this snapshot."""
        path = self.unfinished / f"{name}.parquet"
        return pq.read_metadata(path).num_rows if path.is_file() else 0


def _profile(files: Sequence[Path]) -> InputProfile:
    scan = FieldScan(None)
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(_ROWS, columns=[LINE]):
            scan.see(texts(batch.column(0)))
    return scan.profile()


def _require_names(names: Sequence[str], own: set[str]) -> None:
    lower = [name.lower() for name in names]
    if clash := [name for name in names if name.lower() in own]:
        raise DataError(
            f"field {clash[0]!r} has the name of a column of a corpus. Rename it: export_fields: {{{clash[0]}: other}}"
        )
    if len(set(lower)) < len(lower):
        twice = next(name for name in names if lower.count(name.lower()) > 1)
        raise DataError(
            f"fields named {twice!r} differ in letter case only, so they cannot be columns of a corpus. Choose one with export_fields"
        )


def _require_conserved(manifest: Manifest, last: Manifest | None) -> None:
    """Check that the samples of all parts, and those that are published, add up. Raises ConservationError."""
    counts = manifest.counts
    rows, withdrawn = sum(part.rows for part in manifest.parts), sum(part.withdrawn for part in manifest.parts)
    total = counts.kept + counts.removed + counts.quarantined + counts.withdrawn
    if not rows == counts.rows == total or withdrawn != counts.withdrawn:
        raise ConservationError(
            f"{rows:,} samples were added, but {counts.kept:,} kept + {counts.removed:,} removed + "
            f"{counts.quarantined:,} quarantined + {counts.withdrawn:,} withdrawn are {total:,}"
        )
    before = 0 if last is None else last.counts.kept
    if before + manifest.added - manifest.retracted != counts.kept:
        raise ConservationError(
            f"{before:,} samples were kept; with {manifest.added:,} additions and {manifest.retracted:,} retractions "
            f"there are not {counts.kept:,}"
        )


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def counts_of(delta: Delta, rows: int, withdrawn: int) -> CorpusCounts:
    """Counts of the corpus after a change."""
    return CorpusCounts(rows, delta.counts.kept, delta.counts.removed, delta.counts.quarantined, withdrawn)
