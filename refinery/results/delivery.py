"""Delivery of an export to a URL: written locally, uploaded whole or not at all once the tables account for it."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from refinery.common.redaction import hide
from refinery.errors import DataError, OutputError
from refinery.io.model import Written
from refinery.io.writers.write import writing
from refinery.storage.holdings import OwnedObjects
from refinery.storage.object_versions import version_of
from refinery.storage.objects import info_of
from refinery.storage.open import open_store
from refinery.storage.urls import is_url

# File beside the export's local files that lists the delivered ones.
_NOTE = "delivered.json"

State = tuple[int, int | str]


class Delivery:
    """Delivers the files of an export; files of a local export path are in place already."""

    def __init__(self, export_path: str, holdings: OwnedObjects, local: str = "") -> None:
        """holdings: the list of objects that runs have put. local: the folder on this machine of an export in folders."""
        self._local = os.path.abspath(local) if local else ""
        self.url = export_path.rstrip("/") if is_url(export_path) else ""
        self.folder = self.url.rpartition("/")[0]
        self._holdings = holdings
        self._put: list[str] = []
        self._all: list[str] = []

    def put(self, written: Sequence[Written], keep: bool) -> list[Written]:
        """Put files into the folder of the export, each under its name; returns them as delivered. Raises OutputError.

        keep: leave the local files in place, for the next run.
        """
        urls = [self._at(item) for item in written if not is_url(item.path)] if self.url else []
        if not urls:
            return list(written)
        self._holdings.begin(self.url, urls)
        delivered = [item if is_url(item.path) else self._one(item, keep) for item in written]
        self._holdings.note(self.url, urls)
        self._all += urls
        return delivered

    def _at(self, item: Written) -> str:
        if self._local and os.path.abspath(item.path).startswith(self._local + os.sep):
            return f"{self.url}/{Path(os.path.relpath(item.path, self._local)).as_posix()}"
        return f"{self.folder}/{Path(item.path).name}"

    def end(self) -> None:
        """Remove objects of earlier runs of the same export that are no longer part of it. Raises OSError."""
        if self.url:
            self._holdings.keep(self.url, self._all)

    def _one(self, item: Written, keep: bool) -> Written:
        local = Path(item.path)
        url = self._at(item)
        before = _noted(local)
        there = before if before and before == _state_or_none(url) else None
        if there is None:
            with writing(url):
                place = open_store(self.folder)
                name = url.removeprefix(f"{self.folder}/")
                self._put.append(name)
                place.put(local, name)
                there = state_of(url)
            if there[0] != item.bytes:
                raise OutputError(f"{url}: has {there[0]} bytes where {item.bytes} were put. Run it again")
        if keep:
            _note(local, there)
        else:
            local.unlink(missing_ok=True)
        return replace(item, path=url, version=str(there[1]))

    def take_back(self, others: Sequence[Written] = ()) -> None:
        """Remove the objects that were put, and the files `others`: no tables account for them."""
        urls = [f"{self.folder}/{name}" for name in self._put] + [item.path for item in others if is_url(item.path)]
        for url in urls:
            folder, _, name = url.rpartition("/")
            with suppress(OSError):  # the earlier error is the one to report
                open_store(folder).discard(name)
        with suppress(OSError):
            self._holdings.forget(urls if self.url else ())
        for item in others:
            if not is_url(item.path):
                Path(item.path).unlink(missing_ok=True)


def state_of(path: str) -> State:
    """Size of a file, and its time of change (ns) or the object's version. Raises OSError."""
    if not is_url(path):
        stat = os.stat(path)
        return stat.st_size, stat.st_mtime_ns
    try:
        info = info_of(path)
    except DataError as error:
        raise OSError(str(error)) from error
    return int(info.get("size") or 0), version_of(info, path)


def is_as_left(item: dict[str, Any]) -> bool:
    """Return whether an exported file of a manifest has its size, and its time or version, of the end of the run."""
    try:
        return state_of(item["path"]) == (item["bytes"], item.get("modified"))
    except OSError:
        return False


def not_as_left(manifest: dict[str, Any]) -> list[str]:
    """A line for each local exported file that has changed since the run."""
    changed_files = []
    for item in manifest["outputs"]:
        path = item["path"]
        if not is_url(path) and not is_as_left(item):
            changed_files.append(
                f"{path} has changed since this run wrote it: another run or program has replaced or removed the file"
            )
    return changed_files


def why_not(export_path: str, folder: bool) -> str | None:
    """Reason why a test object cannot be put at a URL; None if it can. folder: parts go below the URL."""
    url = export_path.rstrip("/")
    above = url if folder else url.rpartition("/")[0]
    name = f".refinery-{secrets.token_hex(8)}"
    try:
        place = open_store(above)
        place.write_text(name, "")
        with suppress(OSError):  # permission to put objects need not include removing them
            place.discard(name)
    except DataError as error:
        return f"{export_path}: cannot be written: {error}"
    except FileNotFoundError:
        return f"{export_path}: cannot be written: there is no such bucket or folder. Make it first"
    except OSError as error:
        reason = hide(str(error.strerror or error))
        cure = "The driver takes credentials from the environment"
        return f"{export_path}: cannot be written: {reason}. {cure}"
    return None


def _state_or_none(url: str) -> State | None:
    try:
        return state_of(url)
    except OSError:
        return None


def _noted(local: Path) -> State | None:
    """State of the delivered copy of a local file that is unchanged since its delivery; else None."""
    try:
        noted = json.loads((local.parent / _NOTE).read_text(encoding="utf-8"))[local.name]
        return (noted["there"][0], noted["there"][1]) if noted["here"] == list(state_of(str(local))) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _note(local: Path, there: State) -> None:
    text = json.dumps({local.name: {"here": state_of(str(local)), "there": there}})
    (local.parent / _NOTE).write_text(text, encoding="utf-8")
