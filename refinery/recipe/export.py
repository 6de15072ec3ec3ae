"""Export of a recipe: its place and its form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refinery.common.fields import NamedFields, keys_of
from refinery.io.writers.registry import DEFAULT, WITHOUT_FILE, suffix_of
from refinery.recipe.executors import on_cluster
from refinery.storage.urls import is_stdout, is_url


@dataclass(frozen=True)
class PartForm:
    """Form of the samples that shards leave. kind: format of the export. fields: those that are exported.

    compression: of texts between stages. suffix: exported samples have the suffix of their file. removed: those that
    steps remove are left, too.
    """

    kind: str
    fields: NamedFields
    compression: str | None
    suffix: bool
    removed: bool


@dataclass(frozen=True)
class ExportSettings:
    """Place and form of the samples that a run exports.

    path: a file, a folder, a URL or standard output. kind: format, see `writers.registry`. shard_size: most bytes of one
    of several numbered files; 0 for one file. in_parts: workers of a cluster write a folder of parts. by: names of folders, of
    which there are at most `most_folders`. by_field: those of `by` that are fields, so that tables in the folders lack them.
    fields: those that are exported, with new names; () for all. in_parallel: several files are written at once.
    """

    path: str
    kind: str
    shard_size: int
    in_parts: bool
    by: tuple[str, ...] = ()
    is_file: bool = True
    by_field: tuple[str, ...] = ()
    most_folders: int = 0
    fields: NamedFields = ()
    in_parallel: bool = False

    @staticmethod
    def of(recipe: Any) -> ExportSettings:
        """The export of a recipe."""
        by = tuple(name for name, _ in recipe.partition_by)
        return ExportSettings(
            recipe.export_path,
            recipe.export_format,
            recipe.export_shard_size,
            in_parts=on_cluster(recipe.executor_type) and not by,
            by=by,
            by_field=tuple(name for name, sql in recipe.partition_by if name == sql),
            most_folders=recipe.max_partitions,
            fields=recipe.export_fields,
            in_parallel=recipe.export_in_parallel,
        )

    @staticmethod
    def of_removed(recipe: Any) -> ExportSettings:
        """The files of removed samples of a recipe that has `removed_path`."""
        path = str(recipe.removed_path)
        named, by = suffix_of(path), recipe.removed_partition_by
        kind = named or (recipe.export_format if recipe.exports else DEFAULT)
        by = by if by is not None else () if named else ("step",)
        return ExportSettings(
            path,
            kind,
            shard_size=0,
            in_parts=False,
            by=by,
            is_file=bool(named) and not by,
            by_field=tuple(name for name in by if name != "step" and len(keys_of(name)) == 1),
            most_folders=recipe.max_partitions,
        )

    @property
    def is_folder(self) -> bool:
        """True if `path` is a folder with files of values' names, written at the end of the run."""
        return bool(self.by) or not self.is_file

    @property
    def is_written(self) -> bool:
        """False if the recipe asks for tables alone."""
        return self.kind not in WITHOUT_FILE

    @property
    def is_local(self) -> bool:
        """True for files of this machine, or of a folder that all machines of a cluster share."""
        return self.is_written and not is_url(self.path) and not is_stdout(self.path)

    @property
    def is_remote(self) -> bool:
        """True for objects at a URL."""
        return self.is_written and is_url(self.path)
