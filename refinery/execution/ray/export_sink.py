"""The export of a run on a cluster: a folder of parts, one task for each part."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from refinery.common.field_profile import InputProfile
from refinery.execution.export_sink import Note
from refinery.execution.ray import export
from refinery.execution.ray.export import Listing
from refinery.io.json_columns import JsonColumns, mixed_note
from refinery.io.model import Written
from refinery.io.writers.shared_file import SharedFile
from refinery.results.stage_result import StageResult
from refinery.storage.store import Store
from refinery.storage.workplace import Workplace
from refinery.workers.executor import Executor


@dataclass(frozen=True)
class ExportForm:
    """Form of an export of parts. lines: samples are JSON lines. fingerprint: of the steps, for names of files."""

    kind: str
    lines: bool
    fingerprint: str


class ClusterExport:
    """A folder of parts at export_path; see ExportSink. form: of the parts.

    executor: returns the one of the cluster, once the run has joined it. note: gets notes for the user.
    """

    output: SharedFile | None = None

    def __init__(
        self, path: str, form: ExportForm, place: Workplace, store: Store, executor: Callable[[], Executor], note: Note
    ) -> None:
        """Raises OutputError if the folder has other files."""
        self._form, self._executor, self._note = form, executor, note
        self._folder = export.folder_of(path)
        self._listing = Listing(place, self._folder)
        export.check_folder(self._folder, self._listing, store)

    def begin(self, here: bool, note: Note | None) -> None:
        """Do nothing: each shard leaves a part."""

    def finish(self, last: StageResult) -> list[Written]:
        """Write the parts, one task for each. Raises OutputError."""
        kind, lines = self._form.kind, self._form.lines
        parts = export.names(self._form.fingerprint, kind, last.results)
        jobs = [(result.part, self._folder, name, kind, lines) for result, name in parts]
        self._listing.begin(name for _, name in parts)
        profile = self._profile([part for part, *_ in jobs]) if export.needs_profile(kind, lines) else ""
        answers = self._executor().map(export.export_part, jobs, (profile,))
        written = [Written(**json.loads(answer)) for answer in answers]
        export.publish(self._folder, self._listing, written)
        return written

    def _profile(self, parts: Sequence[str]) -> str:
        """Profile of the fields of all parts, found by one task for each, as JSON."""
        whole = InputProfile()
        for answer in self._executor().map(export.profile_part, [(part,) for part in parts]):
            whole.merge(InputProfile.of_plain(json.loads(answer)))
        if note := mixed_note(JsonColumns.of(whole), self._folder):
            self._note(note)
        return json.dumps(whole.plain())

    def stats(self) -> Written | None:
        """None: the tables have the statistics."""
        return None

    def close(self, failed: bool) -> None:
        """Reduce the list to parts that exist, if the run has failed."""
        if failed:
            export.correct(self._folder, self._listing)
