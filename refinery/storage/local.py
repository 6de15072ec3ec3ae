"""Store in a folder of this machine, or in one that several machines have mounted."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from refinery.errors import OutputError
from refinery.storage.store import Store

_SCRATCH = ".scratch"


class LocalStore(Store):
    """Store with paths below a folder as names; publishing is renaming. The folder is made with the first file."""

    on_this_machine = True

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.root = Path(os.path.abspath(folder))
        self.url = str(self.root)

    def scratch(self) -> Path:
        """A folder beside the files, so that renaming copies nothing."""
        folder = self.root / _SCRATCH / f"{socket.gethostname()}-{os.getpid()}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def publish(self, local: Path, name: str) -> None:
        """Rename the file."""
        target = self.root / name
        try:
            os.replace(local, target)
        except FileNotFoundError:  # the first file of a folder, or a file that somebody has removed
            if not os.path.lexists(local):
                raise OutputError(
                    f"{local}: was removed before the run had ended. Run the same command again"
                ) from None
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(local, target)

    def put(self, local: Path, name: str) -> None:
        """Copy the file, then rename the copy."""
        aside = self.scratch() / name.replace("/", "-")
        shutil.copyfile(local, aside)
        self.publish(aside, name)

    def fetch(self, name: str) -> Path:
        """The file itself."""
        return self.root / name

    def place(self, name: str) -> Path:
        """The file itself."""
        return self.root / name

    @contextmanager
    def reading(self, name: str) -> Iterator[Any]:
        """The file's path."""
        yield self.root / name

    def bytes_at(self, name: str, start: int, size: int = -1) -> bytes:
        """Bytes of the file."""
        file = os.open(self.root / name, os.O_RDONLY)
        try:
            return _read(file, start, size if size >= 0 else os.fstat(file).st_size - start)
        finally:
            os.close(file)

    def exists(self, name: str) -> bool:
        """Check whether a file has the name."""
        return (self.root / name).is_file()

    def version(self, name: str) -> str:
        """Size and time of change (ns)."""
        try:
            status = os.stat(self.root / name)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        return f"{status.st_size} {status.st_mtime_ns}"

    def names(self, prefix: str = "") -> list[str]:
        """Names of the files below the folder that begin with `prefix`."""
        return sorted(name for name, _ in self._files(prefix))

    def size(self, prefix: str = "") -> int:
        """Bytes of the files that begin with `prefix`."""
        return sum(entry.stat().st_size for _, entry in self._files(prefix))

    def _files(self, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        folders = [prefix.rpartition("/")[0]]
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(self.root / folder))
            except (FileNotFoundError, NotADirectoryError):
                continue
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    folders += [name] if name != _SCRATCH else []
                elif name.startswith(prefix):
                    yield name, entry

    def read_text(self, name: str) -> str:
        """The file's text."""
        return (self.root / name).read_text(encoding="utf-8")

    def write_text(self, name: str, text: str) -> None:
        """Write to a scratch file, then rename it."""
        aside = self.scratch() / name.replace("/", "-")
        aside.write_text(text, encoding="utf-8")
        self.publish(aside, name)

    def remove(self, prefix: str = "") -> None:
        """Remove the files, and the folder if nothing is left in it."""
        if not prefix:
            shutil.rmtree(self.root, ignore_errors=True)
            return
        for name, _ in list(self._files(prefix)):
            (self.root / name).unlink(missing_ok=True)
        if prefix.endswith("/"):
            shutil.rmtree(self.root / prefix, ignore_errors=True)

    def vacate(self, own: re.Pattern[str]) -> None:
        """Remove matching files and folders, empty ones too; then the folder itself, unless something else is in it."""
        with suppress(OSError):
            for entry in list(os.scandir(self.root)):
                if not own.fullmatch(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    Path(entry.path).unlink()
            self.root.rmdir()

    def discard(self, name: str) -> None:
        """Remove the file."""
        (self.root / name).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove all scratch folders."""
        shutil.rmtree(self.root / _SCRATCH, ignore_errors=True)


def _read(file: int, start: int, size: int) -> bytes:
    """Bytes of an open file; a call of the system gives at most 2 GB."""
    pieces = [os.pread(file, size, start)]
    while (got := sum(map(len, pieces))) < size and pieces[-1]:
        pieces.append(os.pread(file, size - got, start + got))
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
