"""The list of an export's parts, in the run's own folder, so that the export's folder has only data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from refinery.storage.open import open_store
from refinery.storage.urls import is_url
from refinery.storage.workplace import Workplace

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
