"""Export of a recipe: its place and its form."""

from __future__ import annotations

from dataclasses import dataclass

from refinery.common.fields import NamedFields
from refinery.io.writers.registry import WITHOUT_FILE
from refinery.storage.urls import is_stdout, is_url


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
