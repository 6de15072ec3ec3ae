"""The export as a folder of parts, each written by one task; a list names the parts of the current export.

No part is renamed or written twice: a part gets its name when it is complete, the list is written last, and parts that
only an earlier list names are removed after that. So a reader of the list always finds one export. The list is in the
run's own folder, so that the export's folder has only data. It also names parts that were begun, so that the next run
knows every part of a killed run. Parts of the same name have the same contents.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from refinery.common.field_profile import InputProfile
from refinery.errors import OutputError
from refinery.io.model import Written
from refinery.io.writers.export import export
from refinery.io.writers.registry import WRITERS, writer_of
from refinery.io.writers.write import writing
from refinery.storage.object_versions import version_of
from refinery.storage.objects import info_of
from refinery.storage.open import open_store
from refinery.storage.store import Store
from refinery.storage.urls import is_url
from refinery.storage.workplace import Workplace
from refinery.workers.done_marks import key_of
from refinery.workers.executor import TaskPlace
from refinery.workers.worker import ShardResult

_SUFFIXES = {writer.part_suffix for writer in WRITERS if writer.writes}
_PART = re.compile(rf"[0-9a-f]{{16}}_[0-9]{{6,}}[.]({'|'.join(sorted(map(re.escape, _SUFFIXES)))})")


def names(steps: str, kind: str, results: Sequence[ShardResult]) -> list[tuple[ShardResult, str]]:
    """The shards that have samples left, with their files: `<id>_000000.json` and on, in the order of the samples.

    steps: a digest of the steps. The id also depends on the keys of the shards.
    """
    mark = key_of([steps, kind, [result.key for result in results]])[:16]
    full = [result for result in results if result.kept and result.part]
    width = max(6, len(str(len(full))))
    return [(result, f"{mark}_{number:0{width}}.{writer_of(kind).part_suffix}") for number, result in enumerate(full)]


def folder_of(export_path: str) -> str:
    """The folder of the export, or its URL without a slash at its end."""
    return export_path.rstrip("/") if is_url(export_path) else os.path.expanduser(export_path)


def needs_profile(kind: str, lines: bool) -> bool:
    """Return whether the columns of each part depend on the samples of all parts."""
    return lines and writer_of(kind).layout == "columns"


def profile_part(place: TaskPlace, part: str) -> str:
    """Profile of the fields of a part, as JSON; runs on the cluster. place: its store has the part."""
    from refinery.io.writers.tables import profile_of_part

    return json.dumps(profile_of_part(str(open_store(place.store).fetch(part)))[0].plain())


def export_part(place: TaskPlace, profile: str, part: str, folder: str, name: str, kind: str, lines: bool) -> str:
    """Write a part under its name into the folder; runs on the cluster. Returns `Written` as JSON.

    place: its store has the part. profile: of the fields of all parts, as JSON; "" where the columns do not depend on it.
    """
    files = [str(open_store(place.store).fetch(part))]
    lasting = writer_of(kind).part_name
    whole = partial(InputProfile.of_plain, json.loads(profile)) if profile else None
    put = partial(export, files, kind=lasting, lines=lines, in_parallel=False, profile=whole, whole=True)
    if not is_url(folder):
        [written] = put(export_path=os.path.join(folder, name))
        return json.dumps(asdict(written))
    target, url = open_store(folder), f"{folder}/{name}"
    with writing(url):
        aside = target.scratch() / name
        [written] = put(export_path=str(aside))
        target.publish(aside, name)
    return json.dumps(asdict(written) | {"path": url, "version": version_of(info_of(url), url)})


def check_folder(folder: str, listing: Listing, store: Store) -> None:
    """Check that parts can be written to a folder.

    store: of the run's own parts, which cannot be in the same folder. Raises OutputError if the folder is a file, or has
    files that no run of this work_dir has written.
    """
    if not is_url(folder) and os.path.realpath(folder) == os.path.realpath(store.url):
        raise OutputError(f"{folder}: the run keeps files of its shards here. Choose another export_path")
    if not is_url(folder) and os.path.exists(folder) and not os.path.isdir(folder):
        raise OutputError(f"{folder}: is a file; with executor_type: ray the export is a folder of parts. Remove it")
    strange = sorted(name for name in _there(folder) - listing.ours if not name.startswith("."))
    parts = [name for name in strange if _PART.fullmatch(name)]
    if parts:
        what = f"{folder}: holds {parts[0]!r}, which is of a run with another work_dir"
        raise OutputError(f"{what}. Parts would be read together with it: choose an empty folder, or remove it")
    if strange and not listing.files:
        what = f"{folder}: holds {strange[0]!r}, which is no part of an export"
        raise OutputError(f"{what}. Parts would be read together with it: choose an empty folder")


def publish(folder: str, listing: Listing, written: Sequence[Written]) -> None:
    """List the parts of the export, and remove all other parts that runs of this work_dir have written."""
    files = [{"name": os.path.basename(item.path), "rows": item.rows, "bytes": item.bytes} for item in written]
    with writing(folder):
        _remove(folder, listing, listing.publish(files))
        listing.end()


def correct(folder: str, listing: Listing) -> None:
    """Reduce the list to existing parts, after parts of an export were removed or not finished."""
    if not listing.ours:
        return
    there = _there(folder)
    _remove(folder, listing, listing.publish([item for item in listing.files if item["name"] in there]))
    listing.end()


def _remove(folder: str, listing: Listing, names: Sequence[str]) -> None:
    """Remove parts of this work_dir's runs, and all temporary files of writing: no task writes parts any more."""
    place = open_store(folder)
    for name in (*filter(_PART.fullmatch, names), MARKER):
        place.discard(name)
    if is_url(folder):
        place.tidy()
        return
    for name in {*names, *listing.names}:
        for old in Path(folder).glob(f".{glob.escape(name)}.*.tmp"):
            old.unlink(missing_ok=True)
    for scratch in Path(folder).glob(".refinery-*-*"):
        shutil.rmtree(scratch, ignore_errors=True)


def _there(folder: str) -> set[str]:
    if is_url(folder):
        return set(open_store(folder).names_in())
    return {path.name for path in Path(folder).iterdir()} if os.path.isdir(folder) else set()


# File that refinery 0.1.0 left among the parts.
MARKER = ".refinery-export"


class Listing:
    """Files that runs of one work_dir have written to one folder: the parts of the export, and others.

    files: name, rows and bytes of each part of the export. begun: names that a run has begun to write or to remove.
    """

    def __init__(self, place: Workplace, folder: str) -> None:
        self._store, self._name = place.own(), place.run_dir.exported.name
        self._folder = _seen_from(str(place.run_dir.root), folder) if not place.url else folder
        listed = self._all().get(self._folder) or {"files": _before(folder), "begun": []}
        self.files: list[dict[str, Any]] = listed["files"]
        self.begun: list[str] = listed["begun"]

    @property
    def names(self) -> list[str]:
        """Names of the export's parts."""
        return [item["name"] for item in self.files]

    @property
    def ours(self) -> set[str]:
        """Names of all files that runs of this work_dir have written or may have written."""
        return {*self.names, *self.begun}

    def begin(self, names: Iterable[str]) -> None:
        """Record names before the parts are written."""
        self._write(self.files, sorted({*self.begun, *names}))

    def publish(self, files: Sequence[dict[str, Any]]) -> list[str]:
        """Record a new export; return the names of all other parts, which must be removed before `end`."""
        stale = sorted(self.ours - {item["name"] for item in files})
        self._write(list(files), stale)
        return stale

    def end(self) -> None:
        """Record that no parts are left except the export."""
        self._write(self.files, [])

    def _write(self, files: list[dict[str, Any]], begun: list[str]) -> None:
        self.files, self.begun = files, begun
        folders = self._all() | {self._folder: {"files": files, "begun": begun}}
        text = json.dumps({name: one for name, one in folders.items() if one["files"] or one["begun"]}, indent=2)
        self._store.write_text(self._name, text + "\n")
        self._store.tidy()

    def _all(self) -> dict[str, Any]:
        """The lists of all folders that runs of this work_dir have exported to."""
        try:
            folders = json.loads(self._store.read_text(self._name))
            return {
                str(folder): {"files": _files(one["files"]), "begun": list(one["begun"])}
                for folder, one in folders.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}


def _files(items: Any) -> list[dict[str, Any]]:
    return [{"name": str(item["name"]), "rows": int(item["rows"]), "bytes": int(item["bytes"])} for item in items]


def _seen_from(root: str, folder: str) -> str:
    """The folder relative to the run folder, because both may be moved together."""
    return folder if is_url(folder) else os.path.relpath(os.path.realpath(folder), os.path.realpath(root))


def _before(folder: str) -> list[dict[str, Any]]:
    """Parts that a marker file of refinery 0.1.0 names."""
    try:
        return _files(json.loads(open_store(folder).read_text(MARKER))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return []
