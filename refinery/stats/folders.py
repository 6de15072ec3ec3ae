"""Folders of statistics files on this machine: list, read, write whole, remove. Folders at URLs are in `remote`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from refinery.errors import DataError, OutputError
from refinery.stats.entries import Buffers, room
from refinery.stats.placing import PARTIAL, StatsFile, replacing
from refinery.storage.drivers import path_in_driver
from refinery.storage.run_folder import seal

# As datatrove's DataFolderLike. The second of a pair: options of the URL's fsspec driver, or the file system itself.
# Also a fsspec.implementations.dirfs.DirFileSystem, such as datatrove's DataFolder.
Location = str | os.PathLike[str] | tuple[str, Any] | Any


class StatsFolder(Protocol):
    """Interface of a place of statistics files, for merging; paths are below its root, with `/`."""

    def leaves(self) -> list[str]:
        """Folders that hold files and no folders, sorted."""

    def partials(self, leaf: str) -> list[StatsFile]:
        """The files of a leaf whose names are five digits and `.json`, by name."""

    def load(self, files: Sequence[StatsFile], buffers: Buffers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The bytes of files, as `entries.room` lays them out in buffers."""

    def read(self, path: str) -> bytes | None:
        """The bytes of one file; None for a missing file."""

    def holding(self, name: str) -> list[str]:
        """Folders that hold a file of this name; empty when the root is missing."""

    def write(self, path: str, pieces: Iterable[bytes], durable: bool) -> None:
        """Write a file whole or not at all."""

    def remove(self, path: str) -> None:
        """Remove a file; a missing file is no error."""

    def name(self, path: str) -> str:
        """The path as the user writes it."""


def open_folder(location: Location) -> StatsFolder:
    """The folder at a path or a URL (`s3://...`, `gs://...`, `hf://...`), with or without its driver; see `Location`.

    Raises DataError for a URL without a driver, and for an object that is no location.
    """
    fs, place = getattr(location, "fs", None), getattr(location, "path", None)
    if fs is not None and place is not None:
        return _of_driver(fs, place)
    options: dict[str, Any] = {}
    if isinstance(location, tuple):
        location, options_or_driver = location
        if hasattr(options_or_driver, "cat_file"):
            return _of_driver(options_or_driver, os.fspath(location))
        options = dict(options_or_driver or {})
    if not isinstance(location, str | os.PathLike):
        raise DataError(f"{location!r} is no folder: give a path, a URL, a pair of URL and options, or a DirFileSystem")
    path = os.fspath(location)
    if "://" not in path and "::" not in path:
        return LocalFolder(Path(os.path.expanduser(path)))
    if path.startswith("file://"):
        return LocalFolder(Path(path.removeprefix("file://")))
    from refinery.stats.remote import RemoteFolder

    return RemoteFolder(path, options)


def _of_driver(fs: Any, path: str) -> StatsFolder:
    """The folder of a file system that fsspec has opened; on this machine a LocalFolder."""
    url = str(fs.unstrip_protocol(path))
    if "file" in ([fs.protocol] if isinstance(fs.protocol, str) else fs.protocol):
        return LocalFolder(Path(path_in_driver(url)))
    from refinery.stats.remote import RemoteFolder

    return RemoteFolder(url, fs=fs)


class LocalFolder:
    """A folder on this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def name(self, path: str) -> str:
        """The path as the user writes it."""
        return str(self.root / path)

    def leaves(self) -> list[str]:
        """Folders that hold files and no folders, sorted. Raises DataError when the root is missing."""
        if not self.root.is_dir():
            what = (
                "is a file; name the folder that its group's is in" if self.root.exists() else "there is no such folder"
            )
            raise DataError(f"{self.root}: {what}")
        folders_of_files = [base for base, folders, files in os.walk(self.root) if files and not folders]
        return sorted(Path(os.path.relpath(base, self.root)).as_posix() for base in folders_of_files)

    def partials(self, leaf: str) -> list[StatsFile]:
        """The files of a leaf whose names are five digits and `.json`, by name."""
        with os.scandir(self.root / leaf) as entries:
            files = [self._file(leaf, entry) for entry in entries if PARTIAL.fullmatch(entry.name) and entry.is_file()]
        return sorted(files)

    @staticmethod
    def _file(leaf: str, entry: os.DirEntry[str]) -> StatsFile:
        status = entry.stat()
        return StatsFile(f"{leaf}/{entry.name}", status.st_size, str(status.st_mtime_ns))

    def load(self, files: Sequence[StatsFile], buffers: Buffers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The bytes of files. Raises DataError for an unreadable file."""
        data, starts, ends = room(np.array([file.size for file in files], np.int64), buffers)
        for file, start, end in zip(files, starts.tolist(), ends.tolist(), strict=True):
            try:
                _fill(self.root / file.path, data[start:end])
            except OSError as error:
                raise DataError(f"{self.name(file.path)}: cannot be read: {error.strerror or error}") from None
        return data, starts, ends

    def read(self, path: str) -> bytes | None:
        """The bytes of one file; None for a missing file. Raises DataError when it cannot be read."""
        try:
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise DataError(f"{self.name(path)}: cannot be read: {error.strerror or error}") from None

    def holding(self, name: str) -> list[str]:
        """Folders that hold a file of this name; empty when the root is missing."""
        folders_with_name = [base for base, _, files in os.walk(self.root) if name in files]
        return sorted(Path(os.path.relpath(base, self.root)).as_posix() for base in folders_with_name)

    def write(self, path: str, pieces: Iterable[bytes], durable: bool) -> None:
        """Write a file whole or not at all; durable: the file outlives a power cut. Raises OutputError."""
        target = self.root / path
        with replacing(target, durable) as file:
            file.writelines(pieces)
        for left in target.parent.glob(
            f".{glob.escape(target.name)}.{seal(target)}.[0-9]*"
        ):  # of a process that was killed
            left.unlink(missing_ok=True)

    def remove(self, path: str) -> None:
        """Remove a file; a missing file is no error. Raises OutputError."""
        try:
            with suppress(FileNotFoundError):
                os.unlink(self.root / path)
        except OSError as error:
            raise OutputError(f"{self.name(path)}: cannot be removed: {error.strerror or error}") from None


def _fill(path: Path, target: np.ndarray) -> None:
    """Read a file into memory of its size. Raises OSError when the file has become shorter."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        view, at = target.data, 0
        while at < len(view):
            count = os.readv(descriptor, [view[at:]])
            if count == 0:
                raise OSError("it has become shorter while it was read")
            at += count
    finally:
        os.close(descriptor)
