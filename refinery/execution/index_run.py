"""The run as its indexes know it: the export that it replaces, and the contents of its inputs."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from refinery.common.digest import digest_of_file
from refinery.dedup.index import Index
from refinery.dedup.index_runs import IndexRun
from refinery.io.model import Source
from refinery.recipe.export import ExportSettings
from refinery.recipe.model import Step
from refinery.results import targets
from refinery.storage.open import open_store
from refinery.storage.urls import is_stdout, is_url, real_place
from refinery.storage.workplace import Workplace

# Files up to this size are read whole for the digest of the inputs; of larger ones three pieces of this size.
_PIECE = 1 << 20


@dataclass(frozen=True)
class RunNote:
    """Record in the run folder for indexes.

    folder: id of the run folder. export: of a run that has not ended; "" if the last one has. replaces: that run has found
    an earlier export in its place, which may be gone since.
    """

    folder: str
    export: str = ""
    replaces: bool = False


def uses_index(steps: Sequence[Step]) -> bool:
    """Return whether a step has an index."""
    return any(step.params.get("index") for step in steps)


def begin(place: Workplace, settings: ExportSettings, clustered: bool, sources: Sequence[Source]) -> IndexRun:
    """The run as its indexes know it; until `end`, its attempts are known by what the first of them has found.

    clustered: workers of a cluster write the export. sources: of the input.
    """
    note, export = _read(place), export_of(place, settings)
    replaces = note.replaces if note.export == export else is_there(place, settings, clustered)
    _write(place, RunNote(note.folder, export, replaces))
    folder = real_place(place.name)
    below = export if is_url(export) or is_url(folder) else os.path.relpath(export, folder)
    return IndexRun(export, socket.gethostname(), note.folder, below, contents_of(sources), replaces)


def end(place: Workplace) -> None:
    """Note that the run has published its export, and its indexes list it."""
    _write(place, RunNote(_read(place).folder))


def notes(index: Index, export: str) -> list[str]:
    """Notes about generations of the run's own export: those that it replaces, and those that count."""
    run = index.run
    if run is None:
        return []
    replaced = [item for item in index.own if item.get("inputs") != run.inputs or not run.inputs]
    moved = run.elsewhere(index.listed)
    texts = [f"the samples of run {item['run_id']} are replaced together with its export {export}" for item in replaced]
    texts += [
        f"the export of run {item['run_id']} is not at {export} any more; its samples count as kept elsewhere"
        for item in moved
    ]
    return [f"index {index.place.name}: {text}" for text in texts]


def export_of(place: Workplace, export: ExportSettings) -> str:
    """The place of what a run publishes: its export, or the run folder for a run without files of an export."""
    if not export.is_written or is_stdout(export.path):
        return real_place(place.name)
    return real_place(export.path.rstrip("/") if is_url(export.path) else export.path)


def is_there(place: Workplace, export: ExportSettings, clustered: bool) -> bool:
    """Return whether an earlier export is at its place. Raises OSError."""
    if not export.is_written:
        return place.run_dir.database.is_file()
    if is_stdout(export.path):
        return False
    if clustered:
        return any(not name.startswith(".") for name in _names_in(os.path.expanduser(export.path)))
    if is_url(export.path):
        return any(_exists(url) for url in targets.of_objects(export, ()))
    return any(glob.glob(one) for one in targets.of_export(export, ()))


def _names_in(folder: str) -> list[str]:
    if is_url(folder):
        return open_store(folder.rstrip("/")).names_in()
    return os.listdir(folder) if os.path.isdir(folder) else []


def _exists(url: str) -> bool:
    folder, _, name = url.rpartition("/")
    return open_store(folder).exists(name)


def contents_of(sources: Sequence[Source]) -> str:
    """A digest of the inputs' contents, in any order and under any names; "" for samples in memory.

    Two contents may have the same one: it decides only which additions do not count.
    """
    if any(source.table is not None for source in sources):
        return ""
    contents = sorted(json.dumps([source.format, source.size, _content_of(source)]) for source in sources)
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()[:32]


def _content_of(source: Source) -> Any:
    if is_url(source.path):
        return source.version
    size = os.path.getsize(source.path)
    starts = [0] if size <= _PIECE else [0, size // 2, size - _PIECE]
    return [digest_of_file(source.path, start, min(size, start + _PIECE)).hexdigest() for start in starts]


def _read(place: Workplace) -> RunNote:
    try:
        plain = json.loads(place.own().read_text(place.run_dir.indexed.name))
        return RunNote(str(plain["folder"]), str(plain["export"]), bool(plain["replaces"]))
    except (OSError, ValueError, TypeError, KeyError):
        return RunNote(uuid4().hex)


def _write(place: Workplace, note: RunNote) -> None:
    own = place.own()
    text = {"folder": note.folder, "export": note.export, "replaces": note.replaces}
    own.write_text(place.run_dir.indexed.name, json.dumps(text))
    own.tidy()
