"""The export of a refiltered run: copied from the old export where that has all samples, else written as in any run."""

from __future__ import annotations

from refinery.execution.export_sink import ExportSink, Note
from refinery.inspect.refilter.stored_run_facts import StoredRunFacts
from refinery.io.model import Written
from refinery.io.writers.shared_file import SharedFile
from refinery.results.stage_result import StageResult


class CopiedExport:
    """See ExportSink. target: the file on this machine. written: the export where samples run again."""

    def __init__(self, facts: StoredRunFacts, target: str, written: ExportSink) -> None:
        self._facts, self._target, self._written = facts, target, written
        self._stats: Written | None = None

    @property
    def output(self) -> SharedFile | None:
        """The file that shards write together, where samples run again."""
        return self._written.output

    def begin(self, here: bool, note: Note | None) -> None:
        """Begin where samples run again."""
        self._written.begin(here, note)

    def finish(self, last: StageResult) -> list[Written]:
        """Copy the lines of the samples that stay, or write the export."""
        selection, patched = self._facts.selection, self._facts.tables
        if selection is None or patched is None:
            return self._written.finish(last)
        files, self._stats = selection.write(patched.changes, self._target)
        return files

    def stats(self) -> Written | None:
        """The file of the samples' statistics, if it was copied with the export."""
        return self._stats

    def close(self, failed: bool) -> None:
        """Release the files."""
        self._written.close(failed)
