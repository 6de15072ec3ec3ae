"""Files in folders named by values of their samples: a partitioned export, and the removed samples."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from refinery.common.field_profile import InputProfile
from refinery.common.fields import OTHERS
from refinery.common.lazy import pc, pq
from refinery.errors import OutputError
from refinery.execution.export_sink import Note
from refinery.io.batch import LINE
from refinery.io.model import Written
from refinery.io.writers.export import export
from refinery.io.writers.export_files import put
from refinery.io.writers.field_choice import FieldChoice
from refinery.io.writers.partitions import PartitionParts, numbered_folders, profile_of_files
from refinery.io.writers.registry import writer_of
from refinery.io.writers.shared_file import SharedFile
from refinery.io.writers.tables import tables_of_part
from refinery.io.writers.temp_files import scratch_in
from refinery.io.writers.tidy import tidy
from refinery.io.writers.write import writing
from refinery.kernels.core.arrow import ints, numbers, strings, texts, whole
from refinery.recipe.export import ExportSettings
from refinery.results.stage_result import StageResult
from refinery.workers.tasks import ShardResult


class FolderExport:
    """The export in folders named by values of its samples; see ExportSink. The driver writes them from the shards' parts.

    target: the folder on this machine. lines: samples are JSON lines. note: gets notes for the user.
    """

    output: SharedFile | None = None

    def __init__(self, settings: ExportSettings, target: str, lines: bool, note: Note) -> None:
        self._settings, self._target, self._lines, self._note = settings, target, lines, note

    def begin(self, here: bool, note: Note | None) -> None:
        """Do nothing: each shard leaves a part."""

    def finish(self, last: StageResult) -> list[Written]:
        """Write the files. Raises OutputError."""
        with folder_parts(self._settings, self._target, self._lines, self._note, "partition_by") as files:
            for result in last.results:
                for table, values in self._samples(last, result):
                    files.add(table, values, self._settings.by)
            return files.write("part")

    def _samples(self, last: StageResult, result: ShardResult) -> Iterator[tuple[pa.Table, list[pa.ChunkedArray]]]:
        """The samples of a shard's part, with the values that name their folders."""
        if not result.part or last.store is None:
            return
        columns, repeats = [*last.program.partition], [*last.program.repeats]
        facts = pq.read_table(last.store.fetch(result.facts), columns=["_dropped", *columns, *repeats])
        kept, at = facts.filter(pc.is_null(facts["_dropped"])), 0
        for name in repeats:
            kept = kept.take(ints(np.repeat(np.arange(len(kept)), numbers(whole(kept[name])).astype(np.int64))))
        for table in tables_of_part(str(last.store.fetch(result.part)), self._lines):
            values = kept.slice(at, len(table))
            yield table, [values[column] for column in columns]
            at += len(table)

    def stats(self) -> Written | None:
        """None: the tables have the statistics."""
        return None

    def close(self, failed: bool) -> None:
        """Do nothing."""


class FolderFiles:
    """Samples that are written to files in folders; use `folder_parts`."""

    def __init__(
        self,
        settings: ExportSettings,
        target: str,
        parts: PartitionParts,
        note: Note,
        known: InputProfile | None,
    ) -> None:
        self._settings, self._target, self._parts, self._note, self._known = settings, target, parts, note, known
        of_columns = writer_of(settings.kind).layout == "columns"
        # In a table, a column with the folders' values would be there twice for readers of hive partitions.
        fields = ((OTHERS, OTHERS), *((name, None) for name in settings.by_field))
        self._choice = FieldChoice(fields) if settings.by_field and of_columns else None

    def add(self, table: pa.Table, values: Sequence[pa.Array | pa.ChunkedArray], names: Sequence[str]) -> None:
        """Add samples. values: for each name a column of texts. Raises OutputError."""
        try:
            if names:
                folders, known = numbered_folders(values, names)
            else:
                folders, known = pa.repeat(0, len(table)).to_numpy(), [""]
        except ValueError as error:
            raise OutputError(f"{self._parts.what}: {error}. Partition by an expression with shorter values") from None
        self._parts.add(self._chosen(table), folders, known)

    def _chosen(self, table: pa.Table) -> pa.Table:
        if self._choice is None:
            return table
        if not self._parts.lines:
            return self._choice.of_table(table)
        view = texts(table[LINE])
        data, offsets = self._choice.of_lines((view.data, view.offsets))
        return pa.table({LINE: strings(data, offsets, view.valid)})

    def write(self, stem: str) -> list[Written]:
        """Write the files of all folders; if one fails, remove all. stem: of their names. Raises OutputError."""
        written: list[Written] = []
        files = list(self._parts.files())
        if not files and not self._settings.by:
            files = [("", [])]
        profile = self._profile([path for _, paths in files for path in paths])
        try:
            for folder, paths in files:
                target = self._target
                if not (self._settings.is_file and not self._settings.by):
                    target = os.path.join(target, folder, f"{stem}.{self._settings.kind}")
                rows = self._parts.rows.get(folder, 0)
                written += self._files(target, paths, rows, profile)
        except BaseException:
            for item in written:
                with suppress(OSError):
                    os.unlink(item.path)
            raise
        return written

    def _files(
        self, target: str, paths: list[str], rows: int, profile: Callable[[], InputProfile] | None
    ) -> list[Written]:
        settings, lines = self._settings, self._parts.lines
        if lines and writer_of(settings.kind).plain_lines and not settings.shard_size and len(paths) == 1:
            tidy(target)
            return [put(target, partial(_moved, paths[0], rows))]
        options = settings.kind, settings.shard_size, lines, settings.in_parallel
        return export(paths, target, *options, profile=profile, whole=True, note=self._note)

    def _profile(self, paths: Sequence[str]) -> Callable[[], InputProfile] | None:
        """Profile of the samples of all folders, where lines become columns: the files then have the same ones."""
        if not self._parts.lines or writer_of(self._settings.kind).layout != "columns":
            return None
        whole = profile_of_files(paths)
        if self._known is not None:
            whole.merge(self._known)
        return lambda: whole


def _moved(source: str, rows: int, aside: str) -> int:
    os.replace(source, aside)
    return rows


@contextmanager
def folder_parts(
    settings: ExportSettings,
    target: str,
    lines: bool,
    note: Note,
    what: str,
    known: InputProfile | None = None,
) -> Iterator[FolderFiles]:
    """Collect samples for files in folders. target: on this machine. lines: samples are JSON lines. note: gets notes for the user.

    what: the key of the recipe, for messages. known: values that fields of JSON lines may have, besides those that are there. Raises
    OutputError.
    """
    folder = os.path.dirname(os.path.abspath(target)) if settings.is_file and not settings.by else target
    with writing(folder):
        os.makedirs(folder, exist_ok=True)
        tidy(os.path.join(folder, "part"))
    with scratch_in(folder) as scratch:
        parts = PartitionParts(Path(scratch), lines, settings.most_folders, what)
        yield FolderFiles(settings, target, parts, note, known)
