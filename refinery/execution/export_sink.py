"""Export sinks: where the samples of the last stage go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from refinery.common.field_profile import InputProfile
from refinery.io.field_scan import profile_of_all
from refinery.io.model import Shard, Written
from refinery.io.writers.export import export
from refinery.io.writers.field_choice import FieldChoice
from refinery.io.writers.shared_file import SharedFile, share
from refinery.recipe.export import ExportSettings
from refinery.results.stage_result import StageResult

Note = Callable[[str], None]


class ExportSink(Protocol):
    """The export of a run. `begin` comes before the shards of the last stage, `finish` after them."""

    @property
    def output(self) -> SharedFile | None:
        """The file that shards write together; None: each leaves a part."""

    def begin(self, here: bool, note: Note | None) -> None:
        """Begin. here: the shards run in this process. note: stores the record that another attempt needs."""

    def finish(self, last: StageResult) -> list[Written]:
        """Write the export, or complete it; return its files. Raises OutputError."""

    def stats(self) -> Written | None:
        """The file of the exported samples' statistics, if `finish` has written it; None: still to be written."""

    def close(self, failed: bool) -> None:
        """Release the files. failed: the run has failed."""


class NoExport:
    """No export: samples of the last stage stay where they are left, if they are left at all."""

    output: SharedFile | None = None

    def begin(self, here: bool, note: Note | None) -> None:
        """Do nothing."""

    def finish(self, last: StageResult) -> list[Written]:
        """No files."""
        return []

    def stats(self) -> Written | None:
        """No file."""
        return None

    def close(self, failed: bool) -> None:
        """Do nothing."""


class FileExport:
    """Files at the recipe's export_path: one that threads write together, or parts that are put together.

    target: the file on this machine. lines: samples are JSON lines. aside: folder for bytes of shards that do not fit memory until their turn comes. shards: of the input, whose fields
    are the columns of a table without samples. note: gets notes for the user.
    """

    def __init__(
        self, settings: ExportSettings, target: str, lines: bool, aside: Path, shards: Sequence[Shard], note: Note
    ) -> None:
        self._settings, self._target, self._lines = settings, target, lines
        self._aside, self._shards, self._note = aside, shards, note
        self.output: SharedFile | None = None

    def begin(self, here: bool, note: Note | None) -> None:
        """Open the file for shards of this process, where the format allows that they write it together."""
        if here:
            options = self._settings.kind, self._settings.shard_size, self._lines
            self.output = share(self._target, *options, self._aside, note)

    def finish(self, last: StageResult) -> list[Written]:
        """Complete the file, or put the parts together."""
        if self.output is not None:
            return self.output.finish()
        settings, parts = self._settings, last.files("part")
        options = settings.kind, settings.shard_size, self._lines, settings.in_parallel
        return export(parts, self._target, *options, profile=self._profile, note=self._note)

    def _profile(self) -> InputProfile:
        """Profile of the exported fields of the input."""
        profile, fields = profile_of_all(self._shards), self._settings.fields
        return FieldChoice(fields).of_profile(profile) if fields else profile

    def stats(self) -> Written | None:
        """None: the tables have the statistics."""
        return None

    def close(self, failed: bool) -> None:
        """Close the file that shards write."""
        if self.output is not None:
            self.output.close()
