"""Folders of statistics files at URLs: anything that fsspec has a driver for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from refinery.errors import DataError, OutputError
from refinery.stats.entries import Buffers, joined
from refinery.stats.placing import PARTIAL, StatsFile
from refinery.storage.drivers import driver_errors, filesystem, of_statistics, path_in_driver, said
from refinery.storage.object_versions import version_field
from refinery.storage.objects import children_of
from refinery.storage.retries import repeated, transient


class RemoteFolder:
    """A folder at a URL. Object storage does not rename: an object is put whole, and then is there."""

    def __init__(self, url: str, options: dict[str, Any] | None = None, fs: Any = None) -> None:
        """options: of a driver to be opened; fs: an open driver."""
        self.url = url.rstrip("/")
        self.fs, self.root = (fs, path_in_driver(self.url)) if fs else filesystem(self.url, options)

    def name(self, path: str) -> str:
        """The path as the user writes it."""
        return f"{self.url}/{path}"

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}" if path not in ("", ".") else self.root

    def leaves(self) -> list[str]:
        """Folders that hold files and no folders, sorted. Raises DataError for an empty or inaccessible place."""
        self.fs.invalidate_cache()
        with driver_errors(self.url, of_statistics("listed", DataError)):
            walked = self._walked()
        if not any(folders or files for _, folders, files in walked):
            raise DataError(f"{self.url}: there is no such folder")
        leaves = [base for base, folders, files in walked if files and not folders]
        return sorted(base[len(self.root) :].strip("/") or "." for base in leaves)

    def partials(self, leaf: str) -> list[StatsFile]:
        """The files of a leaf whose names are five digits and `.json`, by name."""
        partials = []
        for entry in children_of(self.fs, self._at(leaf)) or []:  # a folder goes with its last file
            name = entry["name"].rpartition("/")[2]
            if entry["type"] == "file" and PARTIAL.fullmatch(name):
                partials.append(StatsFile(f"{leaf}/{name}", int(entry.get("size") or 0), version_field(entry)))
        return sorted(partials)

    def load(self, files: Sequence[StatsFile], buffers: Buffers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The bytes of files, fetched concurrently where the driver can. Raises DataError for an unreadable file."""
        objects = self.fs.cat([self._at(file.path) for file in files], on_error="return")
        contents = [objects] if isinstance(objects, bytes) else list(objects.values())
        for at, (file, content) in enumerate(zip(files, contents, strict=True)):
            if isinstance(content, BaseException):
                contents[at] = self._once_more(file.path, content)
        return joined(contents, buffers)

    def _once_more(self, path: str, error: BaseException) -> bytes:
        """The bytes of a file that was not read, if that was for the moment. Raises DataError."""
        if not transient(error):
            raise DataError(f"{self.name(path)}: cannot be read: {said(error)}")
        with driver_errors(self.name(path), of_statistics("read", DataError)):
            return bytes(repeated(self.fs, lambda: self.fs.cat_file(self._at(path))))

    def read(self, path: str) -> bytes | None:
        """The bytes of one file; None for a missing file. Raises DataError when it cannot be read."""
        with driver_errors(self.name(path), of_statistics("read", DataError)), suppress(FileNotFoundError):
            return bytes(repeated(self.fs, lambda: self.fs.cat_file(self._at(path))))
        return None

    def holding(self, name: str) -> list[str]:
        """Folders that hold a file of this name; empty when the root is missing or may not be listed. Raises DataError."""
        self.fs.invalidate_cache()
        folders_with_name: list[str] = []
        with driver_errors(self.url, of_statistics("listed", DataError)), suppress(PermissionError):
            folders_with_name = [base for base, _, files in self._walked() if name in files]
        return sorted(base[len(self.root) :].strip("/") or "." for base in folders_with_name)

    def write(self, path: str, pieces: Iterable[bytes], durable: bool) -> None:
        """Put a file, which is durable at once. Raises OutputError."""
        content = b"".join(pieces)
        target = self._at(path)
        with driver_errors(self.name(path), of_statistics("written", OutputError)):
            repeated(self.fs, lambda: self.fs.makedirs(target.rpartition("/")[0], exist_ok=True))
            repeated(self.fs, lambda: self.fs.pipe_file(target, content))

    def write_named(self, path: str, pieces: Iterable[bytes]) -> str:
        """Put a file and return its URL. Raises OutputError."""
        self.write(path, pieces, durable=True)
        return self.name(path)

    def remove(self, path: str) -> None:
        """Remove a file; a missing file is no error. Raises OutputError."""
        with driver_errors(self.name(path), of_statistics("removed", OutputError)), suppress(FileNotFoundError):
            repeated(self.fs, lambda: self.fs.rm_file(self._at(path)))

    def _walked(self) -> list[tuple[str, list[str], list[str]]]:
        """Folders, with the names of the folders and files in each. By single listings: `walk` of fsspec omits folders that it cannot list."""
        walked, waiting = [], [self.root]
        while waiting:
            base = waiting.pop()
            folders, files = list[str](), list[str]()
            for entry in children_of(self.fs, base) or []:  # a folder goes with its last file
                path = str(entry["name"]).rstrip("/")
                if path != base:  # an empty object may stand for the folder
                    (folders if entry["type"] == "directory" else files).append(path)
            walked.append((base, folders, [path.rpartition("/")[2] for path in files]))
            waiting += folders
        return walked
