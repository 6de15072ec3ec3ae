"""The place of an index: its list, its files of match keys, and the lock of a run that extends it."""

from __future__ import annotations

import errno
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from refinery.storage.file_digests import file_digest

LIST = "index.json"


class IndexPlace(ABC):
    """A folder, or a URL. Raises OSError, and OutputError if another run extends the index."""

    name: str  # as the user wrote it
    key: str  # identifies the place, whatever its name: the URL of a store with its files
    folder: Path  # on this machine; DuckDB reads the match keys from it

    @abstractmethod
    def listed(self) -> tuple[int, str] | None:
        """The number and the text of the list; None if there is no list."""

    @abstractmethod
    def is_free(self) -> bool:
        """Return whether an index can be made here: the place is empty, or has only unlisted files of a killed run."""

    @abstractmethod
    def has_lost_list(self) -> bool:
        """Return whether there are match keys without the list that belongs to them."""

    @abstractmethod
    def has(self, file: str) -> bool:
        """Return whether a file of match keys exists."""

    @abstractmethod
    def sound(self, file: str, size: int, digest: str) -> bool:
        """Return whether a file of match keys is as it was written, as far as its place does not guard that itself."""

    @abstractmethod
    def local(self, file: str) -> str:
        """Path of a file of match keys on this machine."""

    def require(self) -> None:  # noqa: B027  # a folder needs nothing
        """Check that the place can hold an index."""

    def busy(self, run: str, number: int) -> str | None:
        """Message about another run that is about to extend the list of that number and is not waited for, or None."""
        return None

    @abstractmethod
    def alone(self, run: str, number: int) -> AbstractContextManager[None]:
        """Lock the list of that number against other runs."""

    @abstractmethod
    def beside(self, written: Path, number: int) -> AbstractContextManager[str]:
        """Copy the match keys to the place as those of that number; yield the copy's name. An unlisted copy is removed."""

    @abstractmethod
    def extend(
        self, aside: str, name: str, number: int, listing: Callable[[str], str], before: Sequence[str] = ()
    ) -> None:
        """List the match keys in one step, and remove those that they replace.

        aside, name: of the copy of the match keys, and a name for it; both "" to list nothing new. number: of the list that is
        extended. listing: returns the text of the list for the final name. before: files that the list names no more.
        """


def is_match_keys(name: str) -> bool:
    """Return whether a name is that of a file of match keys."""
    return "/" not in name and Path(name).match("marks-*.parquet")


def _require_parent(folder: Path) -> None:
    """See that a folder which is not there can be made. Raises OSError."""
    there = Path(os.path.abspath(folder))
    while True:
        try:
            there.lstat()
            break
        except (FileNotFoundError, NotADirectoryError):
            there = there.parent
    if there.is_symlink() and not there.exists():
        raise OSError(errno.ENOENT, f"{there} is a broken link")
    if not there.is_dir():
        raise OSError(errno.ENOTDIR, f"{there} is a file")
    if not os.access(there, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, f"{there} cannot be written")


class IndexFolder(IndexPlace):
    """A folder on this machine, with one list that is replaced while the folder is locked."""

    def __init__(self, path: str) -> None:
        self.folder = Path(os.path.expanduser(path))
        self.name, self.key = path, os.path.realpath(self.folder)

    def listed(self) -> tuple[int, str] | None:
        """The text of the list; its number is always 0."""
        try:
            return 0, (self.folder / LIST).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_free(self) -> bool:
        """Return whether the folder holds only hidden files. Raises OSError if it cannot be made."""
        if not self.folder.exists():
            _require_parent(self.folder)
            return True
        return self.folder.is_dir() and all(p.name.startswith(".") for p in self.folder.iterdir())

    def has_lost_list(self) -> bool:
        """Return whether the folder holds match keys: a list is there before the first of them."""
        return self.folder.is_dir() and any(is_match_keys(p.name) for p in self.folder.iterdir())

    def has(self, file: str) -> bool:
        """Return whether the file exists."""
        return (self.folder / file).is_file()

    def sound(self, file: str, size: int, digest: str) -> bool:
        """Return whether the file has the contents with which it was written."""
        path = self.local(file)
        return os.path.getsize(path) == size and file_digest(path) == digest

    def local(self, file: str) -> str:
        """Path of the file itself."""
        return str(self.folder / file)

    @contextmanager
    def alone(self, run: str, number: int) -> Iterator[None]:
        """Wait for other runs that extend the index; the system releases the lock of a killed run."""
        import fcntl

        self.folder.mkdir(parents=True, exist_ok=True)
        held = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield
        finally:
            os.close(held)

    @contextmanager
    def beside(self, written: Path, number: int) -> Iterator[str]:
        """Copy the match keys to a hidden file."""
        with ExitStack() as held:
            aside = self.folder / f".marks-{number:05d}.parquet"
            held.callback(aside.unlink, missing_ok=True)
            shutil.copyfile(written, aside)
            yield aside.name

    def extend(
        self, aside: str, name: str, number: int, listing: Callable[[str], str], before: Sequence[str] = ()
    ) -> None:
        """Rename the marks, then the list. A new index gets an empty list first: match keys without a list have lost it."""
        if not (self.folder / LIST).exists():
            self._write(listing(""))
        if name:
            os.replace(self.folder / aside, self.folder / name)
        self._write(listing(name))
        for old in before:
            if old != name:
                (self.folder / old).unlink(missing_ok=True)

    def _write(self, text: str) -> None:
        unlisted = self.folder / f".{LIST}"
        unlisted.write_text(text, encoding="utf-8")
        os.replace(unlisted, self.folder / LIST)
